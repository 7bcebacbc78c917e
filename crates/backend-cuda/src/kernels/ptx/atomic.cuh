// Additions to memory that other threads may be adding to, and counts of threads.
#pragma once

#include "shared/types.cuh"

namespace ptx {

// Adds to 4 neighbouring floats, to each atomically. `address` is a multiple of 16.
__device__ __forceinline__ void add_128(float* address, float a, float b, float c, float d) {
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(a),
                 "f"(b), "f"(c), "f"(d)
                 : "memory");
}

__device__ __forceinline__ void add_32(float* address, float a) {
    asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(address), "f"(a) : "memory");
}

// Counts one of `all` that arrive and returns how many did before; the last sets the count to zero. What
// this thread and those that it has met at a barrier wrote, the last sees.
__device__ __forceinline__ u32 arrive(u32* count, u32 all) {
    u32 before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(count), "r"(all - 1)
                 : "memory");
    return before;
}

}  // namespace ptx
