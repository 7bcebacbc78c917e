// What the consumer warps of the BMat kernel do: they multiply what is in the ring, and store.
#pragma once

#include "shared/pipeline.cuh"
#include "shared/types.cuh"
#include "sm90_bmat_spmm/config.cuh"
#include "sm90_bmat_spmm/decode.cuh"
#include "sm90_bmat_spmm/exact.cuh"
#include "sm90_bmat_spmm/params.cuh"
#include "sm90_bmat_spmm/store.cuh"
#include "sm90_bmat_spmm/walk.cuh"
#include "ptx/shared.cuh"

// The sums of a unit: of each of its mma.
using Sums = float[kPerUnit][4];

// Where a lane is. Column c of mma 4 * l + i of a unit stands for its column 4 * (c / 2 + 4 * (c % 2 * kLoads + l)) + i:
// so lanes read B without bank conflicts, and those that store C side by side fill whole sectors.
struct Lane {
    u32 number;
    u32 row;
    u32 quarter;

    __device__ __forceinline__ explicit Lane(u32 lane)
        : number(lane), row(lane / 4), quarter(lane % 4) {}

    // The first column of a unit that it reads of B by a load.
    __device__ __forceinline__ u32 loaded(u32 load) const {
        return (row / 2 + 4 * (row % 2 * Value::kLoads + load)) * kPerLoad;
    }
    // The column of a unit that it has of C by an mma, of registers with these odd numbers or even ones.
    __device__ __forceinline__ u32 column(u32 odd, u32 mma) const {
        return (quarter + 4 * (odd * Value::kLoads + mma / kPerLoad)) * kPerLoad + mma % kPerLoad;
    }
};

// Adds the products of a tile of the stage, whose rows of B begin at `rows`, in the `n_units` of this warp
// that there are columns for.
template <class C>
__device__ __forceinline__ void multiply(u32 header, u32 values, u32 rows, const LaneBits& bits,
                                         const u32 (&at)[C::kUnits][Value::kLoads], u32 n_units,
                                         Sums (&sums)[C::kUnits]) {
    u32 a[Value::kRegistersOfA];
    decode(header, values, bits, a);
#pragma unroll
    for (u32 unit = 0; unit < C::kUnits; ++unit) {
        if (unit < n_units) {
            u32 raw[2][4];
            Value::load_columns(at[unit], rows, raw[0]);
            Value::load_columns(at[unit], rows + 4 * C::kPitch, raw[1]);
#pragma unroll
            for (u32 i = 0; i < kPerUnit; ++i) Value::multiply(sums[unit][i], a, raw, i);
        }
    }
}

// Whether any sum of the warp is NaN or Inf.
template <u32 kUnits>
__device__ __forceinline__ bool any_non_finite(const Sums (&sums)[kUnits]) {
    float zero[4] = {};
#pragma unroll
    for (u32 unit = 0; unit < kUnits; ++unit) {
#pragma unroll
        for (u32 i = 0; i < kPerUnit; ++i) {
#pragma unroll
            for (u32 j = 0; j < 4; ++j) zero[j] = __fmaf_rn(sums[unit][i][j], 0.0f, zero[j]);
        }
    }
    const float all = zero[0] + zero[1] + (zero[2] + zero[3]);
    return __any_sync(kWholeWarp, !(all == 0.0f));
}

// Which of a unit's sums in one row of a lane are NaN or Inf: a bit for each of its mma.
__device__ __forceinline__ u32 non_finite(const Sums& sums, u32 of_mma) {
    u32 found = 0;
#pragma unroll
    for (u32 i = 0; i < kPerUnit; ++i) {
        if (!(__fmaf_rn(sums[i][of_mma], 0.0f, 0.0f) == 0.0f)) found |= 1u << i;
    }
    return found;
}

// Stores a unit's sums in one row of a lane, without those of `except`.
__device__ __forceinline__ void store_row(const Store& store, void* begin, u32 row, u32 first,
                                          const Lane& lane, const Sums& sums, u32 of_mma, u32 except) {
#pragma unroll
    for (u32 i = 0; i < kPerUnit; i += kPerLoad) {
        const float4 four = {sums[i][of_mma], sums[i + 1][of_mma], sums[i + 2][of_mma],
                             sums[i + 3][of_mma]};
        store.four(begin, row, first + lane.column(of_mma % 2, i), four, except >> i & 0xf);
    }
}

