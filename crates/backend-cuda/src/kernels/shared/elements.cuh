// Elements of B that no tensor copy can move: stored into a stage one by one, as copies of rows lay them.
#pragma once

#include "shared/types.cuh"
#include "ptx/shared.cuh"

#include "shared/passed_elements.cuh"

// Puts rows of B into a stage by all threads of a warpgroup, as many as a swizzled row of 128 bytes has
// values: kColumns columns of kValueBytes bytes, in groups that are as wide.
template <u32 kColumns, u32 kValueBytes>
__device__ __forceinline__ void store_elements(const Elements& b, u32 to, u64 row, u64 column,
                                               u32 thread) {
    constexpr u32 kRowBytes = 128;
    constexpr u32 kPerRow = kRowBytes / kValueBytes;
    constexpr u32 kGroupBytes = kPerRow * kRowBytes;
    constexpr u32 kChunk = 16 / kValueBytes;
    constexpr u32 kChunks = kColumns / kChunk;
    const bool along_rows = b.col_stride <= b.row_stride;
    for (u32 i = thread; i < kPerRow * kChunks; i += kWarpgroupSize) {
        const u32 k = along_rows ? i / kChunks : i % kPerRow;
        const u32 chunk = along_rows ? i % kChunks : i / kPerRow;
        u32 value[kChunk];
#pragma unroll
        for (u32 j = 0; j < kChunk; ++j) {
            const u64 at = column + chunk * kChunk + j;
            const u64 offset = (row + k) * b.row_stride + at * b.col_stride;
            value[j] = 0;
            if (row + k < b.k && at < b.n) {
                value[j] = kValueBytes == 4 ? static_cast<const u32*>(b.first)[offset]
                                            : static_cast<const u16*>(b.first)[offset];
            }
        }
        ptx::Vector16 packed;
#pragma unroll
        for (u32 j = 0; j < 4; ++j) {
            packed.word[j] =
                kValueBytes == 4 ? value[j] : value[2 * j % kChunk] | value[(2 * j + 1) % kChunk] << 16;
        }
        ptx::store_shared_128(
            to + chunk / 8 * kGroupBytes + k * kRowBytes + (chunk ^ k) % 8 * 16, packed);
    }
}
