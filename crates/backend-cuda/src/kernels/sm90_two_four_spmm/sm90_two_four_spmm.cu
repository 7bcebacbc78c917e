// C = alpha * A * B + beta * C, A with two of every four columns stored (2:4), after Croqtile's worklog:
// one warp or warpgroup fills a ring of stages with copies, two warpgroups multiply what is there by sparse
// tensor cores.
//
// Host side: config.rs, params.rs, packing.rs. A source is configured by
//   VALUE     the value type: F16, Bf16 or E4m3
//   COLUMNS   columns of a CTA: 64, 128, 192 or 256
//   STAGES    stages of the ring
//   CTAS      CTAs that one multiprocessor holds at once
//   CLUSTER   CTAs, 1, 2 or 4, below each other, each of which copies its part of B to all
//   PRODUCERS threads that fill the ring: 32, or 128, which hand their registers to the others
//   SHARED    bytes of shared memory, for the host and this source to agree on
//   LATE_METADATA whether metadata are loaded when the operands are there, not before: 1 in an ablation
//   NARROW    1 where values are E4m3, which have scales, else 0
//   PROMOTES  whether sums of two steps are added up in f32: 1 for E4m3, 0 but in an ablation for others
//
// The work of a CTA is 128 slots times a tile of columns, and its steps are all of k, 64 columns of A at a
// time, or 128 of e4m3. A is laid out by the host as the stages hold it. The entry points differ in how B is read: by tensor
// copies of rows, or of columns, or element by element where no copy can.
//
// Metadata come by a copy of their own with a barrier of its own. They are small and arrive long before B, so a
// consumer loads those of the next step into a register before it waits for the operands of that step.
// Croqtile gives a stage back as soon as its last product is issued. But a product reads shared memory until it
// is done. So here a consumer waits for it: while one step is multiplied, the stage of the one before goes back.
//
// Of e4m3, tensor cores keep 14 bits of a sum. So two steps are summed by them, and such sums in f32: while one
// warpgroup adds, the other multiplies. Products are then multiplied by the scales of their row and column. B is
// read by columns alone, for its k must be contiguous: quantize_e4m3.cu has made it so.
#include "shared/outgoing.cuh"
#include "shared/output.cuh"
#include "shared/pipeline.cuh"
#include "shared/types.cuh"
#include "ptx/barrier.cuh"
#include "ptx/bulk.cuh"
#include "ptx/cache.cuh"
#include "ptx/cluster.cuh"
#include "ptx/fence.cuh"
#include "ptx/registers.cuh"
#include "ptx/shared.cuh"
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

// Strides count elements.
struct Params {
    // B: boxes of 64 columns and a CTA's share of 64 rows, or of 64 rows and a CTA's share of a tile's
    // columns, transposed.
    ptx::TensorMap b;
    // C: boxes of 64 rows and 32 columns.
    ptx::TensorMap c;
    // Of every 128 slots and every step what a stage holds: values, and a word for each lane of a consumer.
    const unsigned char* values;
    const unsigned char* metadata;
    const void* b_elements;
    u64 b_row_stride;
    u64 b_col_stride;
    u64 k;
    u64 n_slots;
    Output output;
    u32 n_steps;
    // Whether C is written by tensor copies.
    u32 copies_c;
    // Whether alpha is zero, and nothing is multiplied.
    u32 is_scaling;
    // Of every slot and of every column, where values are narrow.
    const float* slot_scales;
    const float* column_scales;
};
static_assert(sizeof(Params) == 448, "the host passes 448 bytes");

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

