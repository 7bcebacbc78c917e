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

#include "sm90_window_sddmm/passed.cuh"

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
