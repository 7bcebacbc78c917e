// Copies of 16 bytes from global to shared memory, each by a thread, that pass registers by.
//
// They are the thread's: `mbarrier_arrive_after_copies` says when those that it has begun are there.
#pragma once

#include "shared/types.cuh"

namespace ptx {

// Copies the first `bytes` of 16 bytes to shared memory at `to`, and zeros for the rest, past the first-level cache. Both
// addresses are multiples of 16; nothing is read for 0 bytes.
__device__ __forceinline__ void copy_async_16(u32 to, const void* from, u32 bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
}

}  // namespace ptx
