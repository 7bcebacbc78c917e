// Elements of C, and sums that are kept: one by one, and four side by side.
//
// C has the type of sums, or of OUTPUT if that is defined, F16 or Bf16: what would be stored is then rounded to it once.
#pragma once

#include "shared/types.cuh"
#ifdef OUTPUT
#include "shared/narrow.cuh"

constexpr bool kRoundsC = true;
template <class Acc>
using ElementOfC = u16;
using Narrow = narrow::OUTPUT;
#else
constexpr bool kRoundsC = false;
template <class Acc>
using ElementOfC = Acc;
#endif

// An element as sums are.
template <class Acc>
__device__ __forceinline__ Acc widened(Acc element) { return element; }

// Stores what a sum came to.
template <class Acc>
__device__ __forceinline__ void put(Acc* at, Acc x) { *at = x; }

// Where a row begins, of sums that are kept or of C.
template <class Element>
__device__ __forceinline__ void* row_begin(bool keeps, float* part, Element* of_c) {
    return keeps ? static_cast<void*>(part) : static_cast<void*>(of_c);
}

// Four elements, on a multiple of their bytes.
__device__ __forceinline__ float4 load_four(const float* at) {
    return *reinterpret_cast<const float4*>(at);
}
__device__ __forceinline__ void store_four(float* at, const float4& x) {
    *reinterpret_cast<float4*>(at) = x;
}

#ifdef OUTPUT
__device__ __forceinline__ float widened(u16 element) { return Narrow::widen(element); }
__device__ __forceinline__ void put(u16* at, float x) { *at = Narrow::round(x); }

// Two elements as a word.
__device__ __forceinline__ u32 rounded_pair(float first, float second) {
    return Narrow::round(first, second);
}
__device__ __forceinline__ float4 load_four(const u16* at) {
    const ushort4 v = *reinterpret_cast<const ushort4*>(at);
    return {widened(v.x), widened(v.y), widened(v.z), widened(v.w)};
}
__device__ __forceinline__ void store_four(u16* at, const float4& x) {
    *reinterpret_cast<uint2*>(at) = {rounded_pair(x.x, x.y), rounded_pair(x.z, x.w)};
}
#endif
