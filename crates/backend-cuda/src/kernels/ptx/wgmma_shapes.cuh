// The shapes of wgmma: one specialization of ptx::Wgmma for each number of columns.
//
// An asm statement numbers its operands, the N / 2 registers of the accumulator first, so that a shape is
// a list of them in three forms: as text, as operands, and the numbers of the operands that follow.
#pragma once

#include "ptx/wgmma.cuh"

namespace ptx {

#define PTX_TEXT_8 "%0, %1, %2, %3"
#define PTX_TEXT_16 PTX_TEXT_8 ", %4, %5, %6, %7"
#define PTX_TEXT_24 PTX_TEXT_16 ", %8, %9, %10, %11"
#define PTX_TEXT_32 PTX_TEXT_24 ", %12, %13, %14, %15"
#define PTX_TEXT_40 PTX_TEXT_32 ", %16, %17, %18, %19"
#define PTX_TEXT_48 PTX_TEXT_40 ", %20, %21, %22, %23"
#define PTX_TEXT_56 PTX_TEXT_48 ", %24, %25, %26, %27"
#define PTX_TEXT_64 PTX_TEXT_56 ", %28, %29, %30, %31"
#define PTX_TEXT_80 PTX_TEXT_64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define PTX_TEXT_96 PTX_TEXT_80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define PTX_TEXT_112 PTX_TEXT_96 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define PTX_TEXT_128 PTX_TEXT_112 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define PTX_TEXT_160 PTX_TEXT_128 \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define PTX_TEXT_192 PTX_TEXT_160 \
    ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define PTX_TEXT_224 PTX_TEXT_192 \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define PTX_TEXT_256 PTX_TEXT_224 \
    ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define PTX_HELD_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define PTX_HELD_8(i) PTX_HELD_4(i), PTX_HELD_4(i + 4)
#define PTX_HELD_16(i) PTX_HELD_8(i), PTX_HELD_8(i + 8)
#define PTX_HELD_32(i) PTX_HELD_16(i), PTX_HELD_16(i + 16)
#define PTX_HELD_64(i) PTX_HELD_32(i), PTX_HELD_32(i + 32)

// The instruction, where operand S says whether to accumulate.
#define PTX_WGMMA_TEXT(N, K, TYPE, S, OPERANDS)                                                   \
    "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %" #S ", 0;\n"                            \
    "wgmma.mma_async.sync.aligned.m64n" #N "k" #K ".f32." TYPE "." TYPE " {" PTX_TEXT_##N "}, "   \
    OPERANDS ";\n}"

// Both forms for operands of one type. P0 and on are the numbers of the operands after the accumulator;
// FLAGS are those of transposed operands, for the types that have them.
#define PTX_WGMMA_SHARED(N, K, TYPE, P0, P1, P2, FLAGS, ...)                                       \
    asm volatile(PTX_WGMMA_TEXT(N, K, TYPE, P2, "%" #P0 ", %" #P1 ", accumulate, 1, 1" FLAGS)      \
                 : __VA_ARGS__                                                                     \
                 : "l"(a), "l"(b), "r"(accumulate), "n"(TRANS_A), "n"(TRANS_B)                     \
                 : "memory")
#define PTX_WGMMA_REGISTERS(N, K, TYPE, P0, P1, P2, P3, P4, P5, FLAGS, ...)                        \
    asm volatile(PTX_WGMMA_TEXT(N, K, TYPE, P5, "{%" #P0 ", %" #P1 ", %" #P2 ", %" #P3 "}, %" #P4  \
                                ", accumulate, 1, 1" FLAGS)                                        \
                 : __VA_ARGS__                                                                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate),            \
                   "n"(TRANS_B)                                                                    \
                 : "memory")

// The form for a sparse A, in shared memory by a descriptor. It is never M-major.
#define PTX_WGMMA_SPARSE(N, TYPE, P0, P1, P2, P3, P4, P5, ...)                                     \
    asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %" #P3 ", 0;\n"               \
                 "wgmma.mma_async.sp.sync.aligned.m64n" #N "k32.f32." TYPE "." TYPE                \
                 " {" PTX_TEXT_##N "}, %" #P0 ", %" #P1 ", %" #P2 ", %" #P4                        \
                 ", accumulate, 1, 1, 0, %" #P5 ";\n}"                                             \
                 : __VA_ARGS__                                                                     \
                 : "l"(a), "l"(b), "r"(metadata), "r"(accumulate), "n"(SELECTOR), "n"(TRANS_B)     \
                 : "memory")

// The same of 8-bit values: B is K-major, and all lanes have metadata.
#define PTX_WGMMA_SPARSE_8(N, TYPE, P0, P1, P2, P3, ...)                                           \
    asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %" #P3 ", 0;\n"               \
                 "wgmma.mma_async.sp.sync.aligned.m64n" #N "k64.f32." TYPE "." TYPE                \
                 " {" PTX_TEXT_##N "}, %" #P0 ", %" #P1 ", %" #P2 ", 0, accumulate, 1, 1;\n}"      \
                 : __VA_ARGS__                                                                     \
                 : "l"(a), "l"(b), "r"(metadata), "r"(accumulate)                                  \
                 : "memory")

