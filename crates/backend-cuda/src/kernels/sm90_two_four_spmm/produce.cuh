// What the producer does: it fills the ring with A, its metadata and B.
#pragma once

#include "shared/types.cuh"
#include "sm90_two_four_spmm/config.cuh"
#include "ptx/bulk.cuh"
#include "ptx/cache.cuh"
#include "ptx/fence.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/memory.cuh"
#include "ptx/shared.cuh"
#include "ptx/tensor.cuh"

// Puts 64 rows of B into a stage by all threads of a warpgroup, laid out as tensor copies of rows do.
__device__ __forceinline__ void store_elements(const Params& p, u32 to, u64 row, u64 column,
                                               u32 thread) {
    constexpr u32 kChunks = COLUMNS / 8;
    const u16* const elements = static_cast<const u16*>(p.b_elements);
    const bool along_rows = p.b_col_stride <= p.b_row_stride;
    for (u32 i = thread; i < kDepth * kChunks; i += kWarpgroupSize) {
        const u32 k = along_rows ? i / kChunks : i % kDepth;
        const u32 chunk = along_rows ? i % kChunks : i / kDepth;
        u32 value[8];
#pragma unroll
        for (u32 j = 0; j < 8; ++j) {
            const u64 at = column + chunk * 8 + j;
            const u64 offset = (row + k) * p.b_row_stride + at * p.b_col_stride;
            value[j] = 0;
            if (row + k < p.k && at < p.output.n) value[j] = elements[offset];
        }
        ptx::Vector16 packed;
#pragma unroll
        for (u32 j = 0; j < 4; ++j) packed.word[j] = value[2 * j] | value[2 * j + 1] << 16;
        ptx::store_shared_128(to + chunk / 8 * kGroupBytes + k * kRowBytes + (chunk ^ k) % 8 * 16,
                              packed);
    }
}

// Copies a box of B, to all CTAs of a cluster where there is one.
__device__ __forceinline__ void load_b(u32 to, const Params& p, u64 x, u64 y, u32 barrier) {
    if constexpr (CLUSTER == 1) {
        ptx::tensor_load(to, p.b, x, y, barrier);
    } else {
        ptx::tensor_load_multicast(to, p.b, x, y, barrier, (1 << CLUSTER) - 1);
    }
}

// Fills the ring: one thread with copies; with elements of B all threads of the warpgroup.
template <Source SOURCE>
__device__ __forceinline__ void produce(const Params& p, const Shared& shared, u32 n_steps, u32 rank,
                                        u64 column) {
    const u32 thread = threadIdx.x - kConsumerThreads;
    if (SOURCE != Source::Elements && thread != 0) return;
    const Stages ring = shared.ring();
    const u64 first = u64(blockIdx.x) * n_steps;
    // Every tile of columns reads A again; B is read by CTAs that run at once.
    const u64 policy = ptx::policy_evict_last();
    Stages::Place at;
    for (u32 step = 0; step < n_steps; ++step) {
        const u64 k = u64(step) * kDepth;
        const u32 b = shared.b(at);
        ring.wait_empty(at);
        if (SOURCE == Source::Elements) {
            store_elements(p, b, k, column, thread);
            ptx::fence_proxy_async_shared();
            if (thread != 0) ring.fill(at);
        }
        if (thread == 0) {
            ptx::mbarrier_arrive_expect(shared.metadata_full(at), kBytesMetadata);
            ptx::bulk_load(shared.metadata(at), p.metadata + (first + step) * kBytesMetadata,
                           kBytesMetadata, shared.metadata_full(at), policy);
            constexpr u32 kCopied = SOURCE == Source::Elements ? 0 : kBytesB;
            ring.expect(at, kBytesA + kCopied);
            ptx::bulk_load(shared.a(at), p.values + (first + step) * kBytesA, kBytesA, ring.full(at),
                           policy);
            if (SOURCE == Source::Rows) {
                const u32 part = rank * (kDepth / CLUSTER);
#pragma unroll
                for (u32 g = 0; g < COLUMNS / kGroup; ++g) {
                    load_b(b + g * kGroupBytes + part * kRowBytes, p, column + g * kGroup, k + part,
                           ring.full(at));
                }
            } else if (SOURCE == Source::Columns) {
                const u32 part = rank * (COLUMNS / CLUSTER);
                load_b(b + part * kRowBytes, p, k, column + part, ring.full(at));
            }
        }
        at.next();
    }
}
