// What the host passes, generated from kernels/csr_spmm/params.rs: change it there.
#pragma once

// A run of entries of one row.
struct alignas(16) Item {
    // The first entry.
    u64 begin;
    // How many there are.
    u32 length;
    // The row of C that a whole row goes to; of a piece, the row of `partials`.
    u32 row;
};
static_assert(sizeof(Item) == 16, "the host has 16 bytes");

// A row in pieces.
struct alignas(16) SplitRow {
    // The first of its pieces.
    u64 first_piece;
    // How many there are, in order.
    u32 n_pieces;
    // The row of C.
    u32 row;
};
static_assert(sizeof(SplitRow) == 16, "the host has 16 bytes");

// What the entry points are passed. Addresses are of device memory, strides count elements.
struct Params {
    // Pieces; other items that a block takes each; those that a warp takes each; the rest.
    const Item* items;
    const SplitRow* splits;
    // Of each row of `partials`, which split row it is a piece of.
    const u32* split_of;
    // How many pieces of a split row are there, of each of its tiles of columns: zero between products.
    u32* arrived;
    const u32* col_idx;
    const void* values;
    const void* b;
    void* c;
    void* partials;
    u64 n_items;
    u64 n_pieces;
    u64 n_by_block;
    u64 n_by_warp;
    u64 m;
    u64 n;
    u64 b_row_stride;
    u64 b_col_stride;
    u64 c_row_stride;
    u64 c_col_stride;
    u64 partial_stride;
    double alpha;
    double beta;
    // Of the rest, lanes to an item: a power of two, at least LANES, at most 32. Or items to a warp, at
    // most 32.
    u32 team;
    // Rows of C are contiguous and begin on what as many bytes of sums come to, 16 or 8; 0 where they do not.
    u32 c_vector_bytes;
    // Tiles of columns that there are counts in `arrived` for.
    u64 counted_tiles;
    // Of the rest, instead of items, where all rows are of it: the end of each slot before the first and
    // after the others, and the row of C of each slot, which is the slot's own number if there are none.
    const u32* row_ptr;
    const u32* rows;
    // Items that a team of `multiply_rows` takes, one after the other.
    u32 turns;
    // Tiles of columns that neighbouring blocks take of the same items: a panel. Blocks of all items come
    // before those of the next panel.
    u32 panel_tiles;
    // Rows of C whose rows of A have no entries, besides the items; and the first warp that takes some of them.
    const u32* empty_rows;
    u64 n_empty_rows;
    u64 first_empty_warp;
    // An epilogue, or what stands in its place.
    Last last;
};
static_assert(sizeof(Params) == 272, "the host has 272 bytes");
