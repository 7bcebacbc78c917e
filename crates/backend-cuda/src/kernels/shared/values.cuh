// The value types: how they are stored, what they are summed in, how they are widened.
//
// Each is a struct with
//   Stored         as many bits as a value has
//   Acc            float, or double for double
//   kPerVector     values in 16 bytes
//   load           reads a value that nothing writes meanwhile
//   widen          gives the exact value in Acc
#pragma once

#include "shared/types.cuh"
#include "ptx/memory.cuh"

struct F32 {
    using Stored = u32;
    using Acc = float;
    static constexpr u32 kPerVector = 4;

    static __device__ __forceinline__ Stored load(const Stored* at) {
        return ptx::load_constant_32(at);
    }
    static __device__ __forceinline__ Acc widen(Stored bits) { return __uint_as_float(bits); }
    static __device__ __forceinline__ Acc widen(const ptx::Vector16& v, u32 i) {
        return __uint_as_float(v.word[i]);
    }
};

struct F64 {
    using Stored = u64;
    using Acc = double;
    static constexpr u32 kPerVector = 2;

    static __device__ __forceinline__ Stored load(const Stored* at) {
        return ptx::load_constant_64(at);
    }
    static __device__ __forceinline__ Acc widen(Stored bits) {
        return __longlong_as_double(static_cast<long long>(bits));
    }
    static __device__ __forceinline__ Acc widen(const ptx::Vector16& v, u32 i) {
        return __hiloint2double(static_cast<int>(v.word[2 * i + 1]), static_cast<int>(v.word[2 * i]));
    }
};

struct F16 {
    using Stored = u16;
    using Acc = float;
    static constexpr u32 kPerVector = 8;

    static __device__ __forceinline__ Stored load(const Stored* at) {
        return ptx::load_constant_16(at);
    }
    static __device__ __forceinline__ Acc widen(Stored bits) {
        float wide;
        asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
        return wide;
    }
    // To the nearest, ties to even.
    static __device__ __forceinline__ Stored round(Acc wide) {
        Stored bits;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(wide));
        return bits;
    }
    static __device__ __forceinline__ Acc widen(const ptx::Vector16& v, u32 i) {
        return widen(static_cast<u16>(v.word[i / 2] >> (16 * (i % 2))));
    }
};

// The upper half of a float.
struct Bf16 {
    using Stored = u16;
    using Acc = float;
    static constexpr u32 kPerVector = 8;

    static __device__ __forceinline__ Stored load(const Stored* at) {
        return ptx::load_constant_16(at);
    }
    static __device__ __forceinline__ Acc widen(Stored bits) {
        return __uint_as_float(static_cast<u32>(bits) << 16);
    }
    // To the nearest, ties to even; Hopper alone has it.
    static __device__ __forceinline__ Stored round(Acc wide) {
        Stored bits;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(wide));
        return bits;
    }
    static __device__ __forceinline__ Acc widen(const ptx::Vector16& v, u32 i) {
        const u32 word = v.word[i / 2];
        return __uint_as_float(i % 2 == 0 ? word << 16 : word & 0xffff0000u);
    }
};

// a * b + c, rounded once.
__device__ __forceinline__ float multiply_add(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}
__device__ __forceinline__ double multiply_add(double a, double b, double c) {
    return __fma_rn(a, b, c);
}
