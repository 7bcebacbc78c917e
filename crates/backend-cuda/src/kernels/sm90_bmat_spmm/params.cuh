// What the BMat kernels are passed: who computes what, tiles and operands.
#pragma once

#include "shared/element_of_c.cuh"
#include "shared/epilogue.cuh"
#include "shared/types.cuh"
#include "ptx/memory.cuh"

constexpr u32 kNoRow = 0xffffffffu;
constexpr u32 kWindowRows = 16;
constexpr u32 kTileCols = 8;

// For all columns that there are, and for all of a window.
constexpr u32 kToTheEnd = 0xffffffffu;
constexpr u32 kWhole = 0xffffffffu;

using OfC = ElementOfC<float>;

#include "sm90_bmat_spmm/passed.cuh"

// The row of C that a slot is, or kNoRow.
__device__ __forceinline__ u32 row_of_slot(const Params& p, u64 slot) {
    return p.rows != nullptr ? ptx::load_constant_32(p.rows + slot) : slot < p.m ? slot : kNoRow;
}

// Columns from `start` to `end` of a run that this launch computes.
struct Columns {
    u64 start;
    u64 end;

    __device__ __forceinline__ Columns(const Params& p, u32 of_start, u32 of_end) {
        start = of_start > p.begin ? of_start : p.begin;
        end = of_end < p.end ? of_end : p.end;
        if (of_end == kToTheEnd) end = p.end;
    }
};
