// What the host passes, generated from kernels/sm90_window_sddmm/params.rs: change it there.
#pragma once

// Tiles of one window that a block of threads computes.
struct alignas(16) Task {
    u64 first_tile;
    u32 n_tiles;
    u32 window;
};
static_assert(sizeof(Task) == 16, "the host has 16 bytes");

// Eight packed columns of a window, and which of its elements are entries.
struct alignas(16) Tile {
    // Beyond the window's last column that one once more.
    u32 col[8];
    // Of each row the entries of its own before this tile.
    u32 before[16];
    // Eight bits a row, one for each column; four rows to a word.
    u32 mask[kWindowRows / 4];
};
static_assert(sizeof(Tile) == 112, "the host has 112 bytes");

// What the entry points are passed. Addresses are of device memory, strides count elements.
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
static_assert(sizeof(Params) == 120, "the host has 120 bytes");
