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

#include "sm90_two_four_spmm/consume.cuh"
#include "sm90_two_four_spmm/produce.cuh"
#include "shared/entry.cuh"
#include "ptx/cluster.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/registers.cuh"
#include "ptx/shared.cuh"
#include "ptx/tensor.cuh"

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
ENTRY_POINT(sm90_two_four_spmm_rows, kConsumerThreads + PRODUCERS, CTAS)
(const __grid_constant__ Params p) {
    two_four_spmm<Source::Rows, PRODUCERS, CTAS>(p);
}
#endif

ENTRY_POINT(sm90_two_four_spmm_columns, kConsumerThreads + PRODUCERS, CTAS)
(const __grid_constant__ Params p) {
    two_four_spmm<Source::Columns, PRODUCERS, CTAS>(p);
}

#if CLUSTER == 1 && !NARROW
ENTRY_POINT(sm90_two_four_spmm_elements, kConsumerThreads + kWarpgroupSize, 1)
(const __grid_constant__ Params p) {
    two_four_spmm<Source::Elements, kWarpgroupSize, 1>(p);
}
#endif
