// What a block of the WCSR kernel is made of, and the part of the product that it computes. VALUE names
// the value type.
#pragma once

#include "shared/pipeline.cuh"
#include "shared/types.cuh"
#include "sm90_wcsr_spmm/params.cuh"
#include "ptx/convert.cuh"
#include "ptx/memory.cuh"
#include "ptx/shared.cuh"
#include "ptx/wgmma.cuh"

// What a value type does to its operands. A thread reads four neighbouring columns of a row of B: two for each tile of
// 64, as its rows lane / 4 and lane / 4 + 8. So of C it has four neighbouring columns too, and lanes that store side by
// side fill whole sectors. The rows of B that it reads are lane % 4 + 4 * i of a step; which of k's places in the
// fragment they are, the packing of values knows.
struct Tf32 {
    static constexpr ptx::Element kElement = ptx::Element::Tf32;
    static constexpr u32 kBytes = 4;

    static __device__ __forceinline__ void load(u32 from, u32 (&raw)[4]) {
        ptx::load_shared_128(from, raw);
    }
    static __device__ __forceinline__ void fragments(const u32 (&raw)[2][4], u32 (*fragment)[4]) {
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            fragment[i / 2][i % 2] = ptx::round_tf32(raw[0][i]);
            fragment[i / 2][i % 2 + 2] = ptx::round_tf32(raw[1][i]);
        }
    }
};

// Elements of two rows stand side by side in a register.
template <ptx::Element ELEMENT>
struct Half {
    static constexpr ptx::Element kElement = ELEMENT;
    static constexpr u32 kBytes = 2;

    static __device__ __forceinline__ void load(u32 from, u32 (&raw)[2]) {
        ptx::load_shared_64(from, raw);
    }
    static __device__ __forceinline__ void fragments(const u32 (&raw)[4][2], u32 (*fragment)[4]) {
#pragma unroll
        for (u32 i = 0; i < 2; ++i) {
#pragma unroll
            for (u32 upper = 0; upper < 2; ++upper) {
                const u32 selector = upper ? 0x7632 : 0x5410;
                fragment[i][upper] = ptx::permute_bytes(raw[0][i], raw[1][i], selector);
                fragment[i][upper + 2] = ptx::permute_bytes(raw[2][i], raw[3][i], selector);
            }
        }
    }
};
using F16 = Half<ptx::Element::F16>;
using Bf16 = Half<ptx::Element::Bf16>;

using Value = VALUE;
// Packed columns of a step, and the rows of B among them that one thread reads.
constexpr u32 kStep = ptx::kDepth<Value::kElement>;
constexpr u32 kLoads = kStep / 4;
// Columns of B, and of C, that a thread loads together, and those of a unit: of four warps with 8 such loads each.
constexpr u32 kPerLoad = 4;
constexpr u32 kUnitColumns = 4 * 8 * kPerLoad;
constexpr u32 kUnitBytes = kUnitColumns * Value::kBytes;

// How rows of B come to shared memory: each by one bulk copy, by 16 bytes of each lane, or element by element, whatever
// the strides.
enum class Gather { kRows, kVectors, kElements };

