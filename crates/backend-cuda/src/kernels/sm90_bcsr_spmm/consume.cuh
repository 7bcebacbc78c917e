// What consumers do: they multiply what is in the ring, and store.
#pragma once

#include "shared/types.cuh"
#include "sm90_bcsr_spmm/ablation.cuh"
#include "sm90_bcsr_spmm/config.cuh"
#include "sm90_bcsr_spmm/produce.cuh"
#include "ptx/barrier.cuh"
#include "ptx/cluster.cuh"
#include "ptx/fence.cuh"
#include "ptx/shared.cuh"
#include "ptx/wgmma.cuh"

// Columns of one instruction: its registers must fit what a thread is launched with.
constexpr u32 kWide = COLUMNS < 128 ? COLUMNS : 128;
static_assert(COLUMNS % kWide == 0, "columns of a warpgroup are several instructions' at most");

// Adds the products of one stage to the sums.
template <Source SOURCE, u32 COUNT>
__device__ __forceinline__ void multiply(u32 block, u32 tile, u32 part, float (&sum)[COUNT],
                                         u32& accumulate) {
    constexpr u32 kDepth = ptx::kDepth<kElement>;
    constexpr bool kByRows = SOURCE != Source::Columns;
    if constexpr (kIsTransposed) {
        const u32 b = tile + part * (kByRows ? COLUMNS / kPerRow * kGroupBytes : COLUMNS * kRowBytes);
        Transposed::multiply<kByRows>(block, b, sum, accumulate);
        accumulate = 1;
        return;
    } else {
        // A is K-major. B is N-major where its rows are, and its 64 columns wide groups lie apart.
        const u64 a = ptx::descriptor(block, ptx::Swizzle::Bytes128, 8 * kRowBytes, 0);
        const u64 b = ptx::descriptor(tile + part * COLUMNS * kRowBytes, ptx::Swizzle::Bytes128,
                                      8 * kRowBytes, kByRows ? kBlockBytes : 0);
        constexpr u32 kStepB = kByRows ? kDepth * kRowBytes : kDepth * 2;
#pragma unroll
        for (u32 k = 0; k < kBlock / kDepth; ++k) {
#pragma unroll
            for (u32 first = 0; first < COLUMNS; first += kWide) {
                float(&d)[kWide / 2] = *reinterpret_cast<float(*)[kWide / 2]>(sum + first / 2);
                const u32 on = k * kStepB + first * kRowBytes;
                ptx::Wgmma<kWide>::shared<kElement, 0, kByRows>(d, ptx::advance(a, k * kDepth * 2),
                                                                ptx::advance(b, on), accumulate);
            }
            accumulate = 1;
        }
    }
}

// Puts a warpgroup's sums into shared memory, times `scale`.
template <Source SOURCE, u32 COUNT>
__device__ __forceinline__ void spread_sums(u32 to, float scale, const float (&sum)[COUNT]) {
    const u32 thread = threadIdx.x % kWarpgroupSize;
    const u32 lane = thread % kWarpSize;
    if constexpr (kIsTransposed) {
        Transposed::spread<SOURCE != Source::Columns, Sums>(to, scale, sum);
    } else {
#pragma unroll
        for (u32 i = 0; i < COLUMNS / 8; ++i) {
#pragma unroll
            for (u32 half = 0; half < 2; ++half) {
                const u32 row = thread / kWarpSize * 16 + lane / 4 + half * 8;
                ptx::store_shared_64(Sums::at(to, row, i * 8 + lane % 4 * 2),
                                     __float_as_uint(scale * sum[4 * i + 2 * half]),
                                     __float_as_uint(scale * sum[4 * i + 2 * half + 1]));
            }
        }
    }
}

// Gives a stage back to those that fill it.
template <Source SOURCE>
__device__ __forceinline__ void release(const Stages& ring, const Stages::Place& done) {
    const u32 lane = threadIdx.x % kWarpSize;
    __syncwarp();
    if constexpr (SHARES_A > 1) {
        if (lane < SHARES_A) {
            ptx::mbarrier_arrive_done_reading(ptx::cluster_address(ring.empty(done), lane));
        }
    } else if (kLanesRelease<SOURCE> || lane == 0) {
        ring.release(done);
    }
}

