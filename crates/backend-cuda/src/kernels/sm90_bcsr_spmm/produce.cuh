// What fills the ring: copies of blocks of A and of B, or elements of B.
#pragma once

#include "shared/elements.cuh"
#include "shared/types.cuh"
#include "sm90_bcsr_spmm/ablation.cuh"
#include "sm90_bcsr_spmm/config.cuh"
#include "ptx/cache.cuh"
#include "ptx/fence.cuh"
#include "ptx/shared.cuh"
#include "ptx/tensor.cuh"

// Fills a stage with a part of the blocks, and of B's rows from k on.
template <Source SOURCE>
__device__ __forceinline__ void fill_stage(const Params& p, const Stages& ring, u32 shared,
                                           const Stages::Place& at, const u32 (&blocks)[ROWS],
                                           u32 mask, u32 half, u64 k, u64 column) {
    const u32 thread = threadIdx.x - kFirstProducer;
    // Other CTAs read the same blocks and the same columns of B.
    const u64 policy = ptx::policy_evict_last();
    const u32 to = tile_at(shared, at.stage);
    if (SOURCE == Source::Elements) {
        ring.wait_empty(at);
        const Elements b = {p.b_elements, p.b_row_stride, p.b_col_stride, p.k, p.output.n};
        store_elements<kTile, kValueBytes>(b, to, k, column, thread);
        ptx::fence_proxy_async_shared();
        if (thread != 0) ring.fill(at);
    }
    if (thread != 0) return;
    if (SOURCE != Source::Elements) ring.wait_empty(at);
    if (ROWS > 1) ptx::store_shared_32(shared + kMasksAt + at.stage * 4, mask);
    constexpr u32 kCopied = SOURCE == Source::Elements ? 0 : kTile / kPerRow * kGroupBytes;
    ring.expect(at, __popc(mask) * kBlockBytes + kCopied);
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        if (blocks[r] != kNoBlock) {
            const u32 to_block = block_at(shared, at.stage, r);
            if constexpr (SHARES_A > 1) {
                const u32 part = rank() * (kBlock / SHARES_A);
                ptx::tensor_load_multicast(to_block + part * kRowBytes, p.a, 0, blocks[r] * kBlock + part,
                                           ring.full(at), (1 << SHARES_A) - 1);
            } else {
                ptx::tensor_load(to_block, p.a, half * kPerRow, blocks[r] * kBlock, ring.full(at), policy);
            }
        }
    }
    if (SOURCE == Source::Rows) {
#pragma unroll
        for (u32 g = 0; g < kTile / kPerRow; ++g) {
            ptx::tensor_load(to + g * kGroupBytes, p.b, column + g * kPerRow, k, ring.full(at),
                             policy);
        }
    } else if (SOURCE == Source::Columns) {
        ptx::tensor_load(to, p.b, k, column, ring.full(at), policy);
    }
}

// Fills the ring. With tensor copies one warp does, of which one thread copies; else the warpgroup.
template <Source SOURCE>
__device__ __forceinline__ void produce(const Params& p, const Stages& ring, u32 shared,
                                        u64 first_step, u32 n_steps, u64 column,
                                        Stages::Place& at) {
    const u32 thread = threadIdx.x - kFirstProducer;
    const u32 lane = threadIdx.x % kWarpSize;
    if (SOURCE != Source::Elements && thread >= kWarpSize) return;
    const Step* const steps = p.steps + first_step;
    // A lane loads each step well before it is needed.
    Step ahead = {};
    if (lane < n_steps) ahead = steps[lane];
    for (u32 first = 0; first < n_steps; first += kWarpSize) {
        const Step held = ahead;
        if (first + kWarpSize + lane < n_steps) ahead = steps[first + kWarpSize + lane];
        const u32 count = min(kWarpSize, n_steps - first);
        for (u32 i = 0; i < count; ++i) {
            const u32 block_col = __shfl_sync(kWholeWarp, held.block_col, i);
            u32 blocks[ROWS];
            u32 mask = 0;
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r) {
                blocks[r] = __shfl_sync(kWholeWarp, held.blocks[r], i);
                mask |= (blocks[r] != kNoBlock) << r;
            }
            for (u32 half = 0; half < kParts; ++half) {
                const u64 k = u64(block_col) * kBlock + half * kPerRow;
                fill_stage<SOURCE>(p, ring, shared, at, blocks, mask, half, k, column);
                __syncwarp();
                at.next();
            }
        }
    }
}

// Copies for itself: what step `step` multiplies, by one thread.
template <Source SOURCE>
__device__ __forceinline__ void copy_alone(const Params& p, const Stages& ring, u32 shared,
                                           const Step* steps, u32 step, u32 n_steps, u64 column,
                                           Stages::Place& filled) {
    if (threadIdx.x == 0 && step < n_steps) {
        const Step& held = steps[step];
        fill_stage<SOURCE>(p, ring, shared, filled, held.blocks, 1, 0, u64(held.block_col) * kBlock, column);
        filled.next();
    }
    __syncwarp();
}
