// mbarriers: 8 bytes of shared memory that count arrivals and bytes, and what waits for them.
//
// A phase of an mbarrier ends when all expected arrivals have come and every byte that was expected of
// asynchronous copies has. Phases alternate in parity, beginning with 0. `barrier` is always the shared
// address of an mbarrier, a multiple of 8.
#pragma once

#include "shared/types.cuh"

namespace ptx {

// Makes an mbarrier whose phases end after `arrivals` arrivals. One thread does; `fence_mbarrier_init`
// and a barrier of the CTA (or cluster) come before any other use.
__device__ __forceinline__ void mbarrier_init(u32 barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

// Lets asynchronous copies, and other CTAs of the cluster, see the mbarriers that this thread made.
__device__ __forceinline__ void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives once; what the thread did before is seen by whoever waits for the phase.
__device__ __forceinline__ void mbarrier_arrive(u32 barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives once, and makes the phase also wait for `bytes` bytes of copies.
__device__ __forceinline__ void mbarrier_arrive_expect(u32 barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

// Makes the phase wait for `bytes` more bytes of copies, without arriving.
__device__ __forceinline__ void mbarrier_expect(u32 barrier, u32 bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier),
                 "r"(bytes)
                 : "memory");
}

// Arrives once all copies that this thread has begun by copy_async are there; the phase counts it as any arrival.
__device__ __forceinline__ void mbarrier_arrive_after_copies(u32 barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// Whether the phase of this parity is over. May suspend the thread for a while first.
__device__ __forceinline__ bool mbarrier_try_wait(u32 barrier, u32 parity) {
    u32 over;
    asm volatile(
        "{\n"
        ".reg .pred over;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
        "selp.u32 %0, 1, 0, over;\n"
        "}"
        : "=r"(over)
        : "r"(barrier), "r"(parity)
        : "memory");
    return over != 0;
}

// Waits until the phase of this parity is over. Of an mbarrier in its first phase, the phase before,
// of parity 1, counts as over.
__device__ __forceinline__ void mbarrier_wait(u32 barrier, u32 parity) {
    while (!mbarrier_try_wait(barrier, parity)) {
    }
}

}  // namespace ptx
