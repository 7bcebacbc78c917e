// What an ablation takes from the BCSR kernel or adds to it, one thing for each macro (src/ablation). Products
// define none of them.
//   ALONE       1: there are no producers; a thread of those that multiply copies for all
//   ALL_ARRIVE  1: every thread gives a stage back, not one for its warp
//   CLEARS      1: sums are cleared before the first product, which else overwrites them
//   SHARES_A    2: CTAs beside each other are a cluster, and each copies half of a block to both
//   PERSISTENT  1: CTAs take one item after the other, and C leaves from registers, so that the ring is filled
//               for the next item meanwhile; with CLEARS, or sums of the item before stay alive
#pragma once

#include "shared/output.cuh"
#include "shared/types.cuh"
#include "ptx/cluster.cuh"

#ifndef ALONE
#define ALONE 0
#endif
#ifndef ALL_ARRIVE
#define ALL_ARRIVE 0
#endif
#ifndef CLEARS
#define CLEARS 0
#endif
#ifndef SHARES_A
#define SHARES_A 1
#endif
#ifndef PERSISTENT
#define PERSISTENT 0
#endif

// The rank of this CTA among those that share A.
__device__ __forceinline__ u32 rank() { return SHARES_A > 1 ? ptx::cluster_rank() : 0; }

// Waits for all threads of the CTA, or of the cluster.
__device__ __forceinline__ void meet() {
    if constexpr (SHARES_A > 1) {
        ptx::cluster_sync();
    } else {
        __syncthreads();
    }
}

// Items that are walked through down a strip of groups before the next tile of columns.
constexpr u32 kStrip = 16;

// What a CTA multiplies at a time: a group, and a tile of columns.
struct Item {
    u32 group;
    u32 tile;
    // Of all items, where CTAs take several.
    u32 number;

    // The first, or only one, of this CTA.
    static __device__ __forceinline__ Item first(u32 n_groups, u32 n_tiles) {
        if constexpr (PERSISTENT) {
            return numbered(blockIdx.x, n_groups, n_tiles);
        } else if constexpr (SHARES_A > 1) {
            // A cluster's CTAs are neighbours in x.
            return {blockIdx.y, blockIdx.x, 0};
        } else {
            return {blockIdx.x, blockIdx.y, 0};
        }
    }

    // Goes on to the CTA's next item; false if there is none.
    __device__ __forceinline__ bool next(u32 n_groups, u32 n_tiles) {
        if constexpr (!PERSISTENT) return false;
        if (number + gridDim.x >= n_groups * n_tiles) return false;
        *this = numbered(number + gridDim.x, n_groups, n_tiles);
        return true;
    }

    // Item `number` in an order that has CTAs at neighbouring tiles at a time.
    static __device__ __forceinline__ Item numbered(u32 number, u32 n_groups, u32 n_tiles) {
        const u32 above = number / (kStrip * n_tiles) * kStrip;
        const u32 height = min(kStrip, n_groups - above);
        const u32 within = number - above * n_tiles;
        return {above + within % height, within / height, number};
    }
};

// Writes a warpgroup's sums of a group's row from registers: of two neighbouring lanes one has four sums of a
// row, the other four of the row eight below.
template <u32 COUNT>
__device__ __forceinline__ void store_from_registers(const Output& output, u64 first_slot, u64 column,
                                                     const float (&sum)[COUNT]) {
    const u32 thread = threadIdx.x % kWarpgroupSize;
    const u32 lane = thread % kWarpSize;
    const bool is_odd = lane % 2 != 0;
    const u32 row = output.row(first_slot + thread / kWarpSize * 16 + lane / 4 + (is_odd ? 8 : 0));
    const bool in_vectors = output.is_in_vectors();
#pragma unroll
    for (u32 i = 0; i < COUNT; i += 4) {
        const float x = __shfl_xor_sync(kWholeWarp, is_odd ? sum[i] : sum[i + 2], 1);
        const float y = __shfl_xor_sync(kWholeWarp, is_odd ? sum[i + 1] : sum[i + 3], 1);
        const float4 four = is_odd ? float4{x, y, sum[i + 2], sum[i + 3]}
                                   : float4{sum[i], sum[i + 1], x, y};
        const u64 at = column + i * 2 + lane % 4 / 2 * 4;
        if (row != kNoRow && at < output.n) output.store(row, at, four, in_vectors);
    }
}
