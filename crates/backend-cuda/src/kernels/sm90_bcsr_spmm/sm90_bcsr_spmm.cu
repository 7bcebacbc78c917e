// C = alpha * A * B + beta * C, A in blocks of 64 x 64 (BCSR), after AsyncSparse (section III): one
// warpgroup fills a ring of stages with copies, others multiply what is there by tensor cores.
//
// Host side: config.rs, params.rs. A source is configured by
//   VALUE     the value type: F16, Bf16, or Tf32 for f32
//   ROWS      block rows of a CTA, each multiplied by SPLIT warpgroups of COLUMNS columns
//   STAGES    stages of the ring: a block for each row, and 64 rows of the CTA's columns of B
//   CTAS      CTAs that one multiprocessor holds at once
//   PRODUCERS threads that fill the ring: 32, or 128, which hand their registers to the others
//   SHARED    bytes of shared memory, for the host and this source to agree on
//
// The work of a CTA is a group of block rows times a tile of columns. A group's steps are the block
// columns that any of its rows has, so that B is copied once for all of them. The entry points differ in
// how B is read: by tensor copies of rows, or of columns, or element by element where no copy can.
//
// TF32 is multiplied transposed (shared/transposed.cuh), half a block in a stage. What ablations do without is
// in ablation.cuh.
#include "shared/elements.cuh"
#include "shared/outgoing.cuh"
#include "shared/output.cuh"
#include "shared/pipeline.cuh"
#include "shared/transposed.cuh"
#include "shared/types.cuh"
#include "sm90_bcsr_spmm/ablation.cuh"
#include "ptx/barrier.cuh"
#include "ptx/cache.cuh"
#include "ptx/fence.cuh"
#include "ptx/registers.cuh"
#include "ptx/shared.cuh"
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

// Block rows that one CTA multiplies.
struct Group {
    // Steps before the first of this group.
    u64 first_step;
    u32 n_steps;
    // kNoRow where there are fewer.
    u32 block_rows[3];
};
static_assert(sizeof(Group) == 24, "the host writes groups of 24 bytes");

// A block column, and the block that each row of the group has there.
struct Step {
    u32 block_col;
    u32 blocks[ROWS];
};
constexpr u32 kNoBlock = 0xffffffffu;

// Strides count elements.
struct Params {
    // Blocks below each other: boxes of 64 rows and what one row of shared memory holds.
    ptx::TensorMap a;
    // B: boxes of kPerRow rows and columns, or of kPerRow rows and all columns of a tile, transposed.
    ptx::TensorMap b;
    // C: boxes of 64 rows and 32 columns.
    ptx::TensorMap c;
    const Group* groups;
    const Step* steps;
    const void* b_elements;
    u64 b_row_stride;
    u64 b_col_stride;
    u64 k;
    Output output;
    // Whether C is written by tensor copies.
    u32 copies_c;
    // Whether alpha is zero, and nothing is multiplied.
    u32 is_scaling;
    // Groups, and tiles of columns.
    u32 n_groups;
    u32 n_tiles;
};
static_assert(sizeof(Params) == 576, "the host passes 576 bytes");

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

// Fills a stage with a part of the blocks, and of B's rows from k on.
template <Source SOURCE>
__device__ __forceinline__ void fill_stage(const Params& p, const Stages& ring, u32 shared,
                                           const Stages::Place& at, const u32 (&blocks)[ROWS],
                                           u32 mask, u32 half, u64 k, u64 column) {
    const u32 thread = threadIdx.x - kFirstProducer;
    // Other CTAs read the same blocks and the same columns of B.
    const u64 policy = ptx::policy_evict_last();
    const u32 to = tile_at(shared, at.stage);
    if (SOURCE == Source::Elements) {
        ring.wait_empty(at);
        const Elements b = {p.b_elements, p.b_row_stride, p.b_col_stride, p.k, p.output.n};
        store_elements<kTile, kValueBytes>(b, to, k, column, thread);
        ptx::fence_proxy_async_shared();
        if (thread != 0) ring.fill(at);
    }
    if (thread != 0) return;
    if (SOURCE != Source::Elements) ring.wait_empty(at);
    if (ROWS > 1) ptx::store_shared_32(shared + kMasksAt + at.stage * 4, mask);
    constexpr u32 kCopied = SOURCE == Source::Elements ? 0 : kTile / kPerRow * kGroupBytes;
    ring.expect(at, __popc(mask) * kBlockBytes + kCopied);
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        if (blocks[r] != kNoBlock) {
            const u32 to_block = block_at(shared, at.stage, r);
            if constexpr (SHARES_A > 1) {
                const u32 part = rank() * (kBlock / SHARES_A);
                ptx::tensor_load_multicast(to_block + part * kRowBytes, p.a, 0, blocks[r] * kBlock + part,
                                           ring.full(at), (1 << SHARES_A) - 1);
            } else {
                ptx::tensor_load(to_block, p.a, half * kPerRow, blocks[r] * kBlock, ring.full(at), policy);
            }
        }
    }
    if (SOURCE == Source::Rows) {
#pragma unroll
        for (u32 g = 0; g < kTile / kPerRow; ++g) {
            ptx::tensor_load(to + g * kGroupBytes, p.b, column + g * kPerRow, k, ring.full(at),
                             policy);
        }
    } else if (SOURCE == Source::Columns) {
        ptx::tensor_load(to, p.b, k, column, ring.full(at), policy);
    }
}

