// What the CSR kernels are passed: items, split rows and operands. VALUE names the value type: F32, F64,
// F16 or Bf16, or C32 or C64, for which COMPLEX is defined too, as the bits of a part. Host side: params.rs.
#pragma once

#include "csr_spmm/total.cuh"
#include "shared/element_of_c.cuh"
#include "shared/epilogue.cuh"
#include "shared/types.cuh"
#include "shared/values.cuh"
#include "ptx/memory.cuh"

using Value = VALUE;
using Stored = Value::Stored;
using Acc = Value::Acc;
using OfC = ElementOfC<Acc>;
constexpr u32 kVector = Value::kPerVector;
// Sums in 16 bytes.
constexpr u32 kWidth = 16 / sizeof(Acc);

constexpr u32 kWarps = 4;
constexpr u32 kThreads = kWarps * kWarpSize;

// What `rows` has for a slot without a row.
constexpr u32 kNoRow = 0xffffffffu;

// A run of entries of one row.
struct alignas(16) Item {
    u64 begin;
    u32 length;
    // The row of C that a whole row goes to; of a piece, the row of `partials`.
    u32 row;
};
static_assert(sizeof(Item) == 16, "the host writes items of 16 bytes");

// A row in pieces.
struct alignas(16) SplitRow {
    u64 first_piece;
    u32 n_pieces;
    u32 row;
};
static_assert(sizeof(SplitRow) == 16, "the host writes split rows of 16 bytes");

// No variable either: see total.cuh.
#ifdef COMPLEX
enum : bool { kIsComplex = true };
// Complex values have no epilogue. In its place stand the imaginary parts of the factors.
struct Imaginary {
    double alpha;
    double beta;
    u64 unused[2];

    __device__ __forceinline__ Acc operator()(Acc x, u64, u64) const { return x; }
};
using Last = Imaginary;
#else
enum : bool { kIsComplex = false };
using Last = Epilogue;
#endif

// Strides count elements. Of B, whole vectors may be read where the tile's variant reads vectors.
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
#ifdef AGGREGATE
    // Of each split row, how many entries it has.
    const u32* split_entries;
    u64 unused[3];
#else
    Last epilogue;
#endif
};
static_assert(sizeof(Params) == 272, "the host passes 272 bytes");

// The factors. An aggregation's alpha is its sign.
#ifdef COMPLEX
__device__ __forceinline__ Acc alpha_of(const Params& p) { return Acc(p.alpha, p.epilogue.alpha); }
__device__ __forceinline__ Acc beta_of(const Params& p) { return Acc(p.beta, p.epilogue.beta); }
#else
__device__ __forceinline__ Acc alpha_of(const Params& p) { return Acc(p.alpha); }
__device__ __forceinline__ Acc beta_of(const Params& p) { return Acc(p.beta); }
#endif

struct alignas(2 * sizeof(Acc)) Entry {
    u32 col;
    Acc value;
};

// 16 bytes of sums.
union Sums {
    ptx::Vector16 vector;
    Acc sum[kWidth];
};

// What the warps of a block share: each its entries, and then sums that all add up.
union Staging {
    Entry entries[kWarps][kWarpSize];
    ptx::Vector16 sums[kWarps - 1][kWarpSize];
};

// The number of the block among those of the same tile.
__device__ __forceinline__ u64 block_number(const Params& p) { return blockIdx.x / p.panel_tiles; }

// The block's first tile of columns, and how far it is to its next, in tiles.
__device__ __forceinline__ u64 first_tile(const Params& p) {
    return u64(blockIdx.y) * p.panel_tiles + blockIdx.x % p.panel_tiles;
}
__device__ __forceinline__ u64 tile_step(const Params& p) {
    return u64(gridDim.y) * p.panel_tiles;
}

// The number of the warp among those that take no part of a block's item.
__device__ __forceinline__ u64 warp_number(const Params& p) {
    return (block_number(p) - p.n_by_block) * kWarps + threadIdx.x / kWarpSize;
}

__device__ __forceinline__ Item load_item(const Params& p, u64 index) {
    const ptx::Vector16 v = ptx::load_streamed(p.items + index);
    return {u64(v.word[1]) << 32 | v.word[0], v.word[2], v.word[3]};
}

// The row of C of a slot, or kNoRow.
__device__ __forceinline__ u32 row_of_slot(const Params& p, u64 slot) {
    return p.rows == nullptr ? static_cast<u32>(slot) : ptx::load_constant_32(p.rows + slot);
}

// An item of the rest, by its number there. Its row may be kNoRow.
__device__ __forceinline__ Item load_rest(const Params& p, u64 index) {
    if (p.row_ptr == nullptr) return load_item(p, p.n_by_block + p.n_by_warp + index);
    const u32 begin = ptx::load_constant_32(p.row_ptr + index);
    const u32 end = ptx::load_constant_32(p.row_ptr + index + 1);
    return {begin, end - begin, row_of_slot(p, index)};
}

// How many items the rest has.
__device__ __forceinline__ u64 rest_items(const Params& p) {
    return p.n_items - p.n_by_block - p.n_by_warp;
}

__device__ __forceinline__ Entry load_entry(const Params& p, u64 index) {
    return {ptx::load_constant_32(p.col_idx + index),
            signed_value(alpha_of(p),
                         Value::widen(Value::load(static_cast<const Stored*>(p.values) + index)))};
}
