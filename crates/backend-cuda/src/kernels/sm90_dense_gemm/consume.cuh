// The consumers: multiply what is in the ring, and write C.
#pragma once

#include "sm90_dense_gemm/config.cuh"
#include "sm90_dense_gemm/store.cuh"
#include "sm90_dense_gemm/walk.cuh"

// Adds the products of one stage to the sums.
template <Source SOURCE>
__device__ __forceinline__ void multiply(u32 stage, u32 consumer, float (&sum)[kSums]) {
    constexpr bool kByRows = SOURCE != Source::Columns;
    if constexpr (kIsTransposed) {
        constexpr u32 kShareOfB = kBytesOfB / CONSUMERS;
        Tf32::multiply<kByRows>(stage, stage + kBytesOfA + consumer * kShareOfB, sum, 1);
    } else {
        constexpr u32 kDepth = ptx::kDepth<kElement>;
        // A is K-major. B is N-major where its rows are, and its groups of 64 columns lie apart.
        const u64 a = ptx::descriptor(stage + consumer * kBlockBytes, ptx::Swizzle::Bytes128,
                                      8 * kRowBytes, 0);
        const u64 b = ptx::descriptor(stage + kBytesOfA, ptx::Swizzle::Bytes128, 8 * kRowBytes,
                                      kByRows ? kGroupBytes : 0);
        constexpr u32 kStepB = kByRows ? kDepth * kRowBytes : kDepth * kValueBytes;
        ptx::wgmma_fence();
#pragma unroll
        for (u32 k = 0; k < kPerRow / kDepth; ++k) {
            ptx::Wgmma<COLUMNS>::template shared<kElement, 0, kByRows>(
                sum, ptx::advance(a, k * kDepth * kValueBytes), ptx::advance(b, k * kStepB), 1);
        }
    }
}

// Gives a stage back to the producers of all CTAs that copy to it.
template <Source SOURCE>
__device__ __forceinline__ void release(const Stages& ring, const Stages::Place& done) {
    const u32 lane = threadIdx.x % kWarpSize;
    // All lanes have read.
    __syncwarp();
    if constexpr (CLUSTER > 1) {
        if (lane < CLUSTER) {
            ptx::mbarrier_arrive_done_reading(ptx::cluster_address(ring.empty(done), lane));
        }
    } else {
        if (kLanesRelease<SOURCE> || lane == 0) ring.release(done);
    }
}

// Multiplies what is in the ring, tile by tile. While a tile of C is on its way out, the ring is filled
// for the next, and the other consumer multiplies.
template <Source SOURCE>
__device__ __forceinline__ void consume(const Params& p, const Stages& ring, u32 shared) {
    const u32 consumer = threadIdx.x / kWarpgroupSize;
    const u32 stages = p.block_cols * kParts;
    // The products of TF32 hold registers that the next stage needs; the other consumer keeps the tensor
    // cores busy. A single stage is given back before it is waited for.
    constexpr bool kOverlaps = !kIsTransposed && STAGES > 1;
    Stages::Place at, done;
    Walk walk;
    for (u64 row, column; walk.tile(p, row, column);) {
        float sum[kSums];
#pragma unroll
        for (u32 i = 0; i < kSums; ++i) sum[i] = 0.0f;
        for (u32 stage = 0; stage < stages; ++stage) {
            ring.wait_full(at);
            ptx::hold(sum);
            multiply<SOURCE>(shared + at.stage * kStageBytes, consumer, sum);
            ptx::wgmma_commit();
            // The products of the stage before are done, or this one's.
            ptx::wgmma_wait<kOverlaps ? 1 : 0>();
            ptx::hold(sum);
            if (!kOverlaps) {
                release<SOURCE>(ring, at);
            } else if (stage != 0) {
                release<SOURCE>(ring, done);
                done.next();
            }
            at.next();
        }
        ptx::wgmma_wait<0>();
        ptx::hold(sum);
        if (kOverlaps && stages != 0) {
            release<SOURCE>(ring, done);
            done.next();
        }
        store<SOURCE>(p, shared + kPatchesAt, row, column, sum);
    }
    finish_stores();
}
