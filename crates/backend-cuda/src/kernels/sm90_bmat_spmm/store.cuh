// How sums become elements of C, or of a part that is kept.
#pragma once

#include "shared/element_of_c.cuh"
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
    // Whether nothing is to be added to what is stored: it is of C, and the epilogue's turn is now.
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
    // One column of a row that begins at `begin`.
    __device__ __forceinline__ void one(void* begin, u32 row, u64 column, float sum) const {
        if (kRoundsC && is_last) {
            one_of(static_cast<OfC*>(begin) + column * stride, row, column, sum);
        } else {
            one_of(static_cast<float*>(begin) + column * stride, row, column, sum);
        }
    }
    // Four neighbouring columns of a row that begins at `begin`, without those of `except`, a bit for each.
    __device__ __forceinline__ void four(void* begin, u32 row, u32 column, const float4& sum,
                                         u32 except) const {
        // Lanes past the last column need not compare each element.
        if (column >= width) return;
        if (kRoundsC && is_last) {
            four_of(static_cast<OfC*>(begin), row, column, sum, except);
        } else {
            four_of(static_cast<float*>(begin), row, column, sum, except);
        }
    }

private:
    template <class Element>
    __device__ __forceinline__ void one_of(Element* at, u32 row, u64 column, float sum) const {
        const float scaled = beta == 0.0f ? alpha * sum : __fmaf_rn(alpha, sum, beta * widened(*at));
        put(at, finish(scaled, row, column));
    }
    template <class Element>
    __device__ __forceinline__ void four_of(Element* begin, u32 row, u32 column, const float4& sum,
                                            u32 except) const {
        if (in_vectors && column + 4 <= width && except == 0) {
            Element* const at = begin + column;
            float4 out = {alpha * sum.x, alpha * sum.y, alpha * sum.z, alpha * sum.w};
            if (beta != 0.0f) {
                const float4 before = load_four(at);
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
            store_four(at, out);
            return;
        }
        Element* const at = begin + column * stride;
        if constexpr (kHasEpilogue) {
            float4 rest = sum;
#pragma unroll 1
            for (u32 i = 0; i < 4; ++i) {
                if (column + i < width && !(except >> i & 1)) {
                    one_of(at + i * stride, row, column + i, rest.x);
                }
                rest = {rest.y, rest.z, rest.w, rest.x};
            }
            return;
        }
        if (!(except & 1)) one_of(at, row, column, sum.x);
        if (column + 1 < width && !(except & 2)) one_of(at + stride, row, column + 1, sum.y);
        if (column + 2 < width && !(except & 4)) one_of(at + 2 * stride, row, column + 2, sum.z);
        if (column + 3 < width && !(except & 8)) one_of(at + 3 * stride, row, column + 3, sum.w);
    }
};
