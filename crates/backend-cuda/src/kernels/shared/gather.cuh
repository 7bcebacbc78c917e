// How a producer warp brings rows of B to a stage in shared memory: those that packed columns name. Each lane has the packed
// column of a row, kPadCol for padding. C is the kernel's Config, of which kRowBytes, kPitch and kRowsOfWarp count here.
#pragma once

#include "shared/types.cuh"
#include "ptx/copy_async.cuh"
#include "ptx/fence.cuh"
#include "ptx/shared.cuh"

constexpr u32 kPadCol = 0xffffffffu;

// Zeros for the rows of a stage that padding stands for, a bit of `padding` for each.
template <class C>
__device__ __forceinline__ void clear_rows(u32 rows, u32 padding, u32 row_bytes, u32 lane) {
    if (padding == 0) return;
    for (; padding != 0; padding &= padding - 1) {
        const u32 row = rows + (__ffs(padding) - 1) * C::kPitch;
        for (u32 at = lane * 16; at < row_bytes; at += kWarpSize * 16) {
            ptx::store_shared_128(row + at, {});
        }
    }
    // Copies into the stage come after these stores, now and when it is filled again.
    ptx::fence_proxy_async_shared();
}

// Copies `row_bytes` of each of `n_rows` rows by 16 bytes of each lane, and zeros for padding. Neighbouring lanes have
// neighbouring bytes. Row 0 of B begins at `b`, and every row `stride` bytes after the one before.
template <class C>
__device__ __forceinline__ void gather_vectors(const char* b, u64 stride, u32 row_bytes, u32 rows,
                                               u32 n_rows, u32 col, u32 lane) {
    constexpr u32 kVectors = C::kRowBytes / 16;
    constexpr u32 kLanes = kVectors < kWarpSize ? kVectors : kWarpSize;
    static_assert(kWarpSize % kLanes == 0 && kVectors % kLanes == 0, "rows take whole turns of lanes");
#pragma unroll
    for (u32 first = 0; first < C::kRowsOfWarp; first += kWarpSize / kLanes) {
        const u32 row = first + lane / kLanes;
        const u32 of_row = __shfl_sync(kWholeWarp, col, row);
        const bool present = of_row != kPadCol;
        const char* from = b + of_row * stride;
#pragma unroll
        for (u32 turn = 0; turn < kVectors / kLanes; ++turn) {
            const u32 at = (turn * kLanes + lane % kLanes) * 16;
            if (row < n_rows && at < row_bytes) {
                ptx::copy_async_16(rows + row * C::kPitch + at, present ? from + at : b,
                                   present ? 16 : 0);
            }
        }
    }
}
