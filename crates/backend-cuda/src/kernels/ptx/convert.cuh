// Conversions between value types that C++ has no words for.
#pragma once

#include "shared/types.cuh"

namespace ptx {

// The bits of a float rounded to TF32, to the nearest, ties away from zero: an operand that tensor
// cores don't truncate.
__device__ __forceinline__ u32 round_tf32(u32 bits) {
    u32 rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
    return rounded;
}

// Bytes of a and b: digit i of `selector` picks byte i of the result, 0 to 3 of a, 4 to 7 of b.
__device__ __forceinline__ u32 permute_bytes(u32 a, u32 b, u32 selector) {
    u32 bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(selector));
    return bytes;
}

}  // namespace ptx
