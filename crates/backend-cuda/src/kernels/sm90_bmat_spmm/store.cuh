// How sums become elements of C, or of a part that is kept.
#pragma once

#include "shared/types.cuh"

// How sums go to a row.
struct Store {
    // Columns that there are.
    u32 width;
    u64 stride;
    float alpha;
    float beta;
    bool in_vectors;

    __device__ __forceinline__ void one(float* at, float sum) const {
        *at = beta == 0.0f ? alpha * sum : __fmaf_rn(alpha, sum, beta * *at);
    }
    // Four neighbouring columns, without those of `except`, a bit for each.
    __device__ __forceinline__ void four(float* row, u32 column, const float4& sum, u32 except) const {
        if (in_vectors && column + 4 <= width && except == 0) {
            float* const at = row + column;
            float4 out = {alpha * sum.x, alpha * sum.y, alpha * sum.z, alpha * sum.w};
            if (beta != 0.0f) {
                const float4 before = *reinterpret_cast<const float4*>(at);
                out = {__fmaf_rn(alpha, sum.x, beta * before.x),
                       __fmaf_rn(alpha, sum.y, beta * before.y),
                       __fmaf_rn(alpha, sum.z, beta * before.z),
                       __fmaf_rn(alpha, sum.w, beta * before.w)};
            }
            *reinterpret_cast<float4*>(at) = out;
            return;
        }
        float* const at = row + column * stride;
        if (column < width && !(except & 1)) one(at, sum.x);
        if (column + 1 < width && !(except & 2)) one(at + stride, sum.y);
        if (column + 2 < width && !(except & 4)) one(at + 2 * stride, sum.z);
        if (column + 3 < width && !(except & 8)) one(at + 3 * stride, sum.w);
    }
};
