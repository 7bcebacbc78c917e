// What elements go through before they are stored: a bias is added, then an activation is applied.
//
// EPILOGUE is defined in the kernels that do. In the others nothing of this is left. Host side: epilogue.rs.
#pragma once

#include "shared/types.cuh"
#include "ptx/convert.cuh"

#ifdef EPILOGUE
constexpr bool kHasEpilogue = true;
#else
constexpr bool kHasEpilogue = false;
#endif

enum class Activation : u32 { kNone, kRelu, kGelu };

// A sum, rounded by itself: the compiler makes no fused multiply-add of it.
__device__ __forceinline__ float add(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ double add(double a, double b) { return __dadd_rn(a, b); }

// x / (1 + exp(-2u)), u = sqrt(2 / pi) * (x + 0.044715 * x^3): the tanh form, which would cancel as it is
// written. At -Inf that is its limit, 0. The constants are in units of powers of two.
__device__ __forceinline__ float gelu(float x) {
    const float slope = __fmaf_rn(-0.10294324f, __fmul_rn(x, x), -2.3022082f);
    const float power = ptx::exp2_approx(__fmul_rn(x, slope));
    const float y = __fmul_rn(x, ptx::reciprocal_approx(__fadd_rn(1.0f, power)));
    return x == __int_as_float(0xff800000) ? 0.0f : y;
}
__device__ __forceinline__ double gelu(double x) {
    const double slope =
        __fma_rn(-1.5957691216057308 * 0.044715, __dmul_rn(x, x), -1.5957691216057308);
    const double y = __ddiv_rn(x, __dadd_rn(1.0, exp(__dmul_rn(x, slope))));
    return x == __longlong_as_double(0xfff0000000000000) ? 0.0 : y;
}

#include "shared/passed_epilogue.cuh"

struct Epilogue : PlacedEpilogue {
    // What becomes of an element of C.
    template <class Acc>
    __device__ __forceinline__ Acc operator()(Acc x, u64 row, u64 column) const {
        if constexpr (kHasEpilogue) {
            if (bias != nullptr) {
                x = add(x, static_cast<const Acc*>(bias)[row * row_stride + column * col_stride]);
            }
            // NaN stays NaN.
            if (activation == Activation::kRelu) x = x < Acc(0) ? Acc(0) : x;
            if (activation == Activation::kGelu) x = gelu(x);
        }
        return x;
    }
};
