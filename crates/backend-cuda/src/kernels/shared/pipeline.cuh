// The ring of stages between producers, which fill shared memory, and consumers, which multiply.
//
// Each stage has two mbarriers. `full` ends a phase when its producer has arrived and every byte that it
// expects has come; `empty` when all consumers have arrived, done reading. Both sides go through the
// stages in the same order, each with a Place of its own.
#pragma once

#include "shared/types.cuh"
#include "ptx/mbarrier.cuh"

// A stage of a ring of kStages, and the parity of the phase that its barriers are in.
template <u32 kStages>
struct Place {
    u32 stage = 0;
    u32 parity = 0;

    __device__ __forceinline__ void next() {
        if (++stage == kStages) {
            stage = 0;
            parity ^= 1;
        }
    }
};

template <u32 kStages>
struct Ring {
    // Shared memory for the barriers.
    static constexpr u32 kBytes = kStages * 16;
    using Place = ::Place<kStages>;

    // The shared address of kBytes bytes, a multiple of 8.
    u32 barriers;

    __device__ __forceinline__ u32 full(const Place& at) const { return barriers + at.stage * 8; }
    __device__ __forceinline__ u32 empty(const Place& at) const {
        return barriers + (kStages + at.stage) * 8;
    }

    // Makes the barriers. One thread does, and fences; then a barrier of the CTA.
    __device__ __forceinline__ void init(u32 producers, u32 consumers) const {
        for (u32 stage = 0; stage < kStages; ++stage) {
            ptx::mbarrier_init(barriers + stage * 8, producers);
            ptx::mbarrier_init(barriers + (kStages + stage) * 8, consumers);
        }
        ptx::fence_mbarrier_init();
    }

    // Producer: waits until the stage may be overwritten. The first time round it may at once.
    __device__ __forceinline__ void wait_empty(const Place& at) const {
        ptx::mbarrier_wait(empty(at), at.parity ^ 1);
    }

    // Producer: arrives, to be counted when `bytes` bytes of copies to the stage have come.
    __device__ __forceinline__ void expect(const Place& at, u32 bytes) const {
        ptx::mbarrier_arrive_expect(full(at), bytes);
    }

    // Producer: makes the phase wait for `bytes` more bytes of copies, without arriving.
    __device__ __forceinline__ void expect_more(const Place& at, u32 bytes) const {
        ptx::mbarrier_expect(full(at), bytes);
    }

    // Producer: arrives once the copies that this thread has begun, of 16 bytes each, are there.
    __device__ __forceinline__ void fill_with_copies(const Place& at) const {
        ptx::mbarrier_arrive_after_copies(full(at));
    }

    // Producer: arrives; what this thread stored in the stage is there.
    __device__ __forceinline__ void fill(const Place& at) const { ptx::mbarrier_arrive(full(at)); }

    // Consumer: waits until the stage holds what the producer put there.
    __device__ __forceinline__ void wait_full(const Place& at) const {
        ptx::mbarrier_wait(full(at), at.parity);
    }

    // Consumer: arrives; nothing of the stage is read any more by whom this arrival stands for.
    __device__ __forceinline__ void release(const Place& at) const {
        ptx::mbarrier_arrive(empty(at));
    }
};
