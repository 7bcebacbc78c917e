// What the macros of a configuration come to, and what the host passes.
#pragma once

#include "shared/outgoing.cuh"
#include "shared/output.cuh"
#include "shared/pipeline.cuh"
#include "shared/transposed.cuh"
#include "shared/types.cuh"
#include "sm90_bcsr_spmm/ablation.cuh"
#include "ptx/tensor.cuh"
#include "ptx/wgmma.cuh"

constexpr u32 kBlock = 64;
constexpr u32 kConsumers = ROWS * SPLIT;
constexpr u32 kConsumerThreads = kConsumers * kWarpgroupSize;
constexpr u32 kTile = SPLIT * COLUMNS;
constexpr u32 kFirstProducer = ALONE ? 0 : kConsumerThreads;
constexpr ptx::Element kElement = ptx::Element::VALUE;
constexpr bool kIsTransposed = kElement == ptx::Element::Tf32;

// Shared memory: the stages, which the swizzle wants on 1024 bytes, then the barriers, then which rows
// have a block in a stage. A stage holds as many values along k as a swizzled row of 128 bytes: those of
// the blocks of A, then those of B, in groups of as many columns, a row of a group on each row; or its
// columns, one on each row.
constexpr u32 kRowBytes = 128;
constexpr u32 kValueBytes = kIsTransposed ? 4 : 2;
constexpr u32 kPerRow = kRowBytes / kValueBytes;
// Stages of a step.
constexpr u32 kParts = kBlock / kPerRow;
constexpr u32 kGroupBytes = kPerRow * kRowBytes;
static_assert(COLUMNS % kPerRow == 0, "columns of B come in whole groups");
constexpr u32 kBlockBytes = kBlock * kRowBytes;
constexpr u32 kStageBytes = ROWS * kBlockBytes + kTile / kPerRow * kGroupBytes;
// Sums leave by where the stages were.
using Sums = Outgoing<kBlock, COLUMNS>;
constexpr u32 kSumsBytes = PERSISTENT ? 0 : kConsumers * Sums::kBytes;
constexpr u32 kRingBytes = STAGES * kStageBytes > kSumsBytes ? STAGES * kStageBytes : kSumsBytes;
using Stages = Ring<STAGES>;
constexpr u32 kMasksAt = kRingBytes + Stages::kBytes;
static_assert(kMasksAt + STAGES * 4 == SHARED, "the host grants other shared memory");
static_assert(!(ALONE || PERSISTENT || SHARES_A > 1) || (ROWS == 1 && kParts == 1),
              "ablations are of single block rows in 16 bits");

// Registers of a thread: as launched, and as producers of PRODUCERS threads and consumers share them out.
template <u32 THREADS, u32 PER_SM>
constexpr u32 kLaunchRegisters = 65536 / (PER_SM * (kConsumerThreads + THREADS)) / 8 * 8;
template <u32 LAUNCHED, u32 PRODUCER>
constexpr u32 kShare = LAUNCHED + (LAUNCHED - PRODUCER) / kConsumers / 8 * 8;
template <u32 LAUNCHED, u32 PRODUCER>
constexpr u32 kConsumerRegisters =
    kShare<LAUNCHED, PRODUCER> < 240 ? kShare<LAUNCHED, PRODUCER> : 240;

// A block column, and the block that each row of the group has there.
struct Step {
    u32 block_col;
    u32 blocks[ROWS];
};
constexpr u32 kNoBlock = 0xffffffffu;

#include "sm90_bcsr_spmm/passed.cuh"

// How B is read.
enum class Source { Rows, Columns, Elements };

// Whether every lane of a consumer gives a stage back, where others store there; else one for its warp.
template <Source SOURCE>
constexpr bool kLanesRelease = SOURCE == Source::Elements || ALL_ARRIVE;

// Shared addresses of a stage.
__device__ __forceinline__ u32 block_at(u32 shared, u32 stage, u32 row) {
    return shared + stage * kStageBytes + row * kBlockBytes;
}
__device__ __forceinline__ u32 tile_at(u32 shared, u32 stage) {
    return shared + stage * kStageBytes + ROWS * kBlockBytes;
}
