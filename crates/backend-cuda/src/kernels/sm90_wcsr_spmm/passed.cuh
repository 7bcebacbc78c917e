// What the host passes, generated from kernels/sm90_wcsr_spmm/params.rs: change it there.
#pragma once

// Segments that a block multiplies one after the other.
struct alignas(16) Task {
    // Steps before its first, in the packed columns and in the values.
    u64 first_step;
    u32 first_segment;
    // At most 32.
    u32 n_segments;
};
static_assert(sizeof(Task) == 16, "the host has 16 bytes");

// A window, or a part of one.
struct alignas(16) Segment {
    u32 n_steps;
    u32 window;
    // Where the sums of a part go; `kWhole` for all of a window.
    u32 piece;
    u32 unused;
};
static_assert(sizeof(Segment) == 16, "the host has 16 bytes");

// A window in parts.
struct alignas(16) SplitWindow {
    u32 first_piece;
    u32 n_pieces;
    u32 window;
    u32 unused;
};
static_assert(sizeof(SplitWindow) == 16, "the host has 16 bytes");

// What the entry points are passed. Addresses are of device memory, strides count elements.
struct Params {
    const Task* tasks;
    const Segment* segments;
    const SplitWindow* splits;
    // `kStep` packed columns for each step.
    const u32* col_idx;
    // `kStepBytes` for each step.
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
static_assert(sizeof(Params) == 192, "the host has 192 bytes");
