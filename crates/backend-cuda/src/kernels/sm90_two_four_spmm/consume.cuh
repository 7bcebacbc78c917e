// What consumers do: they multiply what is in the ring, and store.
#pragma once

#include "shared/types.cuh"
#include "sm90_two_four_spmm/config.cuh"
#include "ptx/barrier.cuh"
#include "ptx/cluster.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/shared.cuh"
#include "ptx/wgmma.cuh"

// The metadata of a step for a lane: of four lanes, the first two have those of the step's first 32
// columns of A, the others those of the last.
__device__ __forceinline__ Metadata load_metadata(const Shared& shared, const Stages::Place& at) {
    ptx::mbarrier_wait(shared.metadata_full(at), at.parity);
    Metadata metadata;
#pragma unroll
    for (u32 i = 0; i < Metadata::kWords; ++i) {
        metadata.word[i] = ptx::load_shared_32(shared.metadata(at) + i * kConsumerThreads * 4 +
                                               threadIdx.x * 4);
    }
    return metadata;
}

// Keeps metadata in their registers up to here.
__device__ __forceinline__ void keep(const Metadata& metadata) {
#pragma unroll
    for (u32 i = 0; i < Metadata::kWords; ++i) ptx::keep(metadata.word[i]);
}

// Adds the products of one stage to the sums.
template <Source SOURCE>
__device__ __forceinline__ void multiply(u32 a_at, u32 b_at, const Metadata& metadata,
                                         float (&sum)[COLUMNS / 2], u32 accumulate) {
    constexpr bool kByRows = SOURCE != Source::Columns;
    // A is K-major. B is N-major where its rows are, and its 64 columns wide groups lie apart.
    const u64 a = ptx::descriptor(a_at, ptx::Swizzle::Bytes64, 8 * kRowBytesA, 0);
    const u64 b = ptx::descriptor(b_at, ptx::Swizzle::Bytes128, 8 * kRowBytes,
                                  kByRows ? kGroupBytes : 0);
    constexpr u32 kOnB = kDepth / 2 * (kByRows ? kRowBytes : kValueBytes);
    using Wgmma = ptx::Wgmma<COLUMNS>;
    Wgmma::template sparse<kElement, 0, kByRows>(sum, a, b, metadata.word[0], accumulate);
    Wgmma::template sparse<kElement, !NARROW, kByRows>(sum, ptx::advance(a, kRowBytesA / 2),
                                                       ptx::advance(b, kOnB),
                                                       metadata.word[NARROW], 1);
}

// Gives a stage back to those that fill it: in a cluster all CTAs do, and one lane signals each.
template <Source SOURCE>
__device__ __forceinline__ void release(const Stages& ring, const Stages::Place& at) {
    const u32 lane = threadIdx.x % kWarpSize;
    __syncwarp();
    if constexpr (CLUSTER > 1) {
        if (lane < CLUSTER) {
            ptx::mbarrier_arrive_done_reading(ptx::cluster_address(ring.empty(at), lane));
        }
    } else if (kLanesRelease<SOURCE> || lane == 0) {
        ring.release(at);
    }
}

// Multiplies a warpgroup's sums by the scales of their slots and columns. Slots beyond the last have scales too.
__device__ __forceinline__ void scale_sums(const Params& p, u64 first_slot, u64 first_column,
                                           float (&sum)[COLUMNS / 2]) {
    const u32 lane = threadIdx.x % kWarpSize;
    const u32 row = threadIdx.x % kWarpgroupSize / kWarpSize * 16 + lane / 4;
    float of_slot[2];
#pragma unroll
    for (u32 half = 0; half < 2; ++half) of_slot[half] = p.slot_scales[first_slot + row + half * 8];
#pragma unroll
    for (u32 i = 0; i < COLUMNS / 8; ++i) {
#pragma unroll
        for (u32 odd = 0; odd < 2; ++odd) {
            const u64 column = first_column + i * 8 + lane % 4 * 2 + odd;
            const float of_column = column < p.output.n ? p.column_scales[column] : 0.0f;
            sum[4 * i + odd] = sum[4 * i + odd] * of_slot[0] * of_column;
            sum[4 * i + 2 + odd] = sum[4 * i + 2 + odd] * of_slot[1] * of_column;
        }
    }
}

