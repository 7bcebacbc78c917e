// What the host passes, generated from kernels/sm90_bmat_spmm/params.rs: change it there.
#pragma once

// Runs that a block of threads computes, one after the other.
struct alignas(8) Block {
    u32 first_run;
    u32 n_runs;
};
static_assert(sizeof(Block) == 8, "the host has 8 bytes");

// Segments, for a range of columns of C.
struct alignas(16) Run {
    u32 first_segment;
    u32 n_segments;
    u32 col_start;
    // `kToTheEnd` for all that there are from `col_start` on.
    u32 col_end;
};
static_assert(sizeof(Run) == 16, "the host has 16 bytes");

// A window, or a part of one.
struct alignas(16) Segment {
    u64 first_tile;
    u32 n_tiles;
    u32 window;
    // Where the sums of a part go; `kWhole` for all of a window.
    u32 piece;
    u32 unused[3];
};
static_assert(sizeof(Segment) == 32, "the host has 32 bytes");

// A window in parts, for a range of columns of C.
struct alignas(16) SplitWindow {
    u32 first_piece;
    u32 n_pieces;
    u32 window;
    u32 unused;
    u32 col_start;
    // Or `kToTheEnd`, as of a run.
    u32 col_end;
    u32 unused_too[2];
};
static_assert(sizeof(SplitWindow) == 32, "the host has 32 bytes");

// Of a tile: its masks, where its values begin, and how many of them come before each word's.
struct alignas(32) Header {
    u32 mask[4];
    // Where its values begin: the lower half.
    u32 first_value_low;
    // Values before those of words 1, 2 and 3 of this tile, 8 bits each.
    u32 before;
    u32 first_value_high;
    u32 unused;
};
static_assert(sizeof(Header) == 32, "the host has 32 bytes");

// What the entry points are passed. Addresses are of device memory, strides count elements.
struct Params {
    const Block* blocks;
    const Run* runs;
    const Segment* segments;
    const SplitWindow* splits;
    // Of every tile and of one more, whose values would begin where all end.
    const Header* headers;
    // `kTileCols` packed columns for each tile.
    const u32* col_idx;
    // Whole chunks of 16 bytes.
    const char* values;
    // The row of C in each slot; null where a slot's number is its row.
    const u32* rows;
    const char* b;
    OfC* c;
    float* partials;
    u64 m;
    u64 n;
    // The columns of C that this launch computes.
    u64 begin;
    u64 end;
    u64 b_row_stride;
    u64 b_col_stride;
    u64 c_row_stride;
    u64 c_col_stride;
    u64 partial_stride;
    u64 n_splits;
    // Columns that a block computes at a time.
    u32 tile_columns;
    float alpha;
    float beta;
    // Whether every fourth column of a row of C, from any tile's first, begins four neighbours on their bytes.
    u32 c_in_vectors;
    Epilogue epilogue;
};
static_assert(sizeof(Params) == 216, "the host has 216 bytes");
