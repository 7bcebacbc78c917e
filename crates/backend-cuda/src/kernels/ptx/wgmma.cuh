// Products of a warpgroup by its tensor cores: wgmma, its descriptors and its fences.
//
// One instruction adds A (64 x k) times B (k x N) to an accumulator in registers; k is 16 values of f16
// or bf16, or 8 of tf32. B comes from shared memory by a descriptor, A from there too or from registers.
// All four warps of a warpgroup execute every function here.
//
// Of the accumulator, lane l of warp w holds rows 16w + l/4 (registers 4i, 4i + 1) and 16w + l/4 + 8
// (registers 4i + 2, 4i + 3), columns 8i + 2(l%4) and the next. Of A in registers, the same rows: first
// columns from the left half of k, row l/4 in register 0 and row l/4 + 8 in register 1, then in registers
// 2 and 3 the same of the right half; a register holds two 16-bit values, of columns 2(l%4) and the
// next, or one of tf32, of column l%4.
#pragma once

#include "shared/types.cuh"

namespace ptx {

enum class Element { F16, Bf16, Tf32, E4m3 };

// Values along k of one instruction.
template <Element E>
constexpr u32 kDepth = E == Element::Tf32 ? 8 : 16;

// The same where A is sparse: two of every four values are stored, of 16 bits or of 8.
template <Element E>
constexpr u32 kSparseDepth = E == Element::E4m3 ? 64 : 32;

// How the rows of a tile in shared memory are permuted, as a descriptor says it: in groups of eight,
// 16-byte chunks change places within rows of as many bytes. Tiles begin where the pattern does: at
// multiples of 1024 bytes for rows of 128.
enum class Swizzle : u64 { None = 0, Bytes128 = 1, Bytes64 = 2, Bytes32 = 3 };

// Describes a tile that begins at shared address `start`, a multiple of 16. A descriptor holds 18 bits of
// it: in a cluster an address also holds the CTA's rank, from bit 24 up, which would get into `leading`.
//
// K-major, that is with k along the swizzled rows: `stride` is the bytes from eight rows to the next
// eight, `leading` is not used. M- or N-major, with k across the swizzled rows ("transposed"): `stride`
// is the bytes from eight values of k to the next eight, `leading` from one row's width of columns to
// the next.
__device__ __forceinline__ u64 descriptor(u32 start, Swizzle swizzle, u32 stride, u32 leading) {
    return static_cast<u64>(swizzle) << 62 | static_cast<u64>(stride >> 4) << 32 |
           static_cast<u64>(leading >> 4) << 16 | (start & 0x3ffff) >> 4;
}

// The same tile `bytes` bytes further on.
__device__ __forceinline__ u64 advance(u64 descriptor, u32 bytes) {
    return descriptor + (bytes >> 4);
}

// Keeps a value in its register up to here. A product in flight may still read it there, which the assembler
// does not know of sparsity metadata.
__device__ __forceinline__ void keep(u32 value) {
    asm volatile("{\n.reg .pred never;\nsetp.eq.u32 never, %0, 0xffffffff;\n@never trap;\n}" ::"r"(value));
}

// Comes before the first wgmma, and before one whose registers were written by other instructions.
__device__ __forceinline__ void wgmma_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Closes the group of the products since the last.
__device__ __forceinline__ void wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until all but the newest NEWEST groups are done. What is in their registers may be used once
// they are held.
template <u32 NEWEST>
__device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(NEWEST) : "memory");
}

// Keeps the compiler from moving uses of registers that products read or write across this place. COUNT is
// a multiple of four.
template <u32 COUNT>
__device__ __forceinline__ void hold(float (&r)[COUNT]) {
    static_assert(COUNT % 4 == 0, "accumulators are made of fours");
#pragma unroll
    for (u32 i = 0; i < COUNT; i += 4) {
        asm volatile("" : "+f"(r[i]), "+f"(r[i + 1]), "+f"(r[i + 2]), "+f"(r[i + 3]));
    }
}
template <u32 COUNT>
__device__ __forceinline__ void hold(u32 (&r)[COUNT]) {
    static_assert(COUNT % 4 == 0, "fragments are made of fours");
#pragma unroll
    for (u32 i = 0; i < COUNT; i += 4) {
        asm volatile("" : "+r"(r[i]), "+r"(r[i + 1]), "+r"(r[i + 2]), "+r"(r[i + 3]));
    }
}

// Products with N columns, for the N of ptx/wgmma_shapes.cuh:
//
//   Wgmma<N>::shared<E, TRANS_A, TRANS_B>(d, a, b, accumulate)
//       d = A * B, + d if `accumulate`, by two descriptors
//   Wgmma<N>::registers<E, TRANS_B>(d, a, b, accumulate)
//       the same with A in registers, which keep their values until the product was waited for
//
//   Wgmma<N>::sparse<E, SELECTOR, TRANS_B>(d, a, b, metadata, accumulate)
//       the same with A of 64 x 32, of whose every four values in a row two are stored, of 16 bits; or of
//       64 x 64, of e4m3
//
// TRANS_A and TRANS_B say which operands are M- or N-major; 16-bit types only.
//
// Metadata say which: a nibble for every four values holds the places of the two stored ones, the first's
// in its low bits, which is the lower. Of every four lanes l, two speak, l%4 = 2 * SELECTOR + h for h = 0
// and 1: the low half of their word is about row l/4 of their warp's 16, the high half about row l/4 + 8,
// both about columns 16h to 16h + 15, from the low bits up. So one register holds the metadata of two
// products, one for each SELECTOR. Of 8 bits every lane speaks: its word is about row l/4 if l is even and
// about row l/4 + 8 if it is odd, for columns 32(l%4/2) and the 31 next.
//
// Of e4m3, a product keeps 14 bits of its sum: what is added to an accumulator that is larger loses the rest.
template <u32 N>
struct Wgmma;

}  // namespace ptx

#include "ptx/wgmma_shapes.cuh"
