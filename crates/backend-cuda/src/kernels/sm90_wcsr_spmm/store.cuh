// How sums become elements of C.
#pragma once

#include "shared/epilogue.cuh"
#include "shared/types.cuh"
#include "ptx/atomic.cuh"

// What becomes of what is stored, once nothing is to be added to it.
struct Finish {
    const Epilogue& epilogue;
    // Whether that is now.
    bool is_last;

    __device__ __forceinline__ float operator()(float x, u32 row, u64 column) const {
        if constexpr (kHasEpilogue) {
            if (is_last) return epilogue(x, row, column);
        }
        return x;
    }
};

// Where four neighbouring columns' sums go, and how.
struct Store {
    u64 n;
    u64 stride;
    float alpha;
    float beta;
    bool in_vectors;
    bool adds;

    __device__ __forceinline__ void one(const Finish& finish, float* at, u32 row, u64 column,
                                        float sum) const {
        if (adds) {
            ptx::add_32(at, alpha * sum);
        } else {
            *at = finish(beta == 0.0f ? alpha * sum : __fmaf_rn(alpha, sum, beta * *at), row, column);
        }
    }
    // Four columns of a row of C, which begins at `begin`.
    __device__ __forceinline__ void operator()(const Finish& finish, float* begin, u32 row, u64 column,
                                               float s0, float s1, float s2, float s3) const {
        if (in_vectors && column + 4 <= n) {
            float* at = begin + column;
            float4 out = {alpha * s0, alpha * s1, alpha * s2, alpha * s3};
            if (adds) {
                ptx::add_128(at, out.x, out.y, out.z, out.w);
                return;
            }
            if (beta != 0.0f) {
                const float4 before = *reinterpret_cast<const float4*>(at);
                out = {__fmaf_rn(alpha, s0, beta * before.x), __fmaf_rn(alpha, s1, beta * before.y),
                       __fmaf_rn(alpha, s2, beta * before.z), __fmaf_rn(alpha, s3, beta * before.w)};
            }
            if constexpr (kHasEpilogue) {
                out = {finish(out.x, row, column), finish(out.y, row, column + 1),
                       finish(out.z, row, column + 2), finish(out.w, row, column + 3)};
            }
            *reinterpret_cast<float4*>(at) = out;
            return;
        }
        float* at = begin + column * stride;
        if (column < n) one(finish, at, row, column, s0);
        if (column + 1 < n) one(finish, at + stride, row, column + 1, s1);
        if (column + 2 < n) one(finish, at + 2 * stride, row, column + 2, s2);
        if (column + 3 < n) one(finish, at + 3 * stride, row, column + 3, s3);
    }
};
