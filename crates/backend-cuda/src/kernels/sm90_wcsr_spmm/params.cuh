// What the WCSR kernels are passed: tasks, segments and operands. WINDOW_ROWS is the height of a window.
#pragma once

#include "shared/element_of_c.cuh"
#include "shared/epilogue.cuh"
#include "shared/types.cuh"
#include "ptx/memory.cuh"

constexpr u32 kPadCol = 0xffffffffu;
constexpr u32 kNoRow = 0xffffffffu;
constexpr u32 kWindowRows = WINDOW_ROWS;
// Bytes of a step's values: two of a core matrix's chunks of 16 for each row of the window.
constexpr u32 kStepBytes = 32 * kWindowRows;
static_assert(kWindowRows % 8 == 0 && kWindowRows <= 64, "a wgmma has 8 to 64 rows of a window");

// Segments that a block multiplies one after the other.
struct alignas(16) Task {
    // Steps before its first, in the packed columns and in the values.
    u64 first_step;
    u32 first_segment;
    // At most 32.
    u32 n_segments;
};
static_assert(sizeof(Task) == 16, "the host writes tasks of 16 bytes");

// A window, or a part of one.
struct alignas(16) Segment {
    u32 n_steps;
    u32 window;
    // Where the sums of a part go; kWhole for all of a window.
    u32 piece;
    u32 unused;
};
static_assert(sizeof(Segment) == 16, "the host writes segments of 16 bytes");
constexpr u32 kWhole = 0xffffffffu;

// A window in parts.
struct alignas(16) SplitWindow {
    u32 first_piece;
    u32 n_pieces;
    u32 window;
    u32 unused;
};
static_assert(sizeof(SplitWindow) == 16, "the host writes split windows of 16 bytes");

using OfC = ElementOfC<float>;

// Strides count elements.
struct Params {
    const Task* tasks;
    const Segment* segments;
    const SplitWindow* splits;
    // kStep packed columns for each step.
    const u32* col_idx;
    // kStepBytes for each step.
    const char* values;
    // The row of C in each slot; null where a slot's number is its row.
    const u32* rows;
    const char* b;
    OfC* c;
    float* partials;
    u64 m;
    u64 n;
    u64 b_row_stride;
    u64 b_col_stride;
    u64 c_row_stride;
    u64 c_col_stride;
    u64 partial_stride;
    u64 n_splits;
    float alpha;
    float beta;
    // Whether rows of C are contiguous and begin on the bytes of four elements.
    u32 c_in_vectors;
    // Whether parts are added to C, which holds beta * C by then, and not kept.
    u32 atomic;
    // Tiles of columns of a panel, which all tasks come before the next of: neighbouring blocks have the same task.
    u32 panel_tiles;
    // Tiles of columns that there are.
    u32 n_tiles;
    Epilogue epilogue;
};
static_assert(sizeof(Params) == 192, "the host passes 192 bytes");

// The block's task and its tile of columns, which may be beyond the last.
__device__ __forceinline__ u32 task_of_block(const Params& p) { return blockIdx.x / p.panel_tiles; }
__device__ __forceinline__ u32 tile_of_block(const Params& p) {
    return blockIdx.y * p.panel_tiles + blockIdx.x % p.panel_tiles;
}

// The row of C that a slot is, or kNoRow.
__device__ __forceinline__ u32 row_of_slot(const Params& p, u64 slot) {
    return p.rows != nullptr ? ptx::load_constant_32(p.rows + slot) : slot < p.m ? slot : kNoRow;
}