// Puts 64 rows of B into a stage by all threads of a warpgroup, laid out as tensor copies of rows do.
__device__ __forceinline__ void store_elements(const Params& p, u32 to, u64 row, u64 column,
                                               u32 thread) {
    constexpr u32 kChunks = COLUMNS / 8;
    const u16* const elements = static_cast<const u16*>(p.b_elements);
    const bool along_rows = p.b_col_stride <= p.b_row_stride;
    for (u32 i = thread; i < kDepth * kChunks; i += kWarpgroupSize) {
        const u32 k = along_rows ? i / kChunks : i % kDepth;
        const u32 chunk = along_rows ? i % kChunks : i / kDepth;
        u32 value[8];
#pragma unroll
        for (u32 j = 0; j < 8; ++j) {
            const u64 at = column + chunk * 8 + j;
            const u64 offset = (row + k) * p.b_row_stride + at * p.b_col_stride;
            value[j] = 0;
            if (row + k < p.k && at < p.output.n) value[j] = elements[offset];
        }
        ptx::Vector16 packed;
#pragma unroll
        for (u32 j = 0; j < 4; ++j) packed.word[j] = value[2 * j] | value[2 * j + 1] << 16;
        ptx::store_shared_128(to + chunk / 8 * kGroupBytes + k * kRowBytes + (chunk ^ k) % 8 * 16,
                              packed);
    }
}

// Copies a box of B, to all CTAs of a cluster where there is one.
__device__ __forceinline__ void load_b(u32 to, const Params& p, u64 x, u64 y, u32 barrier) {
    if constexpr (CLUSTER == 1) {
        ptx::tensor_load(to, p.b, x, y, barrier);
    } else {
        ptx::tensor_load_multicast(to, p.b, x, y, barrier, (1 << CLUSTER) - 1);
    }
}

// Fills the ring: one thread with copies; with elements of B all threads of the warpgroup.
template <Source SOURCE>
__device__ __forceinline__ void produce(const Params& p, const Shared& shared, u32 n_steps, u32 rank,
                                        u64 column) {
    const u32 thread = threadIdx.x - kConsumerThreads;
    if (SOURCE != Source::Elements && thread != 0) return;
    const Stages ring = shared.ring();
    const u64 first = u64(blockIdx.x) * n_steps;
    // Every tile of columns reads A again; B is read by CTAs that run at once.
    const u64 policy = ptx::policy_evict_last();
    Stages::Place at;
    for (u32 step = 0; step < n_steps; ++step) {
        const u64 k = u64(step) * kDepth;
        const u32 b = shared.b(at);
        ring.wait_empty(at);
        if (SOURCE == Source::Elements) {
            store_elements(p, b, k, column, thread);
            ptx::fence_proxy_async_shared();
            if (thread != 0) ring.fill(at);
        }
        if (thread == 0) {
            ptx::mbarrier_arrive_expect(shared.metadata_full(at), kBytesMetadata);
            ptx::bulk_load(shared.metadata(at), p.metadata + (first + step) * kBytesMetadata,
                           kBytesMetadata, shared.metadata_full(at), policy);
            constexpr u32 kCopied = SOURCE == Source::Elements ? 0 : kBytesB;
            ring.expect(at, kBytesA + kCopied);
            ptx::bulk_load(shared.a(at), p.values + (first + step) * kBytesA, kBytesA, ring.full(at),
                           policy);
            if (SOURCE == Source::Rows) {
                const u32 part = rank * (kDepth / CLUSTER);
#pragma unroll
                for (u32 g = 0; g < COLUMNS / kGroup; ++g) {
                    load_b(b + g * kGroupBytes + part * kRowBytes, p, column + g * kGroup, k + part,
                           ring.full(at));
                }
            } else if (SOURCE == Source::Columns) {
                const u32 part = rank * (COLUMNS / CLUSTER);
                load_b(b + part * kRowBytes, p, k, column + part, ring.full(at));
            }
        }
        at.next();
    }
}

