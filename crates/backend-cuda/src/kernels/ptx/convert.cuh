// Conversions between value types, and functions, that C++ has no words for.
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

// Two floats in e4m3, `low` in the low byte: rounded to nearest even, at most 448; NaN stays NaN.
__device__ __forceinline__ u16 narrow_e4m3(float high, float low) {
    u16 narrow;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(narrow) : "f"(high), "f"(low));
    return narrow;
}

// Bytes of a and b: digit i of `selector` picks byte i of the result, 0 to 3 of a, 4 to 7 of b.
__device__ __forceinline__ u32 permute_bytes(u32 a, u32 b, u32 selector) {
    u32 bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(selector));
    return bytes;
}

// The greater of two, and NaN where either is.
__device__ __forceinline__ float greater(float x, float y) {
#if __CUDA_ARCH__ >= 800
    float z;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
    return z;
#else
    return x > y || x != x ? x : y;
#endif
}
__device__ __forceinline__ double greater(double x, double y) { return x > y || x != x ? x : y; }

// 2 to the power of x, within 2 units in the last place; 0 below the least normal number.
__device__ __forceinline__ float exp2_approx(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}

// 1 / x, within 1 unit in the last place; 0 below the least normal number.
__device__ __forceinline__ float reciprocal_approx(float x) {
    float reciprocal;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(x));
    return reciprocal;
}

}  // namespace ptx
