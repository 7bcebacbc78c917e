// What the macros of a configuration come to, and what the host passes.
#pragma once

#include "shared/elements.cuh"
#include "shared/outgoing.cuh"
#include "shared/output.cuh"
#include "shared/pipeline.cuh"
#include "shared/transposed.cuh"
#include "shared/types.cuh"
#include "ptx/tensor.cuh"
#include "ptx/wgmma.cuh"

constexpr u32 kBlock = 64;
constexpr u32 kConsumerThreads = CONSUMERS * kWarpgroupSize;
constexpr u32 kConsumerWarps = kConsumerThreads / kWarpSize;
constexpr u32 kThreads = kConsumerThreads + kWarpgroupSize;
constexpr ptx::Element kElement = ptx::Element::VALUE;
constexpr bool kIsTransposed = kElement == ptx::Element::Tf32;

// A consumer has all columns of 64 rows or, of TF32, all rows of 128 columns.
using Tf32 = TransposedProduct<ROWS>;
static_assert(ROWS % kBlock == 0, "a tile has whole block rows");
static_assert(kIsTransposed ? COLUMNS == CONSUMERS * Tf32::kColumns : ROWS == CONSUMERS * kBlock,
              "the consumers don't make up the tile");
constexpr u32 kSums = kIsTransposed ? Tf32::kTiles * Tf32::kSums : COLUMNS / 2;

// Shared memory: the stages, which the swizzle wants on 1024 bytes, then what is on its way out, then the
// barriers. A stage holds as many values along k as a swizzled row of 128 bytes: those of the blocks of A,
// then those of B, in groups of as many columns, a row of a group on each row; or its columns, one on each
// row.
constexpr u32 kRowBytes = 128;
constexpr u32 kValueBytes = kIsTransposed ? 4 : 2;
constexpr u32 kPerRow = kRowBytes / kValueBytes;
// Stages of a block.
constexpr u32 kParts = kBlock / kPerRow;
constexpr u32 kBlockBytes = kBlock * kRowBytes;
constexpr u32 kGroups = COLUMNS / kPerRow;
constexpr u32 kGroupBytes = kPerRow * kRowBytes;
static_assert(kGroups % CLUSTER == 0, "CTAs of a cluster copy as many groups of columns");
constexpr u32 kBytesOfA = ROWS * kRowBytes;
constexpr u32 kBytesOfB = kGroups * kGroupBytes;
constexpr u32 kStageBytes = kBytesOfA + kBytesOfB;
constexpr u32 kRingBytes = STAGES * kStageBytes;

// C leaves in patches of 16 rows and 32 columns, each warp's own, two under way.
constexpr u32 kPatchRows = 16;
constexpr u32 kPatchColumns = 32;
using Patch = Outgoing<kPatchRows, kPatchColumns>;
constexpr u32 kPatches = (kIsTransposed ? ROWS / kPatchRows : COLUMNS / kPatchColumns);
static_assert(kPatches % 2 == 0, "tiles begin with the first of two patches");
constexpr u32 kPatchesAt = kRingBytes;

using Stages = Ring<STAGES>;
constexpr u32 kBarriersAt = kPatchesAt + kConsumerWarps * 2 * Patch::kBytes;
static_assert(kBarriersAt + Stages::kBytes == SHARED, "the host grants other shared memory");

// Registers of a thread: as launched, and as the warpgroups share them out.
constexpr u32 kLaunchRegisters = 65536 / (CTAS * kThreads) / 8 * 8;
template <u32 PRODUCER>
constexpr u32 kShare = kLaunchRegisters + (kLaunchRegisters - PRODUCER) / CONSUMERS / 8 * 8;
template <u32 PRODUCER>
constexpr u32 kConsumerRegisters = kShare<PRODUCER> < 240 ? kShare<PRODUCER> : 240;
// There is nothing to hand over where a thread has all that it may address.
constexpr bool kHandsOver = kLaunchRegisters <= 240;

#include "sm90_dense_gemm/passed.cuh"

// How B is read.
enum class Source { Rows, Columns, Elements };

// Whether every lane of a consumer gives a stage back, where others store there; else one for its warp.
template <Source SOURCE>
constexpr bool kLanesRelease = SOURCE == Source::Elements;
