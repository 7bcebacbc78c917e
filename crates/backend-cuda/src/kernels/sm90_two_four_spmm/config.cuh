// What the macros of a configuration come to, where things are in shared memory, and what the host passes.
#pragma once

#include "shared/outgoing.cuh"
#include "shared/output.cuh"
#include "shared/pipeline.cuh"
#include "shared/types.cuh"
#include "ptx/tensor.cuh"
#include "ptx/wgmma.cuh"

constexpr u32 kConsumers = 2;
constexpr u32 kConsumerThreads = kConsumers * kWarpgroupSize;
constexpr ptx::Element kElement = ptx::Element::VALUE;
constexpr u32 kValueBytes = NARROW ? 1 : 2;
static_assert(NARROW == (kElement == ptx::Element::E4m3), "values of e4m3 are narrow");
// Slots of a warpgroup and of a CTA, columns of A in a step: those of two products.
constexpr u32 kSlots = 64;
constexpr u32 kRows = kConsumers * kSlots;
constexpr u32 kDepth = 2 * ptx::kSparseDepth<kElement>;
// Steps whose products tensor cores sum up, where those sums are added in f32.
constexpr u32 kTogether = 2;

// Shared memory: the stages, which the swizzle wants on 1024 bytes, then their metadata, then the barriers. A
// stage holds a step's stored values of each slot in swizzled rows of 64 bytes, then B in swizzled rows of 128: in
// groups of 64 columns, a row of a group on each row; or its columns, one on each row.
constexpr u32 kRowBytesA = kDepth / 2 * kValueBytes;
constexpr u32 kRowBytes = 128;
constexpr u32 kGroup = 64;
constexpr u32 kGroupBytes = kDepth * kRowBytes;
constexpr u32 kBytesA = kRows * kRowBytesA;
constexpr u32 kBytesB = COLUMNS * kDepth * kValueBytes;
static_assert(kRowBytesA == 64 && kDepth * kValueBytes == kRowBytes, "a step fills swizzled rows");
constexpr u32 kStageBytes = kBytesA + kBytesB;
// Sums leave by where the stages were.
using Sums = Outgoing<kSlots, COLUMNS>;
constexpr u32 kStagesBytes = STAGES * kStageBytes;
constexpr u32 kRingBytes =
    kStagesBytes > kConsumers * Sums::kBytes ? kStagesBytes : kConsumers * Sums::kBytes;
// Metadata of a step, of a lane of a consumer: a word for both products, or of 8 bits one for each.
struct Metadata {
    static constexpr u32 kWords = NARROW ? 2 : 1;
    u32 word[kWords];
};
constexpr u32 kBytesMetadata = kConsumerThreads * sizeof(Metadata);
constexpr u32 kMetadataAt = kRingBytes;
constexpr u32 kBarriersAt = kMetadataAt + STAGES * kBytesMetadata;
using Stages = Ring<STAGES>;
static_assert(kBarriersAt + Stages::kBytes + STAGES * 8 == SHARED, "the host grants other shared memory");
static_assert(COLUMNS % kGroup == 0, "columns of B come in whole groups");
static_assert(CLUSTER == 1 || CLUSTER == 2 || CLUSTER == 4, "B is copied in equal parts of whole swizzles");

// Registers of a thread: as launched, and as producers of 128 threads and consumers share them out.
template <u32 THREADS, u32 PER_SM>
constexpr u32 kLaunchRegisters = 65536 / (PER_SM * (kConsumerThreads + THREADS)) / 8 * 8;
template <u32 LAUNCHED, u32 PRODUCER>
constexpr u32 kShare = LAUNCHED + (LAUNCHED - PRODUCER) / kConsumers / 8 * 8;
template <u32 LAUNCHED, u32 PRODUCER>
constexpr u32 kConsumerRegisters =
    kShare<LAUNCHED, PRODUCER> < 240 ? kShare<LAUNCHED, PRODUCER> : 240;

#include "sm90_two_four_spmm/passed.cuh"

// How B is read.
enum class Source { Rows, Columns, Elements };

// Whether every lane of a consumer gives a stage back, where others store there; else one for its warp.
template <Source SOURCE>
constexpr bool kLanesRelease = SOURCE == Source::Elements;

// Where things are in shared memory.
struct Shared {
    u32 begin;

    __device__ __forceinline__ Stages ring() const { return {begin + kBarriersAt}; }
    __device__ __forceinline__ u32 a(const Stages::Place& at) const {
        return begin + at.stage * kStageBytes;
    }
    __device__ __forceinline__ u32 b(const Stages::Place& at) const { return a(at) + kBytesA; }
    __device__ __forceinline__ u32 metadata(const Stages::Place& at) const {
        return begin + kMetadataAt + at.stage * kBytesMetadata;
    }
    // The barrier whose phase ends when a stage's metadata have come. The stage's own `empty` says when
    // they may be overwritten, as they are read before B is.
    __device__ __forceinline__ u32 metadata_full(const Stages::Place& at) const {
        return begin + kBarriersAt + Stages::kBytes + at.stage * 8;
    }
};