// The metadata of a step for a lane: of four lanes, the first two have those of the step's first 32
// columns of A, the others those of the last.
__device__ __forceinline__ Metadata load_metadata(const Shared& shared, const Stages::Place& at) {
    ptx::mbarrier_wait(shared.metadata_full(at), at.parity);
    Metadata metadata;
#pragma unroll
    for (u32 i = 0; i < Metadata::kWords; ++i) {
        metadata.word[i] = ptx::load_shared_32(shared.metadata(at) + i * kConsumerThreads * 4 +
                                               threadIdx.x * 4);
    }
    return metadata;
}

// Keeps metadata in their registers up to here.
__device__ __forceinline__ void keep(const Metadata& metadata) {
#pragma unroll
    for (u32 i = 0; i < Metadata::kWords; ++i) ptx::keep(metadata.word[i]);
}

// Adds the products of one stage to the sums.
template <Source SOURCE>
__device__ __forceinline__ void multiply(u32 a_at, u32 b_at, const Metadata& metadata,
                                         float (&sum)[COLUMNS / 2], u32 accumulate) {
    constexpr bool kByRows = SOURCE != Source::Columns;
    // A is K-major. B is N-major where its rows are, and its 64 columns wide groups lie apart.
    const u64 a = ptx::descriptor(a_at, ptx::Swizzle::Bytes64, 8 * kRowBytesA, 0);
    const u64 b = ptx::descriptor(b_at, ptx::Swizzle::Bytes128, 8 * kRowBytes,
                                  kByRows ? kGroupBytes : 0);
    constexpr u32 kOnB = kDepth / 2 * (kByRows ? kRowBytes : kValueBytes);
    using Wgmma = ptx::Wgmma<COLUMNS>;
    Wgmma::template sparse<kElement, 0, kByRows>(sum, a, b, metadata.word[0], accumulate);
    Wgmma::template sparse<kElement, !NARROW, kByRows>(sum, ptx::advance(a, kRowBytesA / 2),
                                                       ptx::advance(b, kOnB),
                                                       metadata.word[NARROW], 1);
}

// Gives a stage back to those that fill it: in a cluster all CTAs do, and one lane signals each.
template <Source SOURCE>
__device__ __forceinline__ void release(const Stages& ring, const Stages::Place& at) {
    const u32 lane = threadIdx.x % kWarpSize;
    __syncwarp();
    if constexpr (CLUSTER > 1) {
        if (lane < CLUSTER) {
            ptx::mbarrier_arrive_done_reading(ptx::cluster_address(ring.empty(at), lane));
        }
    } else if (kLanesRelease<SOURCE> || lane == 0) {
        ring.release(at);
    }
}

// Multiplies a warpgroup's sums by the scales of their slots and columns. Slots beyond the last have scales too.
__device__ __forceinline__ void scale_sums(const Params& p, u64 first_slot, u64 first_column,
                                           float (&sum)[COLUMNS / 2]) {
    const u32 lane = threadIdx.x % kWarpSize;
    const u32 row = threadIdx.x % kWarpgroupSize / kWarpSize * 16 + lane / 4;
    float of_slot[2];
#pragma unroll
    for (u32 half = 0; half < 2; ++half) of_slot[half] = p.slot_scales[first_slot + row + half * 8];
#pragma unroll
    for (u32 i = 0; i < COLUMNS / 8; ++i) {
#pragma unroll
        for (u32 odd = 0; odd < 2; ++odd) {
            const u64 column = first_column + i * 8 + lane % 4 * 2 + odd;
            const float of_column = column < p.output.n ? p.column_scales[column] : 0.0f;
            sum[4 * i + odd] = sum[4 * i + odd] * of_slot[0] * of_column;
            sum[4 * i + 2 + odd] = sum[4 * i + 2 + odd] * of_slot[1] * of_column;
        }
    }
}

