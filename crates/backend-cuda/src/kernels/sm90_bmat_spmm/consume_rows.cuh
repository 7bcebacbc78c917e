// What the consumer warps of the BMat kernel do in f32 without rounding: they walk the entries of their rows,
// and store.
//
// A team of lanes takes kRows rows of a window, each lane kVectors chunks of four columns of them. For each
// entry a lane reads the value and the chunks of its row of B where the producers put them, and adds their
// products by fused multiply-adds. So an element of C, or of a part that is kept, is the sum over a row's
// entries in the order of their packed columns, without any rounding but that of f32. Rows of B are read for
// entries alone: NaN and Inf reach no other row of C.
#pragma once

#include "shared/pipeline.cuh"
#include "shared/types.cuh"
#include "sm90_bmat_spmm/config.cuh"
#include "sm90_bmat_spmm/params.cuh"
#include "sm90_bmat_spmm/store.cuh"
#include "sm90_bmat_spmm/walk.cuh"
#include "ptx/shared.cuh"

// How rows of a window are shared out.
template <class C>
struct Rows {
    // Lanes of a team, each of which has a chunk of 16 bytes of every kLanes chunks of a row.
    static constexpr u32 kChunks = C::kRowBytes / 16;
    static constexpr u32 kLanes = kChunks < kWarpSize ? kChunks : kWarpSize;
    static constexpr u32 kVectors = kChunks / kLanes;
    // Rows of a team, neighbours in one half of the window.
    static constexpr u32 kRows = kWindowRows / (C::kConsumerWarps * (kWarpSize / kLanes));
    static_assert(kChunks % kLanes == 0, "lanes have whole chunks");
    static_assert(kRows <= 4 && 8 % kRows == 0, "the rows of a team have bits in one half's words");
    static_assert(kRows * C::kConsumerWarps * (kWarpSize / kLanes) == kWindowRows, "teams take all rows");

    using Sums = float[kRows][kVectors][4];
};

// Where a lane is.
template <class C>
struct Team {
    // The first of its rows, of those of a window.
    u32 first_row;
    u32 lane;

    __device__ __forceinline__ Team(u32 warp, u32 of_warp)
        : first_row((warp * (kWarpSize / Rows<C>::kLanes) + of_warp / Rows<C>::kLanes) *
                    Rows<C>::kRows),
          lane(of_warp % Rows<C>::kLanes) {}

    // The number of the first mask word that has bits of its rows; the other one is two further.
    __device__ __forceinline__ u32 word() const { return first_row / 8; }
    // Bits of a word before those of its rows.
    __device__ __forceinline__ u32 first_bit() const { return first_row % 8 * 4; }
    // The first column of a chunk of its.
    __device__ __forceinline__ u32 column(u32 vector) const {
        return (vector * Rows<C>::kLanes + lane) * 4;
    }
};

// Adds the products of a row's entries in four neighbouring columns of a tile, those of `bits`. The rows of B
// of these columns begin at `rows` for the lane, the values at `value`, which is left where those of the next
// row begin. Of its chunks the lane has `n_vectors` that there are columns for.
template <class C>
__device__ __forceinline__ void multiply_entries(u32 bits, u32 rows, u32 n_vectors, u32& value,
                                                 float (&sum)[Rows<C>::kVectors][4]) {
#pragma unroll 1
    for (; bits != 0; bits &= bits - 1) {
        const u32 row = rows + (__ffs(bits) - 1) * C::kPitch;
        u32 b[Rows<C>::kVectors][4];
#pragma unroll
        for (u32 v = 0; v < Rows<C>::kVectors; ++v) {
            if (v < n_vectors) ptx::load_shared_128(row + v * Rows<C>::kLanes * 16, b[v]);
        }
        float a = 1.0f;
        if constexpr (!kPattern) {
            a = __uint_as_float(Value::load_shared(value));
            value += Value::kBytes;
        }
#pragma unroll
        for (u32 v = 0; v < Rows<C>::kVectors; ++v) {
            if (v < n_vectors) {
#pragma unroll
                for (u32 i = 0; i < 4; ++i) {
                    sum[v][i] = __fmaf_rn(a, __uint_as_float(b[v][i]), sum[v][i]);
                }
            }
        }
    }
}

