// What the kernel of windows is passed: tasks, tiles and operands. VALUE names the value type: F16 or Bf16. Host side:
// params.rs.
#pragma once

#include "shared/types.cuh"
#include "shared/values.cuh"
#include "ptx/memory.cuh"

using Value = VALUE;
using Stored = Value::Stored;
// Neighbouring columns of X and Y that a lane reads at once.
constexpr u32 kVector = Value::kPerVector;
static_assert(kVector == 8, "values have 16 bits");

constexpr u32 kNoRow = 0xffffffffu;
constexpr u32 kWindowRows = 16;
constexpr u32 kTileCols = 8;

// Tiles of one window that a block of threads computes.
struct alignas(16) Task {
    u64 first_tile;
    u32 n_tiles;
    u32 window;
};
static_assert(sizeof(Task) == 16, "the host writes tasks of 16 bytes");

// Eight packed columns of a window, and which of its elements are entries.
struct alignas(16) Tile {
    // Beyond the window's last column that one once more.
    u32 col[kTileCols];
    // Of each row the entries of its own before this tile.
    u32 before[kWindowRows];
    // Eight bits a row, one for each column; four rows to a word.
    u32 mask[kWindowRows / 4];
};
static_assert(sizeof(Tile) == 112, "the host writes tiles of 112 bytes");

// Strides count elements.
struct Params {
    const Task* tasks;
    const Tile* tiles;
    // The row of X in each slot; null where a slot's number is its row.
    const u32* rows;
    // Where a row's entries begin in S.
    const u64* row_ptr;
    const void* x;
    const void* y;
    float* s;
    u64 m;
    // Columns of X and Y; none are read if it is 0.
    u64 d;
    u64 x_row_stride;
    u64 x_col_stride;
    u64 y_row_stride;
    u64 y_col_stride;
    u64 s_stride;
    float alpha;
    float beta;
};
static_assert(sizeof(Params) == 120, "the host passes 120 bytes");

// The row of X that a slot is, or kNoRow.
__device__ __forceinline__ u32 row_of_slot(const Params& p, u64 slot) {
    return p.rows != nullptr ? ptx::load_constant_32(p.rows + slot)
           : slot < p.m      ? static_cast<u32>(slot)
                             : kNoRow;
}

// Of an entry's inner product, and what the entry was; with beta = 0, that is not read.
__device__ __forceinline__ void store_entry(const Params& p, u64 entry, float sum) {
    float* const at = p.s + entry * p.s_stride;
    *at = p.beta == 0.0f ? p.alpha * sum : __fmaf_rn(p.alpha, sum, p.beta * *at);
}