// Fills the ring. With tensor copies one warp does, of which one thread copies; else the warpgroup.
template <Source SOURCE>
__device__ __forceinline__ void produce(const Params& p, const Stages& ring, u32 shared,
                                        u64 first_step, u32 n_steps, u64 column,
                                        Stages::Place& at) {
    const u32 thread = threadIdx.x - kFirstProducer;
    const u32 lane = threadIdx.x % kWarpSize;
    if (SOURCE != Source::Elements && thread >= kWarpSize) return;
    const Step* const steps = p.steps + first_step;
    // A lane loads each step well before it is needed.
    Step ahead = {};
    if (lane < n_steps) ahead = steps[lane];
    for (u32 first = 0; first < n_steps; first += kWarpSize) {
        const Step held = ahead;
        if (first + kWarpSize + lane < n_steps) ahead = steps[first + kWarpSize + lane];
        const u32 count = min(kWarpSize, n_steps - first);
        for (u32 i = 0; i < count; ++i) {
            const u32 block_col = __shfl_sync(kWholeWarp, held.block_col, i);
            u32 blocks[ROWS];
            u32 mask = 0;
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r) {
                blocks[r] = __shfl_sync(kWholeWarp, held.blocks[r], i);
                mask |= (blocks[r] != kNoBlock) << r;
            }
            for (u32 half = 0; half < kParts; ++half) {
                const u64 k = u64(block_col) * kBlock + half * kPerRow;
                fill_stage<SOURCE>(p, ring, shared, at, blocks, mask, half, k, column);
                __syncwarp();
                at.next();
            }
        }
    }
}

// Columns of one instruction: its registers must fit what a thread is launched with.
constexpr u32 kWide = COLUMNS < 128 ? COLUMNS : 128;
static_assert(COLUMNS % kWide == 0, "columns of a warpgroup are several instructions' at most");

// Adds the products of one stage to the sums.
template <Source SOURCE, u32 COUNT>
__device__ __forceinline__ void multiply(u32 block, u32 tile, u32 part, float (&sum)[COUNT],
                                         u32& accumulate) {
    constexpr u32 kDepth = ptx::kDepth<kElement>;
    constexpr bool kByRows = SOURCE != Source::Columns;
    if constexpr (kIsTransposed) {
        const u32 b = tile + part * (kByRows ? COLUMNS / kPerRow * kGroupBytes : COLUMNS * kRowBytes);
        Transposed::multiply<kByRows>(block, b, sum, accumulate);
        accumulate = 1;
        return;
    } else {
        // A is K-major. B is N-major where its rows are, and its 64 columns wide groups lie apart.
        const u64 a = ptx::descriptor(block, ptx::Swizzle::Bytes128, 8 * kRowBytes, 0);
        const u64 b = ptx::descriptor(tile + part * COLUMNS * kRowBytes, ptx::Swizzle::Bytes128,
                                      8 * kRowBytes, kByRows ? kBlockBytes : 0);
        constexpr u32 kStepB = kByRows ? kDepth * kRowBytes : kDepth * 2;
#pragma unroll
        for (u32 k = 0; k < kBlock / kDepth; ++k) {
#pragma unroll
            for (u32 first = 0; first < COLUMNS; first += kWide) {
                float(&d)[kWide / 2] = *reinterpret_cast<float(*)[kWide / 2]>(sum + first / 2);
                const u32 on = k * kStepB + first * kRowBytes;
                ptx::Wgmma<kWide>::shared<kElement, 0, kByRows>(d, ptx::advance(a, k * kDepth * 2),
                                                                ptx::advance(b, on), accumulate);
            }
            accumulate = 1;
        }
    }
}

