// What the consumer warpgroups of the WCSR kernel do: they multiply what is in the ring, and store.
#pragma once

#include "shared/pipeline.cuh"
#include "shared/types.cuh"
#include "sm90_wcsr_spmm/config.cuh"
#include "sm90_wcsr_spmm/params.cuh"
#include "sm90_wcsr_spmm/store.cuh"
#include "ptx/shared.cuh"
#include "ptx/wgmma.cuh"

// The fragments of a unit of one step of B, from its rows in shared memory.
template <class C>
__device__ __forceinline__ void load_fragments(u32 rows, u32 (&fragment)[C::kPerUnit][4]) {
    u32 raw[kLoads][Value::kBytes];
#pragma unroll
    for (u32 i = 0; i < kLoads; ++i) Value::load(rows + i * 4 * C::kPitch, raw[i]);
    Value::fragments(raw, fragment);
}

// Enqueues the products of a unit of one step.
template <class C>
__device__ __forceinline__ void multiply(u32 values, const u32 (&fragment)[C::kPerUnit][4],
                                         float (*sums)[kWindowRows / 2]) {
    // Core matrices of 8 rows of 16 bytes: two side by side along k, then the next 8 rows.
    const u64 of_values = ptx::descriptor(values, ptx::Swizzle::None, 256, 128);
    ptx::wgmma_fence();
#pragma unroll
    for (u32 tile = 0; tile < C::kPerUnit; ++tile) {
        ptx::Wgmma<kWindowRows>::template registers<Value::kElement, 0>(sums[tile], fragment[tile],
                                                                        of_values, 1);
    }
    ptx::wgmma_commit();
}

// How often the loop over steps that fill no stage is unrolled. In 16 bits, windows of 32 rows are 6 % faster with one, and
// those of 16 rows 4 % with four (`bench/records/windows-16-bit-h100.md`). Tiles of f32 that read single elements spill with one.
constexpr u32 kLeftAtOnce = Value::kBytes == 2 && kWindowRows > 16 ? 1 : 4;

// What a consumer warp does, in step with the three others of its warpgroup.
template <class C>
__device__ __forceinline__ void consume(const Params& p, const Part<C>& part,
                                        const Ring<C::kStages>& ring, u32 warp, u32 lane) {
    // Where in a row of a stage this thread's chunks are, and which columns.
    u32 chunk[C::kUnits];
    u64 column[C::kUnits];
#pragma unroll
    for (u32 unit = 0; unit < C::kUnits; ++unit) {
        const u32 at = (warp / 4 * C::kUnits + unit) * kUnitColumns + (warp % 4 * 8 + lane / 4) * kPerLoad;
        column[unit] = part.column + at;
        // Beyond the last column the first is read once more, so that no load needs a condition.
        const u32 byte = at * Value::kBytes;
        chunk[unit] = (byte < part.row_bytes ? byte : 0) + lane % 4 * C::kPitch;
    }
    float sums[C::kTiles][kWindowRows / 2];
    // Two sets take turns, so that one is loaded while the other is multiplied.
    u32 fragment[2][C::kPerUnit][4];
    Place<C::kStages> place;

    for (u32 segment = 0; segment < part.n_segments; ++segment) {
        const u32 n_steps = __shfl_sync(kWholeWarp, part.n_steps, segment);
        const u32 window = __shfl_sync(kWholeWarp, part.window, segment);
        const u32 piece = __shfl_sync(kWholeWarp, part.piece, segment);
        // Each lane's rows of the window, long before they are needed.
        u32 row_of[(kWindowRows + 31) / 32];
#pragma unroll
        for (u32 i = 0; i < (kWindowRows + 31) / 32; ++i) {
            const u64 slot = u64(window) * kWindowRows + i * 32 + lane;
            row_of[i] = i * 32 + lane < kWindowRows ? row_of_slot(p, slot) : kNoRow;
        }
#pragma unroll
        for (u32 tile = 0; tile < C::kTiles; ++tile) {
#pragma unroll
            for (u32 i = 0; i < kWindowRows / 2; ++i) sums[tile][i] = 0.0f;
        }
        u32 left = n_steps;
        Place<C::kStages> read = place;
        for (; left >= C::kSteps; left -= C::kSteps) {
            ring.wait_full(place);
#pragma unroll 1
            for (u32 k = 0; k < C::kSteps; k += 2) {
#pragma unroll
                for (u32 turn = 0; turn < 2 * C::kUnits; ++turn) {
                    const u32 step = k + turn / C::kUnits;
                    const u32 unit = turn % C::kUnits;
                    load_fragments<C>(part.rows(place.stage) + step * kStep * C::kPitch + chunk[unit],
                                      fragment[turn % 2]);
                    multiply<C>(part.values(place.stage) + step * kStepBytes, fragment[turn % 2],
                                sums + unit * C::kPerUnit);
                    // The turn before is done: its fragments are free, and so is a stage it ended.
                    ptx::wgmma_wait<1>();
                    if (turn == 0 && k == 0 && left != n_steps) ring.release(read);
                }
            }
            read = place;
            place.next();
        }
        ptx::wgmma_wait<0>();
        if (left != n_steps) ring.release(read);
        if (left > 0) {
            ring.wait_full(place);
#pragma unroll kLeftAtOnce
            for (u32 k = 0; k < left; ++k) {
#pragma unroll
                for (u32 unit = 0; unit < C::kUnits; ++unit) {
                    load_fragments<C>(part.rows(place.stage) + k * kStep * C::kPitch + chunk[unit],
                                      fragment[unit % 2]);
                    multiply<C>(part.values(place.stage) + k * kStepBytes, fragment[unit % 2],
                                sums + unit * C::kPerUnit);
                    ptx::wgmma_wait<0>();
                }
            }
            ring.release(place);
            place.next();
        }

        const bool keeps = piece != kWhole && !p.atomic;
        const Store store = keeps ? Store{p.partial_stride, 1, 1.0f, 0.0f, true, false}
                                  : Store{p.n,    p.c_col_stride,      p.alpha,
                                          p.beta, p.c_in_vectors != 0, piece != kWhole};
        const Finish finish = {p.epilogue, piece == kWhole};
        // A thread has rows lane % 4 * 2 and the next of every 8.
#pragma unroll
        for (u32 i = 0; i < kWindowRows / 4; ++i) {
            const u32 of_window = i / 2 * 8 + lane % 4 * 2 + i % 2;
            const u32 row = __shfl_sync(kWholeWarp, row_of[i / 8], of_window % 32);
            void* const begin = row_begin(
                keeps, p.partials + (u64(piece) * kWindowRows + of_window) * p.partial_stride,
                p.c + row * p.c_row_stride);
            if (keeps || row != kNoRow) {
#pragma unroll
                for (u32 pair = 0; pair < C::kTiles / 2; ++pair) {
                    const float(&s0)[kWindowRows / 2] = sums[2 * pair];
                    const float(&s1)[kWindowRows / 2] = sums[2 * pair + 1];
                    const u32 at = i / 2 * 4 + i % 2;
                    store(finish, begin, row,
                          column[pair / (C::kPerUnit / 2)] + pair % (C::kPerUnit / 2) * 4, s0[at],
                          s0[at + 2], s1[at], s1[at + 2]);
                }
            }
        }
    }
}
