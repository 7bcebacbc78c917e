// C on its way out: each warp writes its sums patch by patch, through shared memory of its own.
//
// No warp waits for another, nor for its copies, but for the memory of the patch before the last.
#pragma once

#include "sm90_dense_gemm/config.cuh"
#include "ptx/bulk.cuh"
#include "ptx/cache.cuh"
#include "ptx/fence.cuh"

// Puts a patch of a warp's sums into shared memory, times `scale`.
template <Source SOURCE>
__device__ __forceinline__ void spread(u32 to, u32 patch, float scale, const float (&sum)[kSums]) {
    if constexpr (kIsTransposed) {
        Tf32::spread_rows<SOURCE != Source::Columns, Patch, kPatchRows>(to, 0, scale, sum,
                                                                        patch * kPatchRows);
    } else {
        // Two neighbouring rows have the same banks where they have the same columns: every other row's
        // sums take another order.
        const u32 lane = threadIdx.x % kWarpSize;
        const bool is_odd = lane / 4 % 2 != 0;
#pragma unroll
        for (u32 i = 0; i < kPatchColumns / 8; ++i) {
            const u32 mine = patch * kPatchColumns / 2 + i * 4;
            const u32 other = patch * kPatchColumns / 2 + (i ^ 2) * 4;
            const u32 column = (is_odd ? i ^ 2 : i) * 8 + lane % 4 * 2;
#pragma unroll
            for (u32 half = 0; half < 2; ++half) {
                const float v0 = is_odd ? sum[other + 2 * half] : sum[mine + 2 * half];
                const float v1 = is_odd ? sum[other + 2 * half + 1] : sum[mine + 2 * half + 1];
                ptx::store_shared_64(Patch::at(to, lane / 4 + half * 8, column),
                                     __float_as_uint(scale * v0), __float_as_uint(scale * v1));
            }
        }
    }
}

// Writes a patch by all lanes of a warp, rows to wherever they belong.
__device__ __forceinline__ void store_patch(const Params& p, u32 from, u64 row, u64 column) {
    const Output& output = p.output;
    constexpr u32 kVectors = kPatchColumns / 4;
    const bool in_vectors = output.is_in_vectors();
    const u32 lane = threadIdx.x % kWarpSize;
    const u32 first = lane % kVectors * 4;
    // Tiles reach beyond the last block row; a patch does not.
    if (row >= u64(p.block_rows) * kBlock || column + first >= output.n) return;
#pragma unroll 1
    for (u32 slot = lane / kVectors; slot < kPatchRows; slot += kWarpSize / kVectors) {
        const u32 to = output.row(row + slot);
        if (to == kNoRow) continue;
        u32 sum[4];
        ptx::load_shared_128(Patch::at(from, slot, first), sum);
        const float4 sums = {__uint_as_float(sum[0]), __uint_as_float(sum[1]),
                             __uint_as_float(sum[2]), __uint_as_float(sum[3])};
        output.store(to, column + first, sums, in_vectors);
    }
}

// Writes a warp's part of the tile at (row, column).
template <Source SOURCE>
__device__ __forceinline__ void store(const Params& p, u32 patches, u64 row, u64 column,
                                      const float (&sum)[kSums]) {
    const u32 warp = threadIdx.x / kWarpSize;
    const bool is_leader = threadIdx.x % kWarpSize == 0;
    const u32 buffers = patches + warp * 2 * Patch::kBytes;
    const u64 policy = ptx::policy_evict_first();
    if (kIsTransposed) {
        column += warp * kPatchColumns;
    } else {
        row += warp * kPatchRows;
    }
#pragma unroll
    for (u32 patch = 0; patch < kPatches; ++patch) {
        const u32 buffer = buffers + patch % 2 * Patch::kBytes;
        if (p.copies_c) {
            if (is_leader) ptx::bulk_wait_read<1>();
            __syncwarp();
            spread<SOURCE>(buffer, patch, p.output.alpha, sum);
            ptx::fence_proxy_async_shared();
            __syncwarp();
            if (is_leader) {
                if (row < p.output.m && column < p.output.n) {
                    ptx::tensor_store(p.c, column, row, buffer, policy);
                }
                ptx::bulk_commit();
            }
        } else {
            spread<SOURCE>(buffer, patch, 1.0f, sum);
            __syncwarp();
            store_patch(p, buffer, row, column);
        }
        if (kIsTransposed) {
            row += kPatchRows;
        } else {
            column += kPatchColumns;
        }
    }
}

// Before a CTA ends, its copies have read their memory.
__device__ __forceinline__ void finish_stores() { ptx::bulk_wait_read<0>(); }