#define PTX_WGMMA(N, P0, P1, P2, P3, P4, P5, P6, ...)                                              \
    template <>                                                                                    \
    struct Wgmma<N> {                                                                              \
        template <Element E, int TRANS_A, int TRANS_B>                                             \
        static __device__ __forceinline__ void shared(float (&d)[N / 2], u64 a, u64 b,             \
                                                      u32 accumulate) {                            \
            if constexpr (E == Element::F16) {                                                     \
                PTX_WGMMA_SHARED(N, 16, "f16", P0, P1, P2, ", %" #P3 ", %" #P4, __VA_ARGS__);      \
            } else if constexpr (E == Element::Bf16) {                                             \
                PTX_WGMMA_SHARED(N, 16, "bf16", P0, P1, P2, ", %" #P3 ", %" #P4, __VA_ARGS__);     \
            } else {                                                                               \
                static_assert(!TRANS_A && !TRANS_B, "tf32 operands are K-major");                  \
                PTX_WGMMA_SHARED(N, 8, "tf32", P0, P1, P2, "", __VA_ARGS__);                       \
            }                                                                                      \
        }                                                                                          \
        template <Element E, int TRANS_B>                                                          \
        static __device__ __forceinline__ void registers(float (&d)[N / 2], const u32 (&a)[4],     \
                                                         u64 b, u32 accumulate) {                  \
            if constexpr (E == Element::F16) {                                                     \
                PTX_WGMMA_REGISTERS(N, 16, "f16", P0, P1, P2, P3, P4, P5, ", %" #P6, __VA_ARGS__); \
            } else if constexpr (E == Element::Bf16) {                                             \
                PTX_WGMMA_REGISTERS(N, 16, "bf16", P0, P1, P2, P3, P4, P5, ", %" #P6,              \
                                    __VA_ARGS__);                                                  \
            } else {                                                                               \
                static_assert(!TRANS_B, "tf32 operands are K-major");                              \
                PTX_WGMMA_REGISTERS(N, 8, "tf32", P0, P1, P2, P3, P4, P5, "", __VA_ARGS__);        \
            }                                                                                      \
        }                                                                                          \
        template <Element E, int SELECTOR, int TRANS_B>                                            \
        static __device__ __forceinline__ void sparse(float (&d)[N / 2], u64 a, u64 b,             \
                                                      u32 metadata, u32 accumulate) {              \
            static_assert(E != Element::Tf32, "of tf32, one value of two is stored");              \
            static_assert(SELECTOR == 0 || SELECTOR == 1, "a pair of each four lanes speaks");     \
            if constexpr (E == Element::F16) {                                                     \
                PTX_WGMMA_SPARSE(N, "f16", P0, P1, P2, P3, P4, P5, __VA_ARGS__);                   \
            } else if constexpr (E == Element::E4m3) {                                             \
                static_assert(SELECTOR == 0 && !TRANS_B, "8-bit operands are K-major");            \
                PTX_WGMMA_SPARSE_8(N, "e4m3", P0, P1, P2, P3, __VA_ARGS__);                        \
            } else {                                                                               \
                PTX_WGMMA_SPARSE(N, "bf16", P0, P1, P2, P3, P4, P5, __VA_ARGS__);                  \
            }                                                                                      \
        }                                                                                          \
    }

PTX_WGMMA(8, 4, 5, 6, 7, 8, 9, 10, PTX_HELD_4(0));
PTX_WGMMA(16, 8, 9, 10, 11, 12, 13, 14, PTX_HELD_8(0));
PTX_WGMMA(24, 12, 13, 14, 15, 16, 17, 18, PTX_HELD_8(0), PTX_HELD_4(8));
PTX_WGMMA(32, 16, 17, 18, 19, 20, 21, 22, PTX_HELD_16(0));
PTX_WGMMA(40, 20, 21, 22, 23, 24, 25, 26, PTX_HELD_16(0), PTX_HELD_4(16));
PTX_WGMMA(48, 24, 25, 26, 27, 28, 29, 30, PTX_HELD_16(0), PTX_HELD_8(16));
PTX_WGMMA(56, 28, 29, 30, 31, 32, 33, 34, PTX_HELD_16(0), PTX_HELD_8(16), PTX_HELD_4(24));
PTX_WGMMA(64, 32, 33, 34, 35, 36, 37, 38, PTX_HELD_32(0));
PTX_WGMMA(80, 40, 41, 42, 43, 44, 45, 46, PTX_HELD_32(0), PTX_HELD_8(32));
PTX_WGMMA(96, 48, 49, 50, 51, 52, 53, 54, PTX_HELD_32(0), PTX_HELD_16(32));
PTX_WGMMA(112, 56, 57, 58, 59, 60, 61, 62, PTX_HELD_32(0), PTX_HELD_16(32), PTX_HELD_8(48));
PTX_WGMMA(128, 64, 65, 66, 67, 68, 69, 70, PTX_HELD_64(0));
PTX_WGMMA(160, 80, 81, 82, 83, 84, 85, 86, PTX_HELD_64(0), PTX_HELD_16(64));
PTX_WGMMA(192, 96, 97, 98, 99, 100, 101, 102, PTX_HELD_64(0), PTX_HELD_32(64));
PTX_WGMMA(224, 112, 113, 114, 115, 116, 117, 118, PTX_HELD_64(0), PTX_HELD_32(64), PTX_HELD_16(96));
PTX_WGMMA(256, 128, 129, 130, 131, 132, 133, 134, PTX_HELD_64(0), PTX_HELD_64(64));

#undef PTX_WGMMA
#undef PTX_WGMMA_SHARED
#undef PTX_WGMMA_REGISTERS
#undef PTX_WGMMA_SPARSE
#undef PTX_WGMMA_SPARSE_8
#undef PTX_WGMMA_TEXT

}  // namespace ptx
