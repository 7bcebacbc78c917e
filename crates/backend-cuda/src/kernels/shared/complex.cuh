// Complex numbers, and what products of them are made of.
#pragma once

#include "shared/types.cuh"

// Two floats or two doubles, the real part first, aligned so that both are one load. Nothing initializes one that
// is declared without a value.
template <class Part>
struct alignas(2 * sizeof(Part)) Complex {
    Part re;
    Part im;

    Complex() = default;
    explicit __device__ __forceinline__ Complex(double re, double im = 0)
        : re(Part(re)), im(Part(im)) {}
};

template <class Part>
__device__ __forceinline__ Complex<Part> complex(Part re, Part im) {
    Complex<Part> z;
    z.re = re;
    z.im = im;
    return z;
}

template <class Part>
__device__ __forceinline__ bool operator==(Complex<Part> x, Complex<Part> y) {
    return x.re == y.re && x.im == y.im;
}

template <class Part>
__device__ __forceinline__ bool operator!=(Complex<Part> x, Complex<Part> y) {
    return !(x == y);
}

template <class Part>
__device__ __forceinline__ Complex<Part> operator+(Complex<Part> x, Complex<Part> y) {
    return complex(x.re + y.re, x.im + y.im);
}
