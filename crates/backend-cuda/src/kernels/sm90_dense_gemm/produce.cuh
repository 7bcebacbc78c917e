// The producer: copies blocks of A and rows of B into the ring.
#pragma once

#include "sm90_dense_gemm/config.cuh"
#include "sm90_dense_gemm/walk.cuh"
#include "ptx/fence.cuh"

// Copies a box of B to this CTA, or to all of the cluster.
__device__ __forceinline__ void share(u32 to, const ptx::TensorMap& map, u64 x, u64 y, u32 barrier) {
    if constexpr (CLUSTER > 1) {
        constexpr u16 kAll = (1 << CLUSTER) - 1;
        ptx::tensor_load_multicast(to, map, x, y, barrier, kAll);
    } else {
        ptx::tensor_load(to, map, x, y, barrier);
    }
}

// Fills a stage by one thread: the part of a block column from k on, for rows from `row` on and columns
// from `column` on. Of B it copies what is this CTA's to share.
template <Source SOURCE>
__device__ __forceinline__ void copy_stage(const Params& p, const Stages& ring, u32 shared,
                                           const Stages::Place& at, u32 block_col, u32 part, u64 row,
                                           u64 column) {
    const u32 to = shared + at.stage * kStageBytes;
    ring.expect(at, kBytesOfA + (SOURCE == Source::Elements ? 0 : kBytesOfB));
#pragma unroll
    for (u32 r = 0; r < ROWS / kBlock; ++r) {
        const u64 block = (row / kBlock + r) * p.block_cols + block_col;
        ptx::tensor_load(to + r * kBlockBytes, p.a, part * kPerRow, block * kBlock, ring.full(at));
    }
    const u64 k = u64(block_col) * kBlock + part * kPerRow;
    const u32 first = rank() * (kGroups / CLUSTER);
    const u32 of_b = to + kBytesOfA + first * kGroupBytes;
    if (SOURCE == Source::Rows) {
#pragma unroll
        for (u32 g = 0; g < kGroups / CLUSTER; ++g) {
            share(of_b + g * kGroupBytes, p.b, column + (first + g) * kPerRow, k, ring.full(at));
        }
    } else if (SOURCE == Source::Columns) {
        share(of_b, p.b, k, column + first * kPerRow, ring.full(at));
    }
}

// Fills the ring: one thread copies; B's elements are stored by all of the warpgroup.
template <Source SOURCE>
__device__ __forceinline__ void produce(const Params& p, const Stages& ring, u32 shared) {
    const u32 thread = threadIdx.x - kConsumerThreads;
    if (SOURCE != Source::Elements && thread != 0) return;
    Stages::Place at;
    Walk walk;
    for (u64 row, column; walk.tile(p, row, column);) {
        for (u32 block_col = 0; block_col < p.block_cols; ++block_col) {
            for (u32 part = 0; part < kParts; ++part) {
                // All CTAs of the cluster have read what this one's copies overwrite.
                ring.wait_empty(at);
                if (SOURCE == Source::Elements) {
                    const u64 k = u64(block_col) * kBlock + part * kPerRow;
                    const u32 to = shared + at.stage * kStageBytes + kBytesOfA;
                    store_elements<COLUMNS, kValueBytes>(p.b_elements, to, k, column, thread);
                    ptx::fence_proxy_async_shared();
                    if (thread != 0) ring.fill(at);
                }
                if (thread == 0) {
                    copy_stage<SOURCE>(p, ring, shared, at, block_col, part, row, column);
                }
                at.next();
            }
        }
    }
}
