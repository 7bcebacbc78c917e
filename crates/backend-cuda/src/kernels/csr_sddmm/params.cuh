// What the kernels of sampled products are passed: rows, columns and operands. VALUE names the value type: F32,
// F64, F16 or Bf16. Host side: params.rs.
#pragma once

#include "shared/types.cuh"
#include "shared/values.cuh"
#include "ptx/memory.cuh"

using Value = VALUE;
using Stored = Value::Stored;
using Acc = Value::Acc;
constexpr u32 kVector = Value::kPerVector;

constexpr u32 kThreads = 128;

// Entries that `first_row` has a number for: runs begin at multiples of it.
constexpr u32 kGroup = 8;

// A row that has entries, and where they end.
struct alignas(16) Row {
    u64 end;
    u32 row;
    u32 unused;
};
static_assert(sizeof(Row) == 16, "the host writes rows of 16 bytes");

// Strides count elements.
struct Params {
    // Those that have entries, in order, and one more.
    const Row* rows;
    // Of each group of entries, the number among `rows` of the row that the first is in.
    const u32* first_row;
    const u32* col_idx;
    const void* x;
    const void* y;
    void* s;
    u64 nnz;
    u64 d;
    u64 x_row_stride;
    u64 x_col_stride;
    u64 y_row_stride;
    u64 y_col_stride;
    u64 s_stride;
    // In 8 bytes each.
    alignas(8) Acc alpha;
    alignas(8) Acc beta;
    // Entries that a team takes: a multiple of kGroup.
    alignas(8) u32 run;
    u32 unused;
};
static_assert(sizeof(Params) == 128, "the host passes 128 bytes");

__device__ __forceinline__ Row load_row(const Params& p, u32 number) {
    const ptx::Vector16 v = ptx::load_constant(p.rows + number);
    return {u64(v.word[1]) << 32 | v.word[0], v.word[2], 0};
}

// Of an entry's inner product, and what the entry was; with beta = 0, that is not read.
__device__ __forceinline__ void store_entry(const Params& p, Acc* at, Acc sum) {
    *at = p.beta == Acc(0) ? p.alpha * sum : multiply_add(p.alpha, sum, p.beta * *at);
}