// What a consumer warp does.
template <class C>
__device__ __forceinline__ void consume(const Params& p, const Ring<C::kStages>& ring, u32 stages,
                                        u32 warp, u32 of_warp) {
    static_assert(C::kUnits * kPerUnit * 4 <= 64, "a lane's sums are numbered by bits");
    const Lane lane(of_warp);
    const LaneBits bits(of_warp);
    Place<C::kStages> place;
    walk<C>(p, of_warp, [&](const Chunk& chunk) {
        // Units go to warps in turns, so that all have some where a tile of columns is narrow.
        u32 at[C::kUnits][Value::kLoads];
        u32 n_units = 0;
        const u32 row_bytes = chunk.row_bytes();
#pragma unroll
        for (u32 unit = 0; unit < C::kUnits; ++unit) {
            const u32 begin = (unit * C::kConsumerWarps + warp) * kUnitBytes;
#pragma unroll
            for (u32 load = 0; load < Value::kLoads; ++load) {
                const u32 of_row = begin + lane.loaded(load) * Value::kBytes;
                // Beyond the last column the first is read once more, so that no load needs a condition.
                at[unit][load] = (of_row < row_bytes ? of_row : 0) + lane.quarter * C::kPitch;
            }
            n_units += begin < row_bytes;
        }
#pragma unroll 1
        for (u32 segment = 0; segment < chunk.count; ++segment) {
            const u32 n_tiles = __shfl_sync(kWholeWarp, chunk.n_tiles, segment);
            const u32 window = __shfl_sync(kWholeWarp, chunk.window, segment);
            const u32 piece = __shfl_sync(kWholeWarp, chunk.piece, segment);
            // Two rows of C, long before they are needed.
            u32 row_of[2];
#pragma unroll
            for (u32 i = 0; i < 2; ++i) {
                row_of[i] = row_of_slot(p, u64(window) * kWindowRows + i * 8 + lane.row);
            }
            Sums sums[C::kUnits] = {};
#pragma unroll 1
            for (u32 left = n_tiles; left > 0;) {
                const u32 tiles = min(left, C::kTiles);
                const u32 headers = C::headers(stages, place.stage);
                const u32 rows = C::rows(stages, place.stage);
                ring.wait_full(place);
                // Where value number 0 would be, if the first of the stage is where it is.
                u32 values = 0;
                if constexpr (!kPattern) {
                    const u32 first = ptx::load_shared_32(headers + 16) / kPerChunk * kPerChunk;
                    values = C::values(stages, place.stage) - first * Value::kBytes;
                }
                if (tiles == C::kTiles) {
                    // Two at a time, so that one is decoded while the other is multiplied.
#pragma unroll 2
                    for (u32 i = 0; i < C::kTiles; ++i) {
                        multiply<C>(headers + i * sizeof(Header), values,
                                    rows + i * kTileCols * C::kPitch, bits, at, n_units, sums);
                    }
                } else {
#pragma unroll 1
                    for (u32 i = 0; i < tiles; ++i) {
                        multiply<C>(headers + i * sizeof(Header), values,
                                    rows + i * kTileCols * C::kPitch, bits, at, n_units, sums);
                    }
                }
                ring.release(place);
                place.next();
                left -= tiles;
            }

            // From here on columns count from the chunk's first.
            const bool keeps = piece != kWhole;
            const u64 stride = keeps ? 1 : p.c_col_stride;
            const bool is_last = piece == kWhole;
            const float alpha = keeps ? 1.0f : p.alpha;
            const float beta = keeps ? 0.0f : p.beta;
            const Store store = {chunk.width,         stride,  alpha,        beta,
                                 p.c_in_vectors != 0, is_last, chunk.column, p.epilogue};
            void* begin[2];
#pragma unroll
            for (u32 i = 0; i < 2; ++i) {
                const u64 part = u64(piece) * kWindowRows + i * 8 + lane.row;
                begin[i] = row_begin(
                    keeps, p.partials + part * p.partial_stride + (chunk.column - p.begin),
                    p.c + row_of[i] * p.c_row_stride + chunk.column * stride);
            }
            // Sums that are computed once more, a bit for each: numbered by unit, row, chunk and mma.
            u64 again = 0;
            const bool any = any_non_finite<C::kUnits>(sums);
#pragma unroll
            for (u32 j = 0; j < C::kUnits * 4; ++j) {
                const u32 unit = j / 4;
                const u32 i = j / 2 % 2;
                const u32 odd = j % 2;
                if (unit >= n_units || (!keeps && row_of[i] == kNoRow)) continue;
                const u32 first = (unit * C::kConsumerWarps + warp) * kUnitColumns;
                const u32 except = any ? non_finite(sums[unit], 2 * i + odd) : 0;
                again |= u64(except) << (j * kPerUnit);
                store_row(store, begin[i], row_of[i], first, lane, sums[unit], 2 * i + odd, except);
            }
            if (any) {
                const u64 first_tile = __shfl_sync(kWholeWarp, chunk.first_tile, segment);
#pragma unroll 1
                for (; again != 0; again &= again - 1) {
                    const u32 number = __ffsll(again) - 1;
                    const u32 j = number / kPerUnit;
                    const u32 i = j / 2 % 2;
                    const u32 column = (j / 4 * C::kConsumerWarps + warp) * kUnitColumns +
                                       lane.column(j % 2, number % kPerUnit);
                    if (column >= chunk.width) continue;
                    const float sum =
                        exact_sum(p, first_tile, n_tiles, i * 8 + lane.row, chunk.column + column);
                    store.one(i == 0 ? begin[0] : begin[1], i == 0 ? row_of[0] : row_of[1], column,
                              sum);
                }
            }
            __syncwarp();
        }
    });
}
