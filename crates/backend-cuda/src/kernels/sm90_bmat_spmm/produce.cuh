// What the producer warps of the BMat kernel do: they fill the ring with masks, values and rows of B.
#pragma once

#include "shared/gather.cuh"
#include "shared/pipeline.cuh"
#include "shared/types.cuh"
#include "sm90_bmat_spmm/config.cuh"
#include "sm90_bmat_spmm/params.cuh"
#include "sm90_bmat_spmm/walk.cuh"
#include "ptx/bulk.cuh"
#include "ptx/memory.cuh"
#include "ptx/shared.cuh"

// A place in a chunk, in tiles, from which a warp loads packed columns for kAhead stages at once.
struct Cursor {
    u64 first_tile;
    u32 segment;
    // Tiles of the segment from here on.
    u32 left;

    // Goes on to a segment that has tiles, if this one has none left.
    __device__ __forceinline__ void settle(const Chunk& chunk) {
        while (left == 0 && ++segment < chunk.count) {
            left = __shfl_sync(kWholeWarp, chunk.n_tiles, segment);
            first_tile = __shfl_sync(kWholeWarp, chunk.first_tile, segment);
        }
    }
    // Tiles of the next kAhead stages.
    template <class C>
    __device__ __forceinline__ u32 tiles() const {
        return min(left, C::kAhead * C::kTiles);
    }
};

// What a warp needs to know before it fills kAhead stages.
struct Ahead {
    // The packed columns of its rows in all of them, side by side; kPadCol beyond the last.
    u32 col;
    // In lane i, where the values of stage i begin.
    u64 first_value;

    template <class C>
    __device__ __forceinline__ void load(const Params& p, const Cursor& at, u32 warp, u32 lane) {
        const u32 row = lane / C::kRowsOfWarp * C::kTiles * kTileCols + warp * C::kRowsOfWarp +
                        lane % C::kRowsOfWarp;
        col = row < at.left * kTileCols
                  ? ptx::load_constant_32(p.col_idx + at.first_tile * kTileCols + row)
                  : kPadCol;
        if constexpr (!kPattern) {
            if (warp == 0) {
                const u32 before = min(lane * C::kTiles, at.left);
                const Header* header = p.headers + at.first_tile + (lane <= C::kAhead ? before : 0);
                first_value = u64(ptx::load_constant_32(&header->first_value_high)) << 32 |
                              ptx::load_constant_32(&header->first_value_low);
            }
        }
    }
};

// Stores rows of B, a row's packed column in each lane, element by element: zeros for padding, and beyond the
// last column, where whole chunks are read.
template <class C>
__device__ __forceinline__ void gather_elements(const Params& p, const Chunk& chunk, u32 rows,
                                                u32 n_rows, u32 col, u32 lane) {
    constexpr u32 kSize = Value::kBytes;
    // A few rows at a time, for the sake of registers.
    constexpr u32 kAtOnce = 4;
    const u32 row_bytes = chunk.row_bytes();
#pragma unroll 1
    for (u32 first = 0; first < n_rows; first += kAtOnce) {
        u32 of_row[kAtOnce];
#pragma unroll
        for (u32 i = 0; i < kAtOnce; ++i) of_row[i] = __shfl_sync(kWholeWarp, col, first + i);
#pragma unroll 1
        for (u32 at = lane; at * kSize < row_bytes; at += kWarpSize) {
            const char* const column = p.b + (chunk.column + at) * p.b_col_stride * kSize;
            u32 got[kAtOnce] = {};
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                if (at < chunk.width && of_row[i] != kPadCol) {
                    const char* const element = column + of_row[i] * p.b_row_stride * kSize;
                    got[i] =
                        kSize == 4 ? ptx::load_constant_32(element) : ptx::load_constant_16(element);
                }
            }
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                const u32 to = rows + (first + i) * C::kPitch + at * kSize;
                if constexpr (kSize == 4) {
                    ptx::store_shared_32(to, got[i]);
                } else {
                    ptx::store_shared_16(to, static_cast<u16>(got[i]));
                }
            }
        }
    }
    __syncwarp();
}