// Puts a warpgroup's sums into shared memory, times `scale`.
template <Source SOURCE, u32 COUNT>
__device__ __forceinline__ void spread_sums(u32 to, float scale, const float (&sum)[COUNT]) {
    const u32 thread = threadIdx.x % kWarpgroupSize;
    const u32 lane = thread % kWarpSize;
    if constexpr (kIsTransposed) {
        Transposed::spread<SOURCE != Source::Columns, Sums>(to, scale, sum);
    } else {
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
}

// Gives a stage back to those that fill it.
template <Source SOURCE>
__device__ __forceinline__ void release(const Stages& ring, const Stages::Place& done) {
    const u32 lane = threadIdx.x % kWarpSize;
    __syncwarp();
    if constexpr (SHARES_A > 1) {
        if (lane < SHARES_A) {
            ptx::mbarrier_arrive_done_reading(ptx::cluster_address(ring.empty(done), lane));
        }
    } else if (kLanesRelease<SOURCE> || lane == 0) {
        ring.release(done);
    }
}

// Copies for itself: what step `step` multiplies, by one thread.
template <Source SOURCE>
__device__ __forceinline__ void copy_alone(const Params& p, const Stages& ring, u32 shared,
                                           const Step* steps, u32 step, u32 n_steps, u64 column,
                                           Stages::Place& filled) {
    if (threadIdx.x == 0 && step < n_steps) {
        const Step& held = steps[step];
        fill_stage<SOURCE>(p, ring, shared, filled, held.blocks, 1, 0, u64(held.block_col) * kBlock, column);
        filled.next();
    }
    __syncwarp();
}

// Multiplies what is in the ring.
template <Source SOURCE>
__device__ __forceinline__ void consume(const Params& p, const Stages& ring, u32 shared,
                                        const Group& group, u32 n_steps, u64 column, Stages::Place& at,
                                        Stages::Place& done) {
    const u32 consumer = threadIdx.x / kWarpgroupSize;
    const u32 row = consumer / SPLIT;
    const u32 part = consumer % SPLIT;
    const bool is_leader = threadIdx.x % kWarpSize == 0;
    float sum[COLUMNS / 2];
    u32 accumulate = CLEARS;
#pragma unroll
    for (u32 i = 0; i < (CLEARS ? COLUMNS / 2 : 0); ++i) sum[i] = 0.0f;
    const Step* const steps = p.steps + (ALONE ? group.first_step : 0);
    Stages::Place filled;
    for (u32 step = 0; step < (ALONE ? STAGES : 0); ++step) {
        copy_alone<SOURCE>(p, ring, shared, steps, step, n_steps, column, filled);
    }
    for (u32 step = 0; step < n_steps * kParts; ++step) {
        ring.wait_full(at);
        // The lane that gives the stage back reads, and a vote lets the assembler know that the whole
        // warp takes one way.
        const bool has_block =
            ROWS == 1 ||
            __any_sync(kWholeWarp,
                       is_leader && (ptx::load_shared_32(shared + kMasksAt + at.stage * 4) >> row & 1));
        if (has_block) {
            ptx::hold(sum);
            ptx::wgmma_fence();
            multiply<SOURCE>(block_at(shared, at.stage, row), tile_at(shared, at.stage), part, sum,
                             accumulate);
        }
        ptx::wgmma_commit();
        at.next();
        // The products of the stage before are done: it is given back. Those of TF32 hold registers that
        // the next stage needs; other CTAs of the multiprocessor keep the tensor cores busy.
        constexpr u32 kUnderWay = kIsTransposed || STAGES == 1 ? 0 : 1;
        ptx::wgmma_wait<kUnderWay>();
        ptx::hold(sum);
        if (kUnderWay == 0 || step > 0) {
            release<SOURCE>(ring, done);
            done.next();
            if constexpr (ALONE) {
                const u32 next = step - kUnderWay + STAGES;
                copy_alone<SOURCE>(p, ring, shared, steps, next, n_steps, column, filled);
            }
        }
    }
    ptx::wgmma_wait<0>();
    ptx::hold(sum);
    if (accumulate == 0) {
#pragma unroll
        for (u32 i = 0; i < COLUMNS / 2; ++i) sum[i] = 0.0f;
    }
    const u32 block_row = group.block_rows[row];
    const u64 first_slot = u64(block_row) * kBlock;
    const u64 first_column = column + part * COLUMNS;
    if constexpr (PERSISTENT) {
        // The next item's stages are counted on from here.
        if (n_steps > 0) {
            release<SOURCE>(ring, done);
            done.next();
        }
        store_from_registers(p.output, first_slot, first_column, sum);
        return;
    }
    // All have read the stages; copies to them have come, since each consumer waits for all.
    ptx::barrier_sync(1, kConsumerThreads);
    if (block_row == kNoRow) return;
    const u32 sums = shared + consumer * Sums::kBytes;
    spread_sums<SOURCE>(sums, p.copies_c ? p.output.alpha : 1.0f, sum);
    if (p.copies_c) ptx::fence_proxy_async_shared();
    ptx::barrier_sync(2 + consumer, kWarpgroupSize);
    if (!p.copies_c) {
        Sums::store(p.output, sums, first_slot, first_column);
    } else if (threadIdx.x % kWarpgroupSize == 0) {
        Sums::copy(p.c, sums, first_slot, first_column, p.output.n);
    }
}

// What is given back last nobody waits for.
template <Source SOURCE, u32 THREADS, u32 PER_SM>
__device__ __forceinline__ void bcsr_spmm(const Params& p) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const u32 shared = ptx::shared_address(memory);
    const Stages ring = {shared + kRingBytes};
    if (threadIdx.x == 0) {
        constexpr u32 kArrivals = SOURCE == Source::Elements ? THREADS : 1;
        constexpr u32 kReleases = kLanesRelease<SOURCE> ? kConsumerThreads : kConsumerThreads / kWarpSize;
        ring.init(kArrivals, kReleases * SHARES_A);
        ptx::tensor_prefetch(p.a);
        if (SOURCE != Source::Elements) ptx::tensor_prefetch(p.b);
    }
    Item item = Item::first(p.n_groups, p.n_tiles);
    const Group* group = p.groups + item.group;
    u32 n_steps = p.is_scaling ? 0 : group->n_steps;
    u64 column = u64(item.tile) * kTile;
    meet();
    const auto has_next = [&] {
        if (!item.next(p.n_groups, p.n_tiles)) return false;
        group = p.groups + item.group;
        n_steps = p.is_scaling ? 0 : group->n_steps;
        column = u64(item.tile) * kTile;
        return true;
    };
    constexpr bool kHandsOver = THREADS == kWarpgroupSize;
    constexpr u32 kLaunched = kLaunchRegisters<THREADS, PER_SM>;
    constexpr u32 kProducerRegisters = SOURCE == Source::Elements ? 56 : 24;
    if (threadIdx.x >= kConsumerThreads) {
        if constexpr (kHandsOver) ptx::decrease_registers<kProducerRegisters>();
        Stages::Place at;
        do {
            produce<SOURCE>(p, ring, shared, group->first_step, n_steps, column, at);
        } while (has_next());
    } else {
        if constexpr (kHandsOver) ptx::increase_registers<kConsumerRegisters<kLaunched, kProducerRegisters>>();
        Stages::Place at, done;
        do {
            consume<SOURCE>(p, ring, shared, *group, n_steps, column, at, done);
        } while (has_next());
    }
    if constexpr (SHARES_A > 1) {
        // Others may still copy to this CTA's memory, and arrive at its barriers.
        __syncwarp();
        meet();
    }
}

extern "C" __global__ void __launch_bounds__(kConsumerThreads + PRODUCERS, CTAS)
    sm90_bcsr_spmm_rows(const __grid_constant__ Params p) {
    bcsr_spmm<Source::Rows, PRODUCERS, CTAS>(p);
}

extern "C" __global__ void __launch_bounds__(kConsumerThreads + PRODUCERS, CTAS)
    sm90_bcsr_spmm_columns(const __grid_constant__ Params p) {
    bcsr_spmm<Source::Columns, PRODUCERS, CTAS>(p);
}

#if ROWS == 1 && !ALONE && !PERSISTENT && SHARES_A == 1
extern "C" __global__ void __launch_bounds__(kConsumerThreads + kWarpgroupSize, 1)
    sm90_bcsr_spmm_elements(const __grid_constant__ Params p) {
    bcsr_spmm<Source::Elements, kWarpgroupSize, 1>(p);
}
#endif
