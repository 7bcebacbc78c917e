// Bulk copies of byte ranges between global and shared memory, and the groups of bulk stores.
//
// Addresses and byte counts are multiples of 16. A load is reported to an mbarrier, in bytes; stores,
// those of tensors too, are reported to groups of the thread that issues them.
#pragma once

#include "shared/types.cuh"

namespace ptx {

// Copies `bytes` bytes from global memory to shared memory at `to`; they count towards `barrier`.
__device__ __forceinline__ void bulk_load(u32 to, const void* from, u32 bytes, u32 barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(to),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
}

// The same with a cache policy.
__device__ __forceinline__ void bulk_load(u32 to, const void* from, u32 bytes, u32 barrier,
                                          u64 policy) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%0], [%1], %2, [%3], %4;" ::"r"(to),
        "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
        : "memory");
}

// Copies `bytes` bytes from shared memory at `from` to global memory, as part of the open group.
__device__ __forceinline__ void bulk_store(void* to, u32 from, u32 bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
                 "r"(bytes)
                 : "memory");
}

// Closes the thread's open group of bulk stores.
__device__ __forceinline__ void bulk_commit() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all but the thread's newest NEWEST groups have read their shared memory.
template <u32 NEWEST>
__device__ __forceinline__ void bulk_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(NEWEST) : "memory");
}

// Waits until all but the thread's newest NEWEST groups are done.
template <u32 NEWEST>
__device__ __forceinline__ void bulk_wait() {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(NEWEST) : "memory");
}

}  // namespace ptx
