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

#include "csr_sddmm/passed.cuh"

__device__ __forceinline__ Row load_row(const Params& p, u32 number) {
    const ptx::Vector16 v = ptx::load_constant(p.rows + number);
    return {u64(v.word[1]) << 32 | v.word[0], v.word[2], 0};
}

// Of an entry's inner product, and what the entry was; with beta = 0, that is not read.
__device__ __forceinline__ void store_entry(const Params& p, Acc* at, Acc sum) {
    *at = p.beta == Acc(0) ? p.alpha * sum : multiply_add(p.alpha, sum, p.beta * *at);
}