// UNITS of 128 columns of B for each of WARPGROUPS consumers, STAGES stages of STEPS steps, CTAS blocks to a
// multiprocessor.
template <Gather GATHER, u32 WARPGROUPS, u32 UNITS, u32 STEPS, u32 STAGES, u32 CTAS>
struct Config {
    static constexpr Gather kGather = GATHER;
    static constexpr u32 kWarpgroups = WARPGROUPS;
    static constexpr u32 kUnits = UNITS;
    static constexpr u32 kSteps = STEPS;
    static constexpr u32 kStages = STAGES;
    static constexpr u32 kCtas = CTAS;
    static constexpr u32 kConsumerWarps = WARPGROUPS * 4;
    static constexpr u32 kProducerWarps = 4;
    static constexpr u32 kThreads = (kConsumerWarps + kProducerWarps) * kWarpSize;
    // Registers of a thread when the kernel begins, and what producers and consumers have then.
    static constexpr u32 kRegisters = 65536 / (kThreads * kCtas) / 8 * 8;
    static constexpr u32 kProducerRegisters = 40;
    static constexpr u32 kSpare = (kRegisters - kProducerRegisters) / WARPGROUPS / 8 * 8;
    static constexpr u32 kConsumerRegisters = kRegisters + kSpare < 240 ? kRegisters + kSpare : 240;
    // Rows of B in a stage, and of each producer warp's.
    static constexpr u32 kRows = STEPS * kStep;
    static constexpr u32 kRowsOfWarp = kRows / kProducerWarps;
    static constexpr u32 kRowBytes = WARPGROUPS * UNITS * kUnitBytes;
    static constexpr u32 kColumns = kRowBytes / Value::kBytes;
    // Lanes of a load take 32 or 64 bytes of each of 4 rows: with this pitch, all banks.
    static constexpr u32 kPitch = kRowBytes + 32;
    static constexpr u32 kValuesBytes = STEPS * kStepBytes;
    static constexpr u32 kStageBytes = kValuesBytes + kRows * kPitch;
    static constexpr u32 kShared = STAGES * kStageBytes + Ring<STAGES>::kBytes;
    // Tiles of 64 columns of a consumer, and of a unit.
    static constexpr u32 kPerUnit = kPerLoad / 2;
    static constexpr u32 kTiles = UNITS * kPerUnit;
    // Stages whose packed columns a warp loads at once, one in each lane.
    static constexpr u32 kAhead = kWarpSize / kRowsOfWarp;
    static_assert(kRows % kProducerWarps == 0 && kWarpSize % kRowsOfWarp == 0 && kAhead > 1,
                  "lanes hold the rows of whole stages");
    static_assert(STEPS % 2 == 0, "two sets of fragments take turns");
};

// The block's task and its tile of columns. Where elements are collected one by one, so are tiles: no registers are left
// to keep a tile that can't be read again.
template <class C>
__device__ __forceinline__ u32 task_of(const Params& p) {
    return C::kGather != Gather::kElements ? task_of_block(p) : blockIdx.x;
}
template <class C>
__device__ __forceinline__ u32 tile_of(const Params& p) {
    return C::kGather != Gather::kElements ? tile_of_block(p) : blockIdx.y;
}

// What of the product a block computes.
template <class C>
struct Part {
    // Of the task's segments, each lane holds one.
    u32 n_steps = 0;
    u32 window = 0;
    u32 piece = 0;
    u32 n_segments;
    u64 first_step;
    // The first of its columns, and the bytes of a row of B from there on that it needs, whole chunks.
    u64 column;
    u32 row_bytes;
    // Shared memory of the stages.
    u32 stages;

    __device__ __forceinline__ Part(const Params& p, u32 shared, u32 lane) : stages(shared) {
        const ptx::Vector16 task = ptx::load_constant(p.tasks + task_of<C>(p));
        first_step = u64(task.word[1]) << 32 | task.word[0];
        n_segments = task.word[3];
        if (lane < n_segments) {
            const ptx::Vector16 segment = ptx::load_constant(p.segments + task.word[2] + lane);
            n_steps = segment.word[0];
            window = segment.word[1];
            piece = segment.word[2];
        }
        column = u64(tile_of<C>(p)) * C::kColumns;
        const u32 width = p.n - column < C::kColumns ? p.n - column : C::kColumns;
        row_bytes = (width * Value::kBytes + 15) / 16 * 16;
    }
    __device__ __forceinline__ u32 values(u32 stage) const { return stages + stage * C::kStageBytes; }
    __device__ __forceinline__ u32 rows(u32 stage) const { return values(stage) + C::kValuesBytes; }
};
