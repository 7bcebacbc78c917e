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
#include "sm90_bcsr_spmm/consume.cuh"
#include "sm90_bcsr_spmm/produce.cuh"
#include "shared/entry.cuh"
#include "ptx/registers.cuh"
#include "ptx/shared.cuh"
#include "ptx/tensor.cuh"

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

ENTRY_POINT(sm90_bcsr_spmm_rows, kConsumerThreads + PRODUCERS, CTAS)
(const __grid_constant__ Params p) {
    bcsr_spmm<Source::Rows, PRODUCERS, CTAS>(p);
}

ENTRY_POINT(sm90_bcsr_spmm_columns, kConsumerThreads + PRODUCERS, CTAS)
(const __grid_constant__ Params p) {
    bcsr_spmm<Source::Columns, PRODUCERS, CTAS>(p);
}

#if ROWS == 1 && !ALONE && !PERSISTENT && SHARES_A == 1
ENTRY_POINT(sm90_bcsr_spmm_elements, kConsumerThreads + kWarpgroupSize, 1)
(const __grid_constant__ Params p) {
    bcsr_spmm<Source::Elements, kWarpgroupSize, 1>(p);
}
#endif
