// New values in the place of A's: each element of a part takes the entry that it holds, or zero.
//
// Host side: mod.rs. There is nothing to configure: entry points differ by the bytes of an element.
//
// Elements of a thread are a block apart, so that a warp reads and writes what lies side by side. They are all read
// before one is written: entries lie anywhere, and are waited for together.
#include "shared/entry.cuh"
#include "shared/types.cuh"

constexpr u32 kThreads = 256;
// Elements of a thread.
constexpr u32 kEach = 4;

#include "put_values/passed.cuh"

struct alignas(16) Pair {
    u64 low;
    u64 high;
};

struct Exact {
    template <typename Element>
    __device__ __forceinline__ static Element take(Element x) {
        return x;
    }
};

// The bits of an f32 rounded to TF32's 11 bits, to the nearest, ties away from zero. One NaN stands for all, for their
// marks may be in bits that tensor cores ignore.
struct RoundedToTf32 {
    __device__ __forceinline__ static u32 take(u32 x) {
        return (x & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : (x + 0x1000u) & ~0x1fffu;
    }
};

template <typename Element, typename Rounding>
__device__ __forceinline__ void put(const Params& p) {
    const u64 first = u64(blockIdx.x) * (kThreads * kEach) + threadIdx.x;
    Element found[kEach];
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
        const u64 at = first + i * kThreads;
        const u32 from = at < p.count ? p.from[at] : 0;
        const Element* const values = static_cast<const Element*>(p.values);
        found[i] = from == 0 ? Element{} : Rounding::take(values[(from - 1) * p.stride]);
    }
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
        const u64 at = first + i * kThreads;
        if (at < p.count) static_cast<Element*>(p.to)[at] = found[i];
    }
}

#define PUT_VALUES(NAME, ELEMENT, ROUNDING)                                                 \
    ENTRY_POINT(put_values_##NAME, kThreads)                                                \
    (const __grid_constant__ Params p) { put<ELEMENT, ROUNDING>(p); }

PUT_VALUES(2, u16, Exact)
PUT_VALUES(4, u32, Exact)
PUT_VALUES(4_tf32, u32, RoundedToTf32)
PUT_VALUES(8, u64, Exact)
PUT_VALUES(16, Pair, Exact)
