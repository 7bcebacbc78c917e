// From a tile's masks and values to the registers of an mma.
#pragma once

#include "shared/types.cuh"
#include "sm90_bmat_spmm/config.cuh"
#include "sm90_bmat_spmm/params.cuh"
#include "ptx/shared.cuh"

// What a lane looks for in every word.
struct LaneBits {
    u32 own;
    u32 below;

    __device__ __forceinline__ explicit LaneBits(u32 lane) : own(1u << lane), below(own - 1) {}
};

// The fragment of A of a tile whose header is at `header`. Its value number v is at `values` + v * kBytes, by
// 32 bits: numbers of one stage do not wrap around more than once, nor do addresses.
__device__ __forceinline__ void decode(u32 header, u32 values, const LaneBits& bits,
                                       u32 (&a)[Value::kRegistersOfA]) {
    u32 mask[4];
    ptx::load_shared_128(header, mask);
    u32 element[4];
    if constexpr (kPattern) {
#pragma unroll
        for (u32 t = 0; t < 4; ++t) element[t] = mask[t] & bits.own ? Value::kOne : 0;
    } else {
        u32 place[2];
        ptx::load_shared_64(header + 16, place);
#pragma unroll
        for (u32 t = 0; t < 4; ++t) {
            const u32 before = t == 0 ? 0 : place[1] >> 8 * (t - 1) & 0xff;
            const u32 at = place[0] + before + __popc(mask[t] & bits.below);
            element[t] = 0;
            if (mask[t] & bits.own) element[t] = Value::load_shared(values + at * Value::kBytes);
        }
    }
    Value::fragment(element, a);
}
