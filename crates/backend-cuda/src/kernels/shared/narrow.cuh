// f16 and bf16 by their bits: widened exactly, and rounded to the nearest, ties to even.
#pragma once

#include "shared/types.cuh"

namespace narrow {

struct F16 {
    static __device__ __forceinline__ float widen(u16 bits) {
        float wide;
        asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
        return wide;
    }
    static __device__ __forceinline__ u16 round(float wide) {
        u16 bits;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(wide));
        return bits;
    }
    // Two, the first in the lower half.
    static __device__ __forceinline__ u32 round(float first, float second) {
#if __CUDA_ARCH__ >= 800
        u32 pair;
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
        return pair;
#else
        return static_cast<u32>(round(second)) << 16 | round(first);
#endif
    }
};

// The upper half of a float.
struct Bf16 {
    static __device__ __forceinline__ float widen(u16 bits) {
        return __uint_as_float(static_cast<u32>(bits) << 16);
    }
    static __device__ __forceinline__ u16 round(float wide) {
#if __CUDA_ARCH__ >= 900
        u16 bits;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(wide));
        return bits;
#else
        const u32 bits = __float_as_uint(wide);
        const u32 nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        return static_cast<u16>(wide == wide ? nearest : 0x7fff);
#endif
    }
    static __device__ __forceinline__ u32 round(float first, float second) {
#if __CUDA_ARCH__ >= 800
        u32 pair;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
        return pair;
#else
        return static_cast<u32>(round(second)) << 16 | round(first);
#endif
    }
};

}  // namespace narrow
