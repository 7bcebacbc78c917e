// The value types: how they are stored, what they are summed in, how they are widened.
//
// Each is a struct with
//   Stored         as many bits as a value has
//   Acc            float, or double for double; a complex number of two of these for a complex one
//   kPerVector     values in 16 bytes
//   load           reads a value that nothing writes meanwhile
//   widen          gives the exact value in Acc, of a value's bits or of one of those in some words
#pragma once

#include "shared/complex.cuh"
#include "shared/narrow.cuh"
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
    template <class Words>
    static __device__ __forceinline__ Acc widen(const Words& v, u32 i) {
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
    template <class Words>
    static __device__ __forceinline__ Acc widen(const Words& v, u32 i) {
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
    static __device__ __forceinline__ Acc widen(Stored bits) { return narrow::F16::widen(bits); }
    template <class Words>
    static __device__ __forceinline__ Acc widen(const Words& v, u32 i) {
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
    static __device__ __forceinline__ Acc widen(Stored bits) { return narrow::Bf16::widen(bits); }
    template <class Words>
    static __device__ __forceinline__ Acc widen(const Words& v, u32 i) {
        const u32 word = v.word[i / 2];
        return __uint_as_float(i % 2 == 0 ? word << 16 : word & 0xffff0000u);
    }
};

// Two floats.
struct C32 {
    using Stored = u64;
    using Acc = Complex<float>;
    static constexpr u32 kPerVector = 2;

    static __device__ __forceinline__ Stored load(const Stored* at) {
        return ptx::load_constant_64(at);
    }
    static __device__ __forceinline__ Acc widen(Stored bits) {
        return complex(__uint_as_float(static_cast<u32>(bits)),
                       __uint_as_float(static_cast<u32>(bits >> 32)));
    }
    template <class Words>
    static __device__ __forceinline__ Acc widen(const Words& v, u32 i) {
        return complex(F32::widen(v, 2 * i), F32::widen(v, 2 * i + 1));
    }
};

// Two doubles. Elements lie on 16 bytes.
struct C64 {
    using Stored = ptx::Vector16;
    using Acc = Complex<double>;
    static constexpr u32 kPerVector = 1;

    static __device__ __forceinline__ Stored load(const Stored* at) {
        return ptx::load_constant(at);
    }
    static __device__ __forceinline__ Acc widen(const Stored& bits) { return widen(bits, 0); }
    template <class Words>
    static __device__ __forceinline__ Acc widen(const Words& v, u32) {
        return complex(F64::widen(v, 0), F64::widen(v, 1));
    }
};

// a * b + c, rounded once; of complex numbers, each part twice.
__device__ __forceinline__ float multiply_add(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}
__device__ __forceinline__ double multiply_add(double a, double b, double c) {
    return __fma_rn(a, b, c);
}
template <class Part>
__device__ __forceinline__ Complex<Part> multiply_add(Complex<Part> a, Complex<Part> b,
                                                      Complex<Part> c) {
    return complex(multiply_add(-a.im, b.im, multiply_add(a.re, b.re, c.re)),
                   multiply_add(a.im, b.re, multiply_add(a.re, b.im, c.im)));
}

// x times a factor, and the sum of that and y. A complex number is scaled part by part where the factor has no
// imaginary part, so that no NaN comes of its zero and an infinite part of x.
template <class Acc>
__device__ __forceinline__ Acc scale(Acc factor, Acc x) {
    return factor * x;
}
template <class Acc>
__device__ __forceinline__ Acc scale_add(Acc factor, Acc x, Acc y) {
    return multiply_add(factor, x, y);
}
template <class Part>
__device__ __forceinline__ Complex<Part> scale(Complex<Part> factor, Complex<Part> x) {
    if (factor.im == Part(0)) return complex(factor.re * x.re, factor.re * x.im);
    return complex(multiply_add(-factor.im, x.im, factor.re * x.re),
                   multiply_add(factor.im, x.re, factor.re * x.im));
}
template <class Part>
__device__ __forceinline__ Complex<Part> scale_add(Complex<Part> factor, Complex<Part> x,
                                                   Complex<Part> y) {
    if (factor.im != Part(0)) return multiply_add(factor, x, y);
    return complex(multiply_add(factor.re, x.re, y.re), multiply_add(factor.re, x.im, y.im));
}

// What the lane has whose number differs in these bits. The whole warp calls it.
template <class Acc>
__device__ __forceinline__ Acc shuffle_xor(Acc x, u32 bits) {
    return __shfl_xor_sync(kWholeWarp, x, bits);
}
template <class Part>
__device__ __forceinline__ Complex<Part> shuffle_xor(Complex<Part> x, u32 bits) {
    return complex(shuffle_xor(x.re, bits), shuffle_xor(x.im, bits));
}
