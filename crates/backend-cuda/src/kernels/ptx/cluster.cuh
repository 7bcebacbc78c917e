// Clusters: CTAs that run together and reach each other's shared memory.
#pragma once

#include "shared/types.cuh"

namespace ptx {

// The rank of this CTA in its cluster.
__device__ __forceinline__ u32 cluster_rank() {
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// Where CTA `rank` of the cluster has what this one has at a shared address.
__device__ __forceinline__ u32 cluster_address(u32 address, u32 rank) {
    u32 remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
    return remote;
}

// Waits until all threads of the cluster have come here, and sees what they did.
__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Arrives once on an mbarrier at an address of `cluster_address`.
__device__ __forceinline__ void mbarrier_arrive_cluster(u32 remote) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote)
                 : "memory");
}

// The same by a thread that has only read: what it read may be overwritten. The arrival does not have the
// cluster's scope, for which the assembler would fence all memory of the device first.
__device__ __forceinline__ void mbarrier_arrive_done_reading(u32 remote) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
}

}  // namespace ptx
