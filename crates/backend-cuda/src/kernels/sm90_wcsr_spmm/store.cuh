// How sums become elements of C.
#pragma once

#include "shared/element_of_c.cuh"
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

    // Four columns of a row that begins at `begin`: of C once nothing is to be added, before that of sums that are kept,
    // or of a C that they are added to.
    __device__ __forceinline__ void operator()(const Finish& finish, void* begin, u32 row, u64 column,
                                               float s0, float s1, float s2, float s3) const {
        // Where n is narrow most lanes are past it, and comparing each element takes up to a fifth of the time.
        if (column >= n) return;
        if (kRoundsC && finish.is_last) {
            four(finish, static_cast<OfC*>(begin), row, column, s0, s1, s2, s3);
        } else {
            four(finish, static_cast<float*>(begin), row, column, s0, s1, s2, s3);
        }
    }

private:
    template <class Element>
    __device__ __forceinline__ void one(const Finish& finish, Element* at, u32 row, u64 column,
                                        float sum) const {
        if constexpr (!kRoundsC) {
            if (adds) {
                ptx::add_32(at, alpha * sum);
                return;
            }
        }
        const float scaled = beta == 0.0f ? alpha * sum : __fmaf_rn(alpha, sum, beta * widened(*at));
        put(at, finish(scaled, row, column));
    }
    template <class Element>
    __device__ __forceinline__ void four(const Finish& finish, Element* begin, u32 row, u64 column,
                                         float s0, float s1, float s2, float s3) const {
        if (in_vectors && column + 4 <= n) {
            Element* at = begin + column;
            float4 out = {alpha * s0, alpha * s1, alpha * s2, alpha * s3};
            if constexpr (!kRoundsC) {
                if (adds) {
                    ptx::add_128(at, out.x, out.y, out.z, out.w);
                    return;
                }
            }
            if (beta != 0.0f) {
                const float4 before = load_four(at);
                out = {__fmaf_rn(alpha, s0, beta * before.x), __fmaf_rn(alpha, s1, beta * before.y),
                       __fmaf_rn(alpha, s2, beta * before.z), __fmaf_rn(alpha, s3, beta * before.w)};
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
        Element* at = begin + column * stride;
        if constexpr (kHasEpilogue || kRoundsC) {
            // One after the other here too.
            float4 rest = {s0, s1, s2, s3};
#pragma unroll 1
            for (u32 i = 0; i < 4; ++i) {
                if (column + i < n) one(finish, at + i * stride, row, column + i, rest.x);
                rest = {rest.y, rest.z, rest.w, rest.x};
            }
            return;
        }
        one(finish, at, row, column, s0);
        if (column + 1 < n) one(finish, at + stride, row, column + 1, s1);
        if (column + 2 < n) one(finish, at + 2 * stride, row, column + 2, s2);
        if (column + 3 < n) one(finish, at + 3 * stride, row, column + 3, s3);
    }
};
