// Additions to memory that other threads may be adding to.
#pragma once

#include "girih/types.cuh"

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

}  // namespace ptx
