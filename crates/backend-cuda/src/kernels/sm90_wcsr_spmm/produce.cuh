// What the producer warps of the WCSR kernel do: they fill the ring with values and with rows of B.
#pragma once

#include "shared/gather.cuh"
#include "shared/pipeline.cuh"
#include "shared/types.cuh"
#include "sm90_wcsr_spmm/config.cuh"
#include "sm90_wcsr_spmm/params.cuh"
#include "ptx/bulk.cuh"
#include "ptx/memory.cuh"
#include "ptx/shared.cuh"

// A place in the task, in steps, from which a warp loads packed columns for kAhead stages at once.
struct Cursor {
    u64 first_step;
    u32 segment;
    // Steps of the segment from here on.
    u32 left;

    // Goes on to a segment that has steps, if this one has none left.
    template <class C>
    __device__ __forceinline__ void settle(const Part<C>& part) {
        while (left == 0 && ++segment < part.n_segments) {
            left = __shfl_sync(kWholeWarp, part.n_steps, segment);
        }
    }
    // Steps of the next kAhead stages.
    template <class C>
    __device__ __forceinline__ u32 steps() const {
        return min(left, C::kAhead * C::kSteps);
    }
};

// The packed columns of a warp's rows in kAhead stages, side by side; kPadCol beyond them.
template <class C>
__device__ __forceinline__ u32 load_columns(const Params& p, const Cursor& at, u32 warp, u32 lane) {
    const u32 row = lane / C::kRowsOfWarp * C::kRows + warp * C::kRowsOfWarp + lane % C::kRowsOfWarp;
    return row < at.left * kStep ? ptx::load_constant_32(p.col_idx + at.first_step * kStep + row)
                                 : kPadCol;
}

// Copies a warp's rows of B to a stage, to `rows` and behind. Each lane has the packed column of a row. A row is one bulk
// copy, which counts towards `full`; padding is left out.
template <class C>
__device__ __forceinline__ void gather_rows(const Params& p, const Part<C>& part, u32 full, u32 rows,
                                            u32 col, u32 lane) {
    if (col != kPadCol) {
        ptx::bulk_load(rows + lane * C::kPitch,
                       p.b + (col * p.b_row_stride + part.column) * Value::kBytes, part.row_bytes, full);
    }
}

// Copies `n_rows` rows element by element, whatever the strides.
template <class C>
__device__ __forceinline__ void gather_elements(const Params& p, const Part<C>& part, u32 rows,
                                                u32 n_rows, u32 col, u32 lane) {
    constexpr u32 kSize = Value::kBytes;
    constexpr u64 kNowhere = ~u64(0);
    // A few rows at a time, so that the registers of a producer suffice.
    constexpr u32 kAtOnce = 4;
#pragma unroll 1
    for (u32 first = 0; first < n_rows; first += kAtOnce) {
        u64 from[kAtOnce];
#pragma unroll
        for (u32 i = 0; i < kAtOnce; ++i) {
            const u32 of_row = __shfl_sync(kWholeWarp, col, first + i);
            from[i] = of_row == kPadCol ? kNowhere : of_row * p.b_row_stride;
        }
        // Whole chunks are read of what is stored here: those beyond the last column are zero.
#pragma unroll 1
        for (u32 at = lane; at * kSize < part.row_bytes; at += kWarpSize) {
            const u64 column = part.column + at;
            const u64 offset = column * p.b_col_stride;
            u32 got[kAtOnce] = {};
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                if (column < p.n && from[i] != kNowhere) {
                    const char* element = p.b + (from[i] + offset) * kSize;
                    got[i] = kSize == 4 ? ptx::load_constant_32(element)
                                        : ptx::load_constant_16(element);
                }
            }
            const u32 to = rows + first * C::kPitch + at * kSize;
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                if constexpr (kSize == 4) {
                    ptx::store_shared_32(to + i * C::kPitch, got[i]);
                } else {
                    ptx::store_shared_16(to + i * C::kPitch, static_cast<u16>(got[i]));
                }
            }
        }
    }
    // Lanes that went on by themselves would take more registers than a producer has.
    __syncwarp();
}

// Fills a warp's share of a stage of `steps` steps, once it is empty.
template <class C>
__device__ __forceinline__ void fill(const Params& p, const Part<C>& part,
                                     const Ring<C::kStages>& ring, const Place<C::kStages>& place,
                                     u64 first_step, u32 steps, u32 col, u32 warp, u32 lane) {
    const u32 before = warp * C::kRowsOfWarp;
    const u32 n_rows = steps * kStep > before ? min(steps * kStep - before, C::kRowsOfWarp) : 0;
    const u32 rows = part.rows(place.stage) + before * C::kPitch;
    const u32 full = ring.full(place);
    u32 bytes = warp == 0 ? steps * kStepBytes : 0;
    ring.wait_empty(place);
    if constexpr (C::kGather == Gather::kRows) {
        const u32 present = __ballot_sync(kWholeWarp, col != kPadCol);
        clear_rows<C>(rows, ((1u << n_rows) - 1) & ~present, part.row_bytes, lane);
        bytes += __popc(present) * part.row_bytes;
    } else if constexpr (C::kGather == Gather::kElements) {
        gather_elements(p, part, rows, n_rows, col, lane);
    }
    const auto load_values = [&] {
        ptx::bulk_load(part.values(place.stage), p.values + first_step * kStepBytes, steps * kStepBytes,
                       full);
    };
    if constexpr (C::kGather == Gather::kVectors) {
        // Each lane arrives once its vectors are there, so only the values are expected in bytes.
        if (warp == 0 && lane == 0) {
            ring.expect_more(place, bytes);
            load_values();
        }
        __syncwarp();
        const char* first = p.b + part.column * Value::kBytes;
        gather_vectors<C>(first, p.b_row_stride * Value::kBytes, part.row_bytes, rows, n_rows, col, lane);
        ring.fill_with_copies(place);
        return;
    }
    if (lane == 0) {
        ring.expect(place, bytes);
        if (warp == 0) load_values();
    } else {
        ring.fill(place);
    }
    if constexpr (C::kGather == Gather::kRows) {
        __syncwarp();
        gather_rows(p, part, full, rows, col, lane);
    }
}

// What a producer warp does: its rows of every stage, and warp 0 also the values.
template <class C>
__device__ __forceinline__ void produce(const Params& p, const Part<C>& part,
                                        const Ring<C::kStages>& ring, u32 warp, u32 lane) {
    Place<C::kStages> place;
    Cursor at = {part.first_step, ~0u, 0};
    at.settle(part);
    u32 ahead = load_columns<C>(p, at, warp, lane);
    while (at.segment < part.n_segments) {
        const u32 cols = ahead;
        u64 first_step = at.first_step;
        u32 left = at.steps<C>();
        at.first_step += left;
        at.left -= left;
        at.settle(part);
        // The next stages' columns are on their way while these are filled.
        ahead = load_columns<C>(p, at, warp, lane);
        for (u32 i = 0; left > 0; ++i) {
            const u32 steps = min(left, C::kSteps);
            const u32 of_row = __shfl_sync(kWholeWarp, cols, i * C::kRowsOfWarp + lane % C::kRowsOfWarp);
            const u32 col = lane < C::kRowsOfWarp ? of_row : kPadCol;
            fill(p, part, ring, place, first_step, steps, col, warp, lane);
            first_step += steps;
            left -= steps;
            place.next();
        }
    }
}
