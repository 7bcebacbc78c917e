// An item of a whole block: its warps' sums are added up, and so are the pieces of a row, each time in
// one order.
#pragma once

#include "csr_spmm/params.cuh"
#include "csr_spmm/store.cuh"
#include "ptx/atomic.cuh"
#include "shared/parts.cuh"

// Adds the sums of the other warps, in order, to those of warp 0. All threads of the block call it.
template <u32 COLUMNS>
__device__ __forceinline__ void add_warps(Staging& staging, u32 warp, u32 lane,
                                          Acc (&sum)[COLUMNS]) {
#pragma unroll
    for (u32 i = 0; i < COLUMNS; i += kWidth) {
        // What is staged has been read by all.
        __syncthreads();
        if (warp > 0) {
            Sums out = {};
#pragma unroll
            for (u32 w = 0; w < kWidth; ++w) {
                if (i + w < COLUMNS) out.sum[w] = sum[i + w];
            }
            staging.sums[warp - 1][lane] = out.vector;
        }
        __syncthreads();
        if (warp == 0) {
#pragma unroll
            for (u32 other = 0; other < kWarps - 1; ++other) {
                Sums in;
                in.vector = staging.sums[other][lane];
#pragma unroll
                for (u32 w = 0; w < kWidth; ++w) {
                    if (i + w < COLUMNS) sum[i + w] = join(sum[i + w], in.sum[w]);
                }
            }
        }
    }
}

// Pieces of a row that a thread waits for at a time, for each way to read B. With more, a thread takes more registers, and a
// multiprocessor holds fewer blocks.
template <class Access>
constexpr u32 kPiecesAtOnce = sizeof(Acc) > 4 || kHasEpilogue || kAggregates                              ? 2
                              : sizeof(Stored) == 4 && Access::kBytes == 16 && Access::kLanes < kWarpSize ? 8
                                                                                                          : 4;

// Adds up the pieces of a row, in order, a thread for each of the columns from `tile` to `end`.
template <u32 AT_ONCE>
__device__ __forceinline__ void combine(const Params& p, u32 number, const SplitRow& split, u64 tile,
                                        u64 end) {
    const Finish finish = finish_of(p, split.row, entries_of_split(p, number));
    const Acc* parts = static_cast<const Acc*>(p.partials) + split.first_piece * p.partial_stride;
    OfC* row = static_cast<OfC*>(p.c) + split.row * p.c_row_stride;
    for (u64 column = tile + threadIdx.x; column < end; column += kThreads) {
        Acc sum[1];
        clear(sum);
        sum[0] = join_parts<AT_ONCE>(parts + column, p.partial_stride, split.n_pieces, sum[0],
                                     [](Acc x, Acc y) { return join(x, y); });
        OfC* at = row + column * p.c_col_stride;
        put(at, finish(sum[0], at, column));
    }
}

// Stores the sums that warp 0 has of a block's item. The block that stores the last piece of a row adds
// all of them up: whichever that is, the order is that of the pieces. All threads of the block call it.
template <class Access, u32 LANES, u32 COLUMNS>
__device__ __forceinline__ void store_block(const Params& p, u32 row, u32 entries, u64 tile, u32 warp,
                                            u32 lane, const Acc (&sum)[COLUMNS]) {
    constexpr u64 kTile = LANES * COLUMNS;
    const bool is_piece = block_number(p) < p.n_pieces;
    if (warp == 0 && lane < LANES) {
        store_item<Access, COLUMNS>(p, is_piece, row, entries, tile, lane, sum);
    }
    if (!is_piece) return;
    const u32 number = p.split_of[row];
    const SplitRow split = p.splits[number];
    // What the first thread releases, its warp has stored before.
    __syncwarp();
    bool is_last = false;
    if (threadIdx.x == 0) {
        u32* arrived = p.arrived + number * p.counted_tiles + tile / kTile;
        is_last = ptx::arrive(arrived, split.n_pieces) == split.n_pieces - 1;
    }
    if (__syncthreads_or(is_last)) combine<kPiecesAtOnce<Access>>(p, number, split, tile, min(tile + kTile, p.n));
}
