// What the WCSR kernels are passed: tasks, segments and operands. WINDOW_ROWS is the height of a window.
#pragma once

#include "shared/element_of_c.cuh"
#include "shared/epilogue.cuh"
#include "shared/types.cuh"
#include "ptx/memory.cuh"

constexpr u32 kNoRow = 0xffffffffu;
constexpr u32 kWindowRows = WINDOW_ROWS;
// Bytes of a step's values: two of a core matrix's chunks of 16 for each row of the window.
constexpr u32 kStepBytes = 32 * kWindowRows;
static_assert(kWindowRows % 8 == 0 && kWindowRows <= 64, "a wgmma has 8 to 64 rows of a window");

// For all of a window.
constexpr u32 kWhole = 0xffffffffu;

using OfC = ElementOfC<float>;

#include "sm90_wcsr_spmm/passed.cuh"

// The block's task and its tile of columns, which may be beyond the last.
__device__ __forceinline__ u32 task_of_block(const Params& p) { return blockIdx.x / p.panel_tiles; }
__device__ __forceinline__ u32 tile_of_block(const Params& p) {
    return blockIdx.y * p.panel_tiles + blockIdx.x % p.panel_tiles;
}

// The row of C that a slot is, or kNoRow.
__device__ __forceinline__ u32 row_of_slot(const Params& p, u64 slot) {
    return p.rows != nullptr ? ptx::load_constant_32(p.rows + slot) : slot < p.m ? slot : kNoRow;
}
