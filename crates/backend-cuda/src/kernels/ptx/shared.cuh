// Shared memory by its own 32-bit addresses, which barriers, copies and descriptors take.
#pragma once

#include "shared/types.cuh"
#include "ptx/memory.cuh"

namespace ptx {

// The address in the CTA's shared memory of what a generic pointer points to.
__device__ __forceinline__ u32 shared_address(const void* pointer) {
    return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

// Zero-extended.
__device__ __forceinline__ u32 load_shared_16(u32 address) {
    u16 v;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(address) : "memory");
    return v;
}

// 2, 4, 8 and 16 bytes; `address` is a multiple of as many.
__device__ __forceinline__ u32 load_shared_32(u32 address) {
    u32 v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
    return v;
}

__device__ __forceinline__ void load_shared_64(u32 address, u32 (&v)[2]) {
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v[0]), "=r"(v[1])
                 : "r"(address)
                 : "memory");
}

__device__ __forceinline__ void load_shared_128(u32 address, u32 (&v)[4]) {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(address)
                 : "memory");
}

__device__ __forceinline__ void store_shared_16(u32 address, u16 v) {
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(v) : "memory");
}

__device__ __forceinline__ void store_shared_32(u32 address, u32 v) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}

__device__ __forceinline__ void store_shared_64(u32 address, u32 v0, u32 v1) {
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(v0), "r"(v1) : "memory");
}

__device__ __forceinline__ void store_shared_128(u32 address, const Vector16& v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.word[0]),
                 "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
                 : "memory");
}

}  // namespace ptx