// Puts a warpgroup's sums into shared memory, times `scale`.
__device__ __forceinline__ void spread_sums(u32 to, float scale, const float (&sum)[COLUMNS / 2]) {
    const u32 thread = threadIdx.x % kWarpgroupSize;
    const u32 lane = thread % kWarpSize;
#pragma unroll
    for (u32 i = 0; i < COLUMNS / 8; ++i) {
#pragma unroll
        for (u32 half = 0; half < 2; ++half) {
            const u32 row = thread / kWarpSize * 16 + lane / 4 + half * 8;
            ptx::store_shared_64(Sums::at(to, row, i * 8 + lane % 4 * 2),
                                 __float_as_uint(scale * sum[4 * i + 2 * half]),
                                 __float_as_uint(scale * sum[4 * i + 2 * half + 1]));
        }
    }
}

// Multiplies what is in the ring.
template <Source SOURCE>
__device__ __forceinline__ void consume(const Params& p, const Shared& shared, u32 n_steps,
                                        u64 column) {
    const u32 consumer = threadIdx.x / kWarpgroupSize;
    const Stages ring = shared.ring();
    float sum[COLUMNS / 2];
    // Sums of steps that are done, in f32.
    float total[PROMOTES ? COLUMNS / 2 : 1] = {};
    Stages::Place at, done;
    // Tensor cores read metadata from their register while they multiply, so two take turns: the one that is
    // loaded is that of products that are done.
    Metadata metadata[2] = {};
    if (n_steps > 0) metadata[0] = load_metadata(shared, at);
    // A single stage is given back before it is waited for.
    constexpr u32 kUnderWay = STAGES > 1 ? 1 : 0;
    const auto multiply_step = [&](u32 step, Metadata& now, Metadata& other) {
        // Whether the step before is under way, and its sums are added to.
        const bool follows = PROMOTES ? step % kTogether != 0 : step > 0;
        ring.wait_full(at);
        if constexpr (LATE_METADATA) now = load_metadata(shared, at);
        ptx::hold(sum);
        ptx::wgmma_fence();
        multiply<SOURCE>(shared.a(at) + consumer * kSlots * kRowBytesA, shared.b(at), now, sum,
                         follows);
        ptx::wgmma_commit();
        at.next();
        // The products of the step before are done: its stage is given back, and its metadata are free.
        ptx::wgmma_wait<kUnderWay>();
        ptx::hold(sum);
        keep(other);
        if (kUnderWay == 0 || follows) {
            release<SOURCE>(ring, done);
            done.next();
        }
        if constexpr (!LATE_METADATA) {
            if (step + 1 < n_steps) other = load_metadata(shared, at);
        }
    };
    // Adds what tensor cores have summed up, and gives the last stage of that back.
    const auto add_in_f32 = [&](Metadata& now) {
        ptx::wgmma_wait<0>();
        ptx::hold(sum);
        keep(now);
        if (kUnderWay > 0) {
            release<SOURCE>(ring, done);
            done.next();
        }
#pragma unroll
        for (u32 i = 0; i < COLUMNS / 2; ++i) total[PROMOTES ? i : 0] += sum[i];
    };
    u32 step = 0;
    for (; step + 1 < n_steps; step += 2) {
        multiply_step(step, metadata[0], metadata[1]);
        multiply_step(step + 1, metadata[1], metadata[0]);
        if constexpr (PROMOTES) add_in_f32(metadata[1]);
    }
    if (step < n_steps) {
        multiply_step(step, metadata[0], metadata[1]);
        if constexpr (PROMOTES) add_in_f32(metadata[0]);
    }
    ptx::wgmma_wait<0>();
    ptx::hold(sum);
    keep(metadata[0]);
    keep(metadata[1]);
    if (PROMOTES || n_steps == 0) {
#pragma unroll
        for (u32 i = 0; i < COLUMNS / 2; ++i) sum[i] = PROMOTES ? total[PROMOTES ? i : 0] : 0.0f;
    }
    const u64 first_slot = u64(blockIdx.x) * kRows + consumer * kSlots;
    // All have read the stages; copies to them have come, since each consumer waits for all.
    ptx::barrier_sync(1, kConsumerThreads);
    if (first_slot >= p.n_slots) return;
    if constexpr (NARROW) scale_sums(p, first_slot, column, sum);
    const u32 sums = shared.begin + consumer * Sums::kBytes;
    spread_sums(sums, p.copies_c ? p.output.alpha : 1.0f, sum);
    if (p.copies_c) ptx::fence_proxy_async_shared();
    ptx::barrier_sync(2 + consumer, kWarpgroupSize);
    if (!p.copies_c) {
        Sums::store(p.output, sums, first_slot, column);
    } else if (threadIdx.x % kWarpgroupSize == 0) {
        Sums::copy(p.c, sums, first_slot, column, p.output.n);
    }
}

