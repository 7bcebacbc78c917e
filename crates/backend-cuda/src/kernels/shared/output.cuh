// Where sums go: C = alpha * sum + beta * C, finished by an epilogue, rows scattered.
#pragma once

#include "shared/element_of_c.cuh"
#include "shared/epilogue.cuh"
#include "shared/types.cuh"

constexpr u32 kNoRow = 0xffffffffu;

using OfC = ElementOfC<float>;

#include "shared/passed_output.cuh"

struct Output : PlacedOutput {
    // The row of a slot, kNoRow if it has none.
    __device__ __forceinline__ u32 row(u64 slot) const {
        if (rows != nullptr) return rows[slot];
        return slot < m ? static_cast<u32>(slot) : kNoRow;
    }

    // Whether every fourth element of a row, from the first, begins four neighbours on a multiple of their bytes.
    __device__ __forceinline__ bool is_in_vectors() const {
        return col_stride == 1 && row_stride % 4 == 0 &&
               reinterpret_cast<u64>(c) % (4 * sizeof(OfC)) == 0;
    }

    // What becomes of a sum. With beta = 0, C is not read.
    __device__ __forceinline__ float finish(float sum, const OfC* before, u32 row,
                                            u64 column) const {
        const float scaled =
            beta == 0.0f ? alpha * sum : __fmaf_rn(alpha, sum, beta * widened(*before));
        return epilogue(scaled, row, column);
    }

    // Stores four sums side by side; `column` is a multiple of four.
    __device__ __forceinline__ void store(u32 row, u64 column, const float4& sum,
                                          bool in_vectors) const {
        OfC* const at = c + row * row_stride + column * col_stride;
        if (in_vectors && column + 4 <= n) {
            float4 out = {alpha * sum.x, alpha * sum.y, alpha * sum.z, alpha * sum.w};
            if (beta != 0.0f) {
                const float4 before = load_four(at);
                out = {__fmaf_rn(alpha, sum.x, beta * before.x),
                       __fmaf_rn(alpha, sum.y, beta * before.y),
                       __fmaf_rn(alpha, sum.z, beta * before.z),
                       __fmaf_rn(alpha, sum.w, beta * before.w)};
            }
            if constexpr (kHasEpilogue) {
                out = {epilogue(out.x, row, column), epilogue(out.y, row, column + 1),
                       epilogue(out.z, row, column + 2), epilogue(out.w, row, column + 3)};
            }
            store_four(at, out);
            return;
        }
        const float sums[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            OfC* const element = at + i * col_stride;
            if (column + i < n) put(element, finish(sums[i], element, row, column + i));
        }
    }
};
