// Copies of boxes of matrices by tensor map: the tensor memory accelerator.
//
// A map names a matrix in global memory, the shape of a box and its layout in shared memory; a copy
// names the box's first element, the coordinate along a row first. What lies outside of the matrix is
// read as zero and not written. The first coordinate is a multiple of 16 bytes; shared addresses are
// multiples of 128 bytes, with the 128-byte swizzle of 1024.
#pragma once

#include "shared/types.cuh"

namespace ptx {

// As the driver encodes it; part of a kernel's __grid_constant__ parameter.
struct alignas(64) TensorMap {
    u64 opaque[16];
};
static_assert(sizeof(TensorMap) == 128, "a tensor map has 128 bytes");

// Prefetches the map itself ahead of its first use.
__device__ __forceinline__ void tensor_prefetch(const TensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Copies the box at (x, y) to shared memory at `to`; its bytes, those outside of the matrix too, count
// towards `barrier`.
__device__ __forceinline__ void tensor_load(u32 to, const TensorMap& map, i32 x, i32 y,
                                            u32 barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
        "l"(&map), "r"(x), "r"(y), "r"(barrier)
        : "memory");
}

// The same with a cache policy.
__device__ __forceinline__ void tensor_load(u32 to, const TensorMap& map, i32 x, i32 y, u32 barrier,
                                            u64 policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(&map), "r"(x), "r"(y), "r"(barrier), "l"(policy)
        : "memory");
}

// Copies the box to the same shared address, and counts its bytes towards the same barrier, of every
// CTA of the cluster whose rank's bit is set in `ctas`.
__device__ __forceinline__ void tensor_load_multicast(u32 to, const TensorMap& map, i32 x, i32 y,
                                                      u32 barrier, u16 ctas) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(ctas)
        : "memory");
}

// Copies shared memory at `from` to the box at (x, y), neither coordinate negative, as part of the
// thread's open group of bulk stores. Rows that end within 16 bytes are written to the end of those.
__device__ __forceinline__ void tensor_store(const TensorMap& map, i32 x, i32 y, u32 from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::
                     "l"(&map),
                 "r"(x), "r"(y), "r"(from)
                 : "memory");
}

// The same with a cache policy.
__device__ __forceinline__ void tensor_store(const TensorMap& map, i32 x, i32 y, u32 from,
                                             u64 policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint"
        " [%0, {%1, %2}], [%3], %4;" ::"l"(&map),
        "r"(x), "r"(y), "r"(from), "l"(policy)
        : "memory");
}

}  // namespace ptx
