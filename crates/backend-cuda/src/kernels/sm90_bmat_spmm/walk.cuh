// The way of a block through its work, the same for producers and consumers.
#pragma once

#include "shared/types.cuh"
#include "sm90_bmat_spmm/config.cuh"
#include "sm90_bmat_spmm/params.cuh"
#include "ptx/memory.cuh"

// Up to 32 segments, one in each lane, and the columns of C that they are multiplied for.
struct Chunk {
    u64 first_tile = 0;
    u32 n_tiles = 0;
    u32 window = 0;
    u32 piece = 0;
    // Segments there are.
    u32 count;
    // The first column, and how many there are.
    u64 column;
    u32 width;

    // The bytes of a row of B from the first column on that are needed, whole chunks.
    __device__ __forceinline__ u32 row_bytes() const {
        return (width * Value::kBytes + 15) / 16 * 16;
    }

    __device__ __forceinline__ void load(const Segment* first, u32 n, u32 lane) {
        count = n < kWarpSize ? n : kWarpSize;
        n_tiles = 0;
        if (lane < count) {
            const ptx::Vector16 tiles = ptx::load_constant(first + lane);
            first_tile = u64(tiles.word[1]) << 32 | tiles.word[0];
            n_tiles = tiles.word[2];
            window = tiles.word[3];
            piece = ptx::load_constant_32(&first[lane].piece);
        }
    }
};

// Hands every chunk of the block's runs to `take`: a run's for a tile of columns, then for the next, so that
// what neighbouring windows share of B is read again soon. Where runs are not for a worker of their own, the
// blocks of a column of the grid share its tiles of columns.
template <class C, class Take>
__device__ __forceinline__ void walk(const Params& p, u32 lane, const Take& take) {
    const Block block = p.blocks[blockIdx.x];
#pragma unroll 1
    for (u32 i = 0; i < block.n_runs; ++i) {
        const ptx::Vector16 run = ptx::load_constant(p.runs + block.first_run + i);
        const Columns columns(p, run.word[2], run.word[3]);
        Chunk chunk;
        chunk.column = columns.start + u64(blockIdx.y) * p.tile_columns;
#pragma unroll 1
        for (; chunk.column < columns.end; chunk.column += u64(gridDim.y) * p.tile_columns) {
            const u64 left = columns.end - chunk.column;
            chunk.width = left < p.tile_columns ? static_cast<u32>(left) : p.tile_columns;
#pragma unroll 1
            for (u32 first = 0; first < run.word[1]; first += kWarpSize) {
                chunk.load(p.segments + run.word[0] + first, run.word[1] - first, lane);
                take(chunk);
            }
        }
    }
}
