// Loads and stores with the cache policies that C++ has no words for.
//
// Loads are volatile, or else the compiler takes one for a function of its address alone, and moves it
// before the condition that keeps the address in bounds.
#pragma once

#include "shared/types.cuh"

namespace ptx {

// 16 bytes, as one load or store moves them.
struct alignas(16) Vector16 {
    u32 word[4];
};

// An address as one number: the compiler forgets what it is the sum of, and does not add that up at each use.
__device__ __forceinline__ const char* as_one_number(const char* address) {
    asm volatile("" : "+l"(address));
    return address;
}

// The address `count` times `bytes` after another, by 32-bit factors. The assembler may split it into a product and sums.
__device__ __forceinline__ const char* address_after(const char* address, u32 count, u32 bytes) {
    const char* at;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(at) : "r"(count), "r"(bytes), "l"(address));
    return at;
}

// 16 bytes that nothing writes while the kernel runs. `address` is a multiple of 16.
__device__ __forceinline__ Vector16 load_constant(const void* address) {
    Vector16 v;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
        : "l"(address));
    return v;
}

// The same where `wanted`, without a branch that lanes could part at; undefined otherwise.
__device__ __forceinline__ Vector16 load_constant_if(bool wanted, const void* address) {
    Vector16 v;
    asm volatile("{\n\t"
        ".reg .pred wanted;\n\t"
        "setp.ne.u32 wanted, %5, 0;\n\t"
        "@wanted ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n\t"
        "}"
        : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
        : "l"(address), "r"(static_cast<u32>(wanted)));
    return v;
}

// The same of 8, 4 and 2 bytes.
struct Words2 {
    u32 word[2];
};
struct Word {
    u32 word[1];
};

__device__ __forceinline__ Words2 load_constant_64_if(bool wanted, const void* address) {
    Words2 v;
    asm volatile("{\n\t"
        ".reg .pred wanted;\n\t"
        "setp.ne.u32 wanted, %3, 0;\n\t"
        "@wanted ld.global.nc.v2.u32 {%0, %1}, [%2];\n\t"
        "}"
        : "=r"(v.word[0]), "=r"(v.word[1])
        : "l"(address), "r"(static_cast<u32>(wanted)));
    return v;
}

__device__ __forceinline__ Word load_constant_32_if(bool wanted, const void* address) {
    Word v;
    asm volatile("{\n\t"
        ".reg .pred wanted;\n\t"
        "setp.ne.u32 wanted, %2, 0;\n\t"
        "@wanted ld.global.nc.u32 %0, [%1];\n\t"
        "}"
        : "=r"(v.word[0])
        : "l"(address), "r"(static_cast<u32>(wanted)));
    return v;
}

__device__ __forceinline__ u16 load_constant_16_if(bool wanted, const void* address) {
    u16 v;
    asm volatile("{\n\t"
        ".reg .pred wanted;\n\t"
        "setp.ne.u32 wanted, %2, 0;\n\t"
        "@wanted ld.global.nc.u16 %0, [%1];\n\t"
        "}"
        : "=h"(v)
        : "l"(address), "r"(static_cast<u32>(wanted)));
    return v;
}

// The same for what is read once and should leave the caches to others.
__device__ __forceinline__ Vector16 load_streamed(const void* address) {
    Vector16 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
        : "l"(address));
    return v;
}

// 16 bytes that this thread alone reads and writes. `address` is a multiple of 16.
__device__ __forceinline__ Vector16 load_global(const void* address) {
    Vector16 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
        : "l"(address)
        : "memory");
    return v;
}

__device__ __forceinline__ void store_global(void* address, const Vector16& v) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.word[0]),
                 "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
                 : "memory");
}

// 8 bytes, on a multiple of 8.
__device__ __forceinline__ void store_global(void* address, u32 first, u32 second) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(address), "r"(first), "r"(second)
                 : "memory");
}

__device__ __forceinline__ u16 load_constant_16(const void* address) {
    u16 v;
    asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(v) : "l"(address));
    return v;
}

__device__ __forceinline__ u32 load_constant_32(const void* address) {
    u32 v;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(address));
    return v;
}

__device__ __forceinline__ u64 load_constant_64(const void* address) {
    u64 v;
    asm volatile("ld.global.nc.u64 %0, [%1];" : "=l"(v) : "l"(address));
    return v;
}

}  // namespace ptx
