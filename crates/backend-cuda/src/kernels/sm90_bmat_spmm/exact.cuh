// Elements of C that NaN or Inf has reached: entry by entry.
//
// An mma multiplies the zeros of a tile too, so a NaN or Inf in a row of B reaches all 16 rows of a window.
// BMat promises that it reaches those only that have an entry for it. Zeros matter to no other element: one
// whose sum came out finite met neither.
#pragma once

#include "shared/types.cuh"
#include "sm90_bmat_spmm/config.cuh"
#include "sm90_bmat_spmm/params.cuh"
#include "ptx/memory.cuh"

// The sum of one row of a segment's tiles, in one column of B, with neither of them rounded.
__device__ __forceinline__ float exact_sum(const Params& p, u64 first_tile, u32 n_tiles, u32 of_window,
                                           u64 column) {
    const char* const b = p.b + column * p.b_col_stride * Value::kBytes;
    const u32 first_bit = of_window % 8 * 4;
    float sum = 0.0f;
#pragma unroll 1
    for (u32 i = 0; i < n_tiles; ++i) {
        const Header* const header = p.headers + first_tile + i;
        const u32* const cols = p.col_idx + (first_tile + i) * kTileCols;
        const u64 first_value = u64(ptx::load_constant_32(&header->first_value_high)) << 32 |
                                ptx::load_constant_32(&header->first_value_low);
        const u32 before = ptx::load_constant_32(&header->before) << 8;
#pragma unroll 1
        for (u32 col = 0; col < kTileCols; ++col) {
            const u32 word = of_window / 8 + col / 4 * 2;
            const u32 bit = first_bit + col % 4;
            const u32 mask = ptx::load_constant_32(&header->mask[word]);
            if ((mask >> bit & 1) == 0) continue;
            float value = 1.0f;
            if constexpr (!kPattern) {
                const u32 of_tile = (before >> 8 * word & 0xff) + __popc(mask & ((1u << bit) - 1));
                value = Value::load(p.values + (first_value + of_tile) * Value::kBytes);
            }
            const u64 row = ptx::load_constant_32(cols + col);
            sum = __fmaf_rn(value, Value::load(b + row * p.b_row_stride * Value::kBytes), sum);
        }
    }
    return sum;
}