// Puts a warpgroup's sums into shared memory, times `scale`.
__device__ __forceinline__ void spread_sums(u32 to, float scale, const float (&sum)[COLUMNS / 2]) {
    const u32 thread = threadIdx.x % kWarpgroupSize;
    const u32 lane = thread % kWarpSize;
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

// Multiplies what is in the ring.
template <Source SOURCE>
__device__ __forceinline__ void consume(const Params& p, const Shared& shared, u32 n_steps,
                                        u64 column) {
    const u32 consumer = threadIdx.x / kWarpgroupSize;
    const Stages ring = shared.ring();
    float sum[COLUMNS / 2];
    // Sums of steps that are done, in f32.
    float total[PROMOTES ? COLUMNS / 2 : 1] = {};
    Stages::Place at, done;
    // Tensor cores read metadata from their register while they multiply, so two take turns: the one that is
    // loaded is that of products that are done.
    Metadata metadata[2] = {};
    if (n_steps > 0) metadata[0] = load_metadata(shared, at);
    // A single stage is given back before it is waited for.
    constexpr u32 kUnderWay = STAGES > 1 ? 1 : 0;
    const auto multiply_step = [&](u32 step, Metadata& now, Metadata& other) {
        // Whether the step before is under way, and its sums are added to.
        const bool follows = PROMOTES ? step % kTogether != 0 : step > 0;
        ring.wait_full(at);
        if constexpr (LATE_METADATA) now = load_metadata(shared, at);
        ptx::hold(sum);
        ptx::wgmma_fence();
        multiply<SOURCE>(shared.a(at) + consumer * kSlots * kRowBytesA, shared.b(at), now, sum,
                         follows);
        ptx::wgmma_commit();
        at.next();
        // The products of the step before are done: its stage is given back, and its metadata are free.
        ptx::wgmma_wait<kUnderWay>();
        ptx::hold(sum);
        keep(other);
        if (kUnderWay == 0 || follows) {
            release<SOURCE>(ring, done);
            done.next();
        }
        if constexpr (!LATE_METADATA) {
            if (step + 1 < n_steps) other = load_metadata(shared, at);
        }
    };
    // Adds what tensor cores have summed up, and gives the last stage of that back.
    const auto add_in_f32 = [&](Metadata& now) {
        ptx::wgmma_wait<0>();
        ptx::hold(sum);
        keep(now);
        if (kUnderWay > 0) {
            release<SOURCE>(ring, done);
            done.next();
        }
#pragma unroll
        for (u32 i = 0; i < COLUMNS / 2; ++i) total[PROMOTES ? i : 0] += sum[i];
    };
    u32 step = 0;
    for (; step + 1 < n_steps; step += 2) {
        multiply_step(step, metadata[0], metadata[1]);
        multiply_step(step + 1, metadata[1], metadata[0]);
        if constexpr (PROMOTES) add_in_f32(metadata[1]);
    }
    if (step < n_steps) {
        multiply_step(step, metadata[0], metadata[1]);
        if constexpr (PROMOTES) add_in_f32(metadata[0]);
    }
    ptx::wgmma_wait<0>();
    ptx::hold(sum);
    keep(metadata[0]);
    keep(metadata[1]);
    if (PROMOTES || n_steps == 0) {
#pragma unroll
        for (u32 i = 0; i < COLUMNS / 2; ++i) sum[i] = PROMOTES ? total[PROMOTES ? i : 0] : 0.0f;
    }
    const u64 first_slot = u64(blockIdx.x) * kRows + consumer * kSlots;
    // All have read the stages; copies to them have come, since each consumer waits for all.
    ptx::barrier_sync(1, kConsumerThreads);
    if (first_slot >= p.n_slots) return;
    if constexpr (NARROW) scale_sums(p, first_slot, column, sum);
    const u32 sums = shared.begin + consumer * Sums::kBytes;
    spread_sums(sums, p.copies_c ? p.output.alpha : 1.0f, sum);
    if (p.copies_c) ptx::fence_proxy_async_shared();
    ptx::barrier_sync(2 + consumer, kWarpgroupSize);
    if (!p.copies_c) {
        Sums::store(p.output, sums, first_slot, column);
    } else if (threadIdx.x % kWarpgroupSize == 0) {
        Sums::copy(p.c, sums, first_slot, column, p.output.n);
    }
}
