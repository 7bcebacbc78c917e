// C = alpha * A * B + beta * C, A in blocks of 64 x 64 that are all there: a dense product, after the
// ladder of "WGMMA & warp specialization". One thread fills a ring of stages with copies, warpgroups
// multiply what is there by tensor cores, tile after tile of C.
//
// Host side: config.rs, params.rs. A source is configured by
//   VALUE     the value type: F16, Bf16, or Tf32 for f32
//   ROWS      rows of a tile of C
//   COLUMNS   columns of a tile
//   CONSUMERS warpgroups that multiply it
//   STAGES    stages of the ring: ROWS rows of A and COLUMNS columns of B, 128 bytes along k
//   CLUSTER   CTAs whose tiles lie below each other and that share what they copy of B: 1 or 2
//   CTAS      CTAs that one multiprocessor holds at once
//   SHARED    bytes of shared memory, for the host and this source to agree on
//
// How many CTAs there are, in which order they take tiles, and how C is written are parameters. The entry
// points differ in how B is read: by tensor copies of rows, or of columns, or element by element where no
// copy can; a cluster shares copies only.
//
// TF32 is multiplied transposed (shared/transposed.cuh), half a block in a stage.
#include "sm90_dense_gemm/consume.cuh"
#include "sm90_dense_gemm/produce.cuh"
#include "shared/entry.cuh"
#include "ptx/registers.cuh"

template <Source SOURCE>
__device__ __forceinline__ void dense_gemm(const Params& p) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const u32 shared = ptx::shared_address(memory);
    const Stages ring = {shared + kBarriersAt};
    if (threadIdx.x == 0) {
        constexpr u32 kArrivals = SOURCE == Source::Elements ? kWarpgroupSize : 1;
        ring.init(kArrivals, kLanesRelease<SOURCE> ? kConsumerThreads : kConsumerWarps * CLUSTER);
        ptx::tensor_prefetch(p.a);
        if (SOURCE != Source::Elements) ptx::tensor_prefetch(p.b);
        if (p.copies_c) ptx::tensor_prefetch(p.c);
    }
    meet();
    constexpr u32 kProducerRegisters = SOURCE == Source::Elements ? 56 : 40;
    if (threadIdx.x >= kConsumerThreads) {
        if constexpr (kHandsOver) ptx::decrease_registers<kProducerRegisters>();
        produce<SOURCE>(p, ring, shared);
    } else {
        if constexpr (kHandsOver) ptx::increase_registers<kConsumerRegisters<kProducerRegisters>>();
        consume<SOURCE>(p, ring, shared);
    }
    // Others may still copy to this CTA's memory, and arrive at its barriers.
    if constexpr (CLUSTER > 1) {
        __syncwarp();
        meet();
    }
}

ENTRY_POINT(sm90_dense_gemm_rows, kThreads, CTAS)(const __grid_constant__ Params p) {
    dense_gemm<Source::Rows>(p);
}

ENTRY_POINT(sm90_dense_gemm_columns, kThreads, CTAS)(const __grid_constant__ Params p) {
    dense_gemm<Source::Columns>(p);
}

#if CLUSTER == 1
ENTRY_POINT(sm90_dense_gemm_elements, kThreads, CTAS)(const __grid_constant__ Params p) {
    dense_gemm<Source::Elements>(p);
}
#endif