// Fills a warp's share of a stage of `tiles` tiles, once it is empty: its rows of B, a row's packed column in
// each lane, and by warp 0 all masks, and the values from `first_value` to `last_value`.
template <class C>
__device__ __forceinline__ void fill(const Params& p, const Chunk& chunk, const Ring<C::kStages>& ring,
                                     const Place<C::kStages>& place, u32 stages, u64 first_tile,
                                     u32 tiles, u32 col, u64 first_value, u64 last_value, u32 warp,
                                     u32 lane) {
    const u32 before = warp * C::kRowsOfWarp;
    const u32 n_rows = tiles * kTileCols > before ? min(tiles * kTileCols - before, C::kRowsOfWarp) : 0;
    const u32 rows = C::rows(stages, place.stage) + before * C::kPitch;
    const u32 full = ring.full(place);
    // Bulk copies are of whole chunks of values.
    const u64 first_chunk = first_value / kPerChunk;
    const u32 n_chunks = static_cast<u32>((last_value + kPerChunk - 1) / kPerChunk - first_chunk);
    u32 bytes = warp == 0 ? tiles * sizeof(Header) + n_chunks * 16 : 0;
    ring.wait_empty(place);
    if constexpr (C::kGather == Gather::kRows) {
        const u32 present = __ballot_sync(kWholeWarp, col != kPadCol);
        const u32 all = n_rows == kWarpSize ? kWholeWarp : (1u << n_rows) - 1;
        clear_rows<C>(rows, all & ~present, chunk.row_bytes(), lane);
        bytes += __popc(present) * chunk.row_bytes();
    } else if constexpr (C::kGather == Gather::kElements) {
        gather_elements<C>(p, chunk, rows, n_rows, col, lane);
    }
    const auto load_tiles = [&] {
        ptx::bulk_load(C::headers(stages, place.stage), p.headers + first_tile, tiles * sizeof(Header),
                       full);
        if (n_chunks != 0) {
            ptx::bulk_load(C::values(stages, place.stage), p.values + first_chunk * 16, n_chunks * 16,
                           full);
        }
    };
    if constexpr (C::kGather == Gather::kVectors) {
        // Each lane arrives once its vectors are there, so only masks and values are expected in bytes.
        if (warp == 0 && lane == 0) {
            ring.expect_more(place, bytes);
            load_tiles();
        }
        __syncwarp();
        const char* first = p.b + chunk.column * Value::kBytes;
        gather_vectors<C>(first, p.b_row_stride * Value::kBytes, chunk.row_bytes(), rows, n_rows, col,
                          lane);
        ring.fill_with_copies(place);
        return;
    }
    if (lane == 0) {
        ring.expect(place, bytes);
        if (warp == 0) load_tiles();
    } else {
        ring.fill(place);
    }
    if constexpr (C::kGather == Gather::kRows) {
        __syncwarp();
        if (col != kPadCol) {
            ptx::bulk_load(rows + lane * C::kPitch,
                           p.b + (col * p.b_row_stride + chunk.column) * Value::kBytes,
                           chunk.row_bytes(), full);
        }
    }
}

// What a producer warp does: its rows of every stage, and warp 0 also all masks and values.
template <class C>
__device__ __forceinline__ void produce(const Params& p, const Ring<C::kStages>& ring, u32 stages,
                                        u32 warp, u32 lane) {
    Place<C::kStages> place;
    walk<C>(p, lane, [&](const Chunk& chunk) {
        Cursor at = {0, ~0u, 0};
        at.settle(chunk);
        Ahead ahead = {kPadCol, 0};
        ahead.load<C>(p, at, warp, lane);
        while (at.segment < chunk.count) {
            const Ahead now = ahead;
            u64 first_tile = at.first_tile;
            u32 left = at.tiles<C>();
            at.first_tile += left;
            at.left -= left;
            at.settle(chunk);
            // The next stages' columns are on their way while these are filled.
            ahead.load<C>(p, at, warp, lane);
            for (u32 i = 0; left > 0; ++i) {
                const u32 tiles = min(left, C::kTiles);
                const u32 of_row =
                    __shfl_sync(kWholeWarp, now.col, i * C::kRowsOfWarp + lane % C::kRowsOfWarp);
                const u32 col = lane < C::kRowsOfWarp ? of_row : kPadCol;
                const u64 first_value = __shfl_sync(kWholeWarp, now.first_value, i);
                const u64 last_value = __shfl_sync(kWholeWarp, now.first_value, i + 1);
                fill<C>(p, chunk, ring, place, stages, first_tile, tiles, col, first_value, last_value,
                        warp, lane);
                first_tile += tiles;
                left -= tiles;
                place.next();
            }
        }
    });
}
