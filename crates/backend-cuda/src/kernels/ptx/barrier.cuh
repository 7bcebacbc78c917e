// Named barriers: some warps of a CTA wait for each other.
#pragma once

#include "shared/types.cuh"

namespace ptx {

// Waits until `threads` threads, whole warps, have come to the barrier `name`, 1 to 15, and sees what
// they did. Barrier 0 is that of the whole CTA.
__device__ __forceinline__ void barrier_sync(u32 name, u32 threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

}  // namespace ptx