// Adds the products of a tile whose header is at `header` and whose chunks of B begin at `rows`. Its value
// number v is at `values` + v * kBytes, by 32 bits, as in decode.cuh.
template <class C>
__device__ __forceinline__ void multiply_tile(const Team<C>& team, u32 header, u32 values, u32 rows,
                                              u32 n_vectors, typename Rows<C>::Sums& sums) {
    // Columns 0 to 3, and 4 to 7.
    const u32 left = ptx::load_shared_32(header + team.word() * 4);
    const u32 right = ptx::load_shared_32(header + (team.word() + 2) * 4);
    constexpr u32 kOfTeam = (1u << 4 * Rows<C>::kRows) - 1;
    if (((left | right) >> team.first_bit() & kOfTeam) == 0) return;
    u32 left_value = 0;
    u32 right_value = 0;
    if constexpr (!kPattern) {
        u32 place[2];
        ptx::load_shared_64(header + 16, place);
        const u32 before = place[1] << 8;
        const u32 below = (1u << team.first_bit()) - 1;
        const u32 left_before = (before >> 8 * team.word() & 0xff) + __popc(left & below);
        const u32 right_before = (before >> 8 * (team.word() + 2) & 0xff) + __popc(right & below);
        left_value = values + (place[0] + left_before) * Value::kBytes;
        right_value = values + (place[0] + right_before) * Value::kBytes;
    }
#pragma unroll
    for (u32 r = 0; r < Rows<C>::kRows; ++r) {
        const u32 bit = team.first_bit() + 4 * r;
        multiply_entries<C>(left >> bit & 0xf, rows, n_vectors, left_value, sums[r]);
        multiply_entries<C>(right >> bit & 0xf, rows + 4 * C::kPitch, n_vectors, right_value, sums[r]);
    }
}

// Stores a team's sums: rows of C, or of a part that is kept.
template <class C>
__device__ __forceinline__ void store_rows(const Params& p, const Chunk& chunk, const Team<C>& team,
                                           u32 piece, const u32 (&row_of)[Rows<C>::kRows],
                                           const typename Rows<C>::Sums& sums) {
    // Columns count from the chunk's first.
    const bool keeps = piece != kWhole;
    const u64 stride = keeps ? 1 : p.c_col_stride;
    const bool is_last = piece == kWhole;
    const float alpha = keeps ? 1.0f : p.alpha;
    const float beta = keeps ? 0.0f : p.beta;
    const Store store = {chunk.width,         stride,  alpha,        beta,
                         p.c_in_vectors != 0, is_last, chunk.column, p.epilogue};
#pragma unroll
    for (u32 r = 0; r < Rows<C>::kRows; ++r) {
        if (!keeps && row_of[r] == kNoRow) continue;
        const u64 part = u64(piece) * kWindowRows + team.first_row + r;
        void* const begin =
            row_begin(keeps, p.partials + part * p.partial_stride + (chunk.column - p.begin),
                      p.c + row_of[r] * p.c_row_stride + chunk.column * stride);
#pragma unroll
        for (u32 v = 0; v < Rows<C>::kVectors; ++v) {
            const float (&sum)[4] = sums[r][v];
            store.four(begin, row_of[r], team.column(v), {sum[0], sum[1], sum[2], sum[3]}, 0);
        }
    }
}

// What a consumer warp does.
template <class C>
__device__ __forceinline__ void consume(const Params& p, const Ring<C::kStages>& ring, u32 stages,
                                        u32 warp, u32 of_warp) {
    const Team<C> team(warp, of_warp);
    Place<C::kStages> place;
    walk<C>(p, of_warp, [&](const Chunk& chunk) {
        u32 n_vectors = 0;
#pragma unroll
        for (u32 v = 0; v < Rows<C>::kVectors; ++v) n_vectors += team.column(v) < chunk.width;
#pragma unroll 1
        for (u32 segment = 0; segment < chunk.count; ++segment) {
            const u32 n_tiles = __shfl_sync(kWholeWarp, chunk.n_tiles, segment);
            const u32 window = __shfl_sync(kWholeWarp, chunk.window, segment);
            const u32 piece = __shfl_sync(kWholeWarp, chunk.piece, segment);
            // Rows of C, long before they are needed.
            u32 row_of[Rows<C>::kRows];
#pragma unroll
            for (u32 r = 0; r < Rows<C>::kRows; ++r) {
                row_of[r] = row_of_slot(p, u64(window) * kWindowRows + team.first_row + r);
            }
            typename Rows<C>::Sums sums = {};
#pragma unroll 1
            for (u32 left = n_tiles; left > 0;) {
                const u32 tiles = min(left, C::kTiles);
                const u32 headers = C::headers(stages, place.stage);
                const u32 rows = C::rows(stages, place.stage) + team.lane * 16;
                ring.wait_full(place);
                // Where value number 0 would be, if the first of the stage is where it is.
                u32 values = 0;
                if constexpr (!kPattern) {
                    const u32 first = ptx::load_shared_32(headers + 16) / kPerChunk * kPerChunk;
                    values = C::values(stages, place.stage) - first * Value::kBytes;
                }
#pragma unroll 1
                for (u32 i = 0; i < tiles; ++i) {
                    multiply_tile<C>(team, headers + i * sizeof(Header), values,
                                     rows + i * kTileCols * C::kPitch, n_vectors, sums);
                }
                ring.release(place);
                place.next();
                left -= tiles;
            }
            store_rows<C>(p, chunk, team, piece, row_of, sums);
            __syncwarp();
        }
    });
}
