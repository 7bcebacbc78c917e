// How sums become elements of C, or of a part that is kept.
#pragma once

#include "shared/epilogue.cuh"
#include "shared/types.cuh"

// How sums go to a row.
struct Store {
    // Columns that there are.
    u32 width;
    u64 stride;
    float alpha;
    float beta;
    bool in_vectors;
    // Whether nothing is to be added to what is stored, so that the epilogue's turn is now.
    bool is_last;
    // The column of C that columns count from.
    u64 first;
    const Epilogue& epilogue;

    __device__ __forceinline__ float finish(float x, u32 row, u64 column) const {
        if constexpr (kHasEpilogue) {
            if (is_last) return epilogue(x, row, first + column);
        }
        return x;
    }
    __device__ __forceinline__ void one(float* at, u32 row, u64 column, float sum) const {
        *at = finish(beta == 0.0f ? alpha * sum : __fmaf_rn(alpha, sum, beta * *at), row, column);
    }
    // Four neighbouring columns of a row of C, which begins at `begin`, without those of `except`, a bit for each.
    __device__ __forceinline__ void four(float* begin, u32 row, u32 column, const float4& sum,
                                         u32 except) const {
        if (in_vectors && column + 4 <= width && except == 0) {
            float* const at = begin + column;
            float4 out = {alpha * sum.x, alpha * sum.y, alpha * sum.z, alpha * sum.w};
            if (beta != 0.0f) {
                const float4 before = *reinterpret_cast<const float4*>(at);
                out = {__fmaf_rn(alpha, sum.x, beta * before.x),
                       __fmaf_rn(alpha, sum.y, beta * before.y),
                       __fmaf_rn(alpha, sum.z, beta * before.z),
                       __fmaf_rn(alpha, sum.w, beta * before.w)};
            }
            if constexpr (kHasEpilogue) {
                // One after the other, for the sake of registers: each turn takes the first and puts it last.
#pragma unroll 1
                for (u32 i = 0; i < 4; ++i) {
                    out = {out.y, out.z, out.w, finish(out.x, row, column + i)};
                }
            }
            *reinterpret_cast<float4*>(at) = out;
            return;
        }
        float* const at = begin + column * stride;
        if constexpr (kHasEpilogue) {
            float4 rest = sum;
#pragma unroll 1
            for (u32 i = 0; i < 4; ++i) {
                if (column + i < width && !(except >> i & 1)) {
                    one(at + i * stride, row, column + i, rest.x);
                }
                rest = {rest.y, rest.z, rest.w, rest.x};
            }
            return;
        }
        if (column < width && !(except & 1)) one(at, row, column, sum.x);
        if (column + 1 < width && !(except & 2)) one(at + stride, row, column + 1, sum.y);
        if (column + 2 < width && !(except & 4)) one(at + 2 * stride, row, column + 2, sum.z);
        if (column + 3 < width && !(except & 8)) one(at + 3 * stride, row, column + 3, sum.w);
    }
};
