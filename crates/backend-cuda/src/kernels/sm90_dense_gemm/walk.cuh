// The tiles of C that a cluster computes, in their order.
#pragma once

#include "sm90_dense_gemm/config.cuh"
#include "ptx/cluster.cuh"

// The rank of this CTA in its cluster.
__device__ __forceinline__ u32 rank() { return CLUSTER > 1 ? ptx::cluster_rank() : 0; }

// Waits for all threads of the cluster.
__device__ __forceinline__ void meet() {
    if constexpr (CLUSTER > 1) {
        ptx::cluster_sync();
    } else {
        __syncthreads();
    }
}

// Clusters take tiles in turns. Those that are multiplied at a time lie in a patch that is `walk` tiles
// high, so that the second-level cache serves what they read: down its first column, then the next.
struct Walk {
    u32 next = blockIdx.x / CLUSTER;

    // The first row of this CTA and the first column of the next tile; false if there is none.
    __device__ __forceinline__ bool tile(const Params& p, u64& row, u64& column) {
        if (next >= p.tiles_down * p.tiles_across) return false;
        const u32 strip = p.walk * p.tiles_across;
        const u32 first = next / strip * p.walk;
        const u32 height = min(p.walk, p.tiles_down - first);
        const u32 within = next % strip;
        row = (u64(first + within % height) * CLUSTER + rank()) * ROWS;
        column = u64(within / height) * COLUMNS;
        next += gridDim.x / CLUSTER;
        return true;
    }
};