// Multiplies what is in the ring.
template <Source SOURCE>
__device__ __forceinline__ void consume(const Params& p, const Stages& ring, u32 shared,
                                        const Group& group, u32 n_steps, u64 column, Stages::Place& at,
                                        Stages::Place& done) {
    const u32 consumer = threadIdx.x / kWarpgroupSize;
    const u32 row = consumer / SPLIT;
    const u32 part = consumer % SPLIT;
    const bool is_leader = threadIdx.x % kWarpSize == 0;
    float sum[COLUMNS / 2];
    u32 accumulate = CLEARS;
#pragma unroll
    for (u32 i = 0; i < (CLEARS ? COLUMNS / 2 : 0); ++i) sum[i] = 0.0f;
    const Step* const steps = p.steps + (ALONE ? group.first_step : 0);
    Stages::Place filled;
    for (u32 step = 0; step < (ALONE ? STAGES : 0); ++step) {
        copy_alone<SOURCE>(p, ring, shared, steps, step, n_steps, column, filled);
    }
    for (u32 step = 0; step < n_steps * kParts; ++step) {
        ring.wait_full(at);
        // The lane that gives the stage back reads, and a vote lets the assembler know that the whole
        // warp takes one way.
        const bool has_block =
            ROWS == 1 ||
            __any_sync(kWholeWarp,
                       is_leader && (ptx::load_shared_32(shared + kMasksAt + at.stage * 4) >> row & 1));
        if (has_block) {
            ptx::hold(sum);
            ptx::wgmma_fence();
            multiply<SOURCE>(block_at(shared, at.stage, row), tile_at(shared, at.stage), part, sum,
                             accumulate);
        }
        ptx::wgmma_commit();
        at.next();
        // The products of the stage before are done: it is given back. Those of TF32 hold registers that
        // the next stage needs; other CTAs of the multiprocessor keep the tensor cores busy.
        constexpr u32 kUnderWay = kIsTransposed || STAGES == 1 ? 0 : 1;
        ptx::wgmma_wait<kUnderWay>();
        ptx::hold(sum);
        if (kUnderWay == 0 || step > 0) {
            release<SOURCE>(ring, done);
            done.next();
            if constexpr (ALONE) {
                const u32 next = step - kUnderWay + STAGES;
                copy_alone<SOURCE>(p, ring, shared, steps, next, n_steps, column, filled);
            }
        }
    }
    ptx::wgmma_wait<0>();
    ptx::hold(sum);
    if (accumulate == 0) {
#pragma unroll
        for (u32 i = 0; i < COLUMNS / 2; ++i) sum[i] = 0.0f;
    }
    const u32 block_row = group.block_rows[row];
    const u64 first_slot = u64(block_row) * kBlock;
    const u64 first_column = column + part * COLUMNS;
    if constexpr (PERSISTENT) {
        // The next item's stages are counted on from here.
        if (n_steps > 0) {
            release<SOURCE>(ring, done);
            done.next();
        }
        store_from_registers(p.output, first_slot, first_column, sum);
        return;
    }
    // All have read the stages; copies to them have come, since each consumer waits for all.
    ptx::barrier_sync(1, kConsumerThreads);
    if (block_row == kNoRow) return;
    const u32 sums = shared + consumer * Sums::kBytes;
    spread_sums<SOURCE>(sums, p.copies_c ? p.output.alpha : 1.0f, sum);
    if (p.copies_c) ptx::fence_proxy_async_shared();
    ptx::barrier_sync(2 + consumer, kWarpgroupSize);
    if (!p.copies_c) {
        Sums::store(p.output, sums, first_slot, first_column);
    } else if (threadIdx.x % kWarpgroupSize == 0) {
        Sums::copy(p.c, sums, first_slot, first_column, p.output.n);
    }
}
