// A tile of C on its way out, through shared memory: so that rows leave in whole lines.
#pragma once

#include "shared/output.cuh"
#include "shared/types.cuh"
#include "ptx/bulk.cuh"
#include "ptx/cache.cuh"
#include "ptx/shared.cuh"
#include "ptx/tensor.cuh"

// kRows rows of kColumns columns, in groups of 32 columns, a row of a group on 128 swizzled bytes.
template <u32 kRows, u32 kColumns>
struct Outgoing {
    static constexpr u32 kRowBytes = 128;
    static constexpr u32 kGroup = kRowBytes / 4;
    static constexpr u32 kGroupBytes = kRows * kRowBytes;
    static constexpr u32 kBytes = kColumns / kGroup * kGroupBytes;
    static_assert(kColumns % kGroup == 0, "columns leave in whole groups");

    // The shared address of an element of a tile that begins at `tile`, a multiple of 1024.
    static __device__ __forceinline__ u32 at(u32 tile, u32 row, u32 column) {
        const u32 chunk = column % kGroup / 4;
        return tile + column / kGroup * kGroupBytes + row * kRowBytes + (chunk ^ row % 8) * 16 +
               column % 4 * 4;
    }

    // Writes the tile, scaled already, by tensor copies of groups. One thread does, after all that wrote
    // the tile have fenced and met at a barrier. C is not read soon: others should stay in the L2 cache.
    static __device__ __forceinline__ void copy(const ptx::TensorMap& map, u32 tile, u64 row,
                                                u64 column, u64 n) {
        const u64 policy = ptx::policy_evict_first();
#pragma unroll
        for (u32 i = 0; i < kColumns; i += kGroup) {
            if (column + i < n) ptx::tensor_store(map, column + i, row, at(tile, 0, i), policy);
        }
        ptx::bulk_commit();
        // The memory must not go to another CTA before it is read.
        ptx::bulk_wait_read<0>();
    }

    // Writes the tile by all threads of a warpgroup, rows to wherever they belong.
    static __device__ __forceinline__ void store(const Output& output, u32 tile, u64 first_slot,
                                                 u64 column) {
        constexpr u32 kVectors = kColumns / 4;
        const bool in_vectors = output.is_in_vectors();
        for (u32 i = threadIdx.x % kWarpgroupSize; i < kRows * kVectors; i += kWarpgroupSize) {
            const u32 slot = i / kVectors;
            const u32 first = i % kVectors * 4;
            const u32 row = output.row(first_slot + slot);
            if (row == kNoRow || column + first >= output.n) continue;
            u32 sum[4];
            ptx::load_shared_128(at(tile, slot, first), sum);
            const float4 sums = {__uint_as_float(sum[0]), __uint_as_float(sum[1]),
                                 __uint_as_float(sum[2]), __uint_as_float(sum[3])};
            output.store(row, column + first, sums, in_vectors);
        }
    }
};