// What is given back last nobody waits for.
template <Source SOURCE, u32 THREADS, u32 PER_SM>
__device__ __forceinline__ void two_four_spmm(const Params& p) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const Shared shared = {ptx::shared_address(memory)};
    const u32 rank = CLUSTER > 1 ? ptx::cluster_rank() : 0;
    if (threadIdx.x == 0) {
        constexpr u32 kArrivals = SOURCE == Source::Elements ? kWarpgroupSize : 1;
        constexpr u32 kOfConsumers =
            kLanesRelease<SOURCE> ? kConsumerThreads : kConsumerThreads / kWarpSize;
        for (u32 stage = 0; stage < STAGES; ++stage) {
            ptx::mbarrier_init(shared.metadata_full({stage, 0}), 1);
        }
        shared.ring().init(kArrivals, kOfConsumers * CLUSTER);
        if (SOURCE != Source::Elements) ptx::tensor_prefetch(p.b);
    }
    // A CTA beyond the last slot still copies B for its neighbours.
    const bool is_idle = CLUSTER == 1 && u64(blockIdx.x) * kRows >= p.n_slots;
    const u32 n_steps = p.is_scaling || is_idle ? 0 : p.n_steps;
    const u64 column = u64(blockIdx.y) * COLUMNS;
    if constexpr (CLUSTER > 1) {
        ptx::cluster_sync();
    } else {
        __syncthreads();
    }
    constexpr bool kHandsOver = THREADS == kWarpgroupSize;
    constexpr u32 kLaunched = kLaunchRegisters<THREADS, PER_SM>;
    constexpr u32 kProducerRegisters = SOURCE == Source::Elements ? 56 : 24;
    if (threadIdx.x >= kConsumerThreads) {
        if constexpr (kHandsOver) ptx::decrease_registers<kProducerRegisters>();
        produce<SOURCE>(p, shared, n_steps, rank, column);
    } else {
        constexpr u32 kRegisters = kConsumerRegisters<kLaunched, kProducerRegisters>;
        if constexpr (kHandsOver) ptx::increase_registers<kRegisters>();
        consume<SOURCE>(p, shared, n_steps, column);
    }
    if constexpr (CLUSTER > 1) {
        // Neighbours arrive at this CTA's barriers until they are done.
        __syncwarp();
        ptx::cluster_sync();
    }
}

#if !NARROW
extern "C" __global__ void __launch_bounds__(kConsumerThreads + PRODUCERS, CTAS)
    sm90_two_four_spmm_rows(const __grid_constant__ Params p) {
    two_four_spmm<Source::Rows, PRODUCERS, CTAS>(p);
}
#endif

extern "C" __global__ void __launch_bounds__(kConsumerThreads + PRODUCERS, CTAS)
    sm90_two_four_spmm_columns(const __grid_constant__ Params p) {
    two_four_spmm<Source::Columns, PRODUCERS, CTAS>(p);
}

#if CLUSTER == 1 && !NARROW
extern "C" __global__ void __launch_bounds__(kConsumerThreads + kWarpgroupSize, 1)
    sm90_two_four_spmm_elements(const __grid_constant__ Params p) {
    two_four_spmm<Source::Elements, kWarpgroupSize, 1>(p);
}
#endif
