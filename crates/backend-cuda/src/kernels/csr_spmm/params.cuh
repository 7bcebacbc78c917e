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

// What kernels are passed last. No variable says whether values are complex: see total.cuh.
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
#ifdef AGGREGATE
struct Last {
    // Of each split row, how many entries it has.
    const u32* split_entries;
    u64 unused[3];
};
#else
using Last = Epilogue;
#endif
#endif

#include "csr_spmm/passed.cuh"

// The factors. An aggregation's alpha is its sign.
#ifdef COMPLEX
__device__ __forceinline__ Acc alpha_of(const Params& p) { return Acc(p.alpha, p.last.alpha); }
__device__ __forceinline__ Acc beta_of(const Params& p) { return Acc(p.beta, p.last.beta); }
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
