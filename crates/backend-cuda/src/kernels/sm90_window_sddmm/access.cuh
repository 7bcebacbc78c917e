// How rows of X and Y are read: eight neighbouring columns at a time, whichever way they are loaded, so that sums
// have the same bits.
//
// Nothing of Y is loaded under a condition. What lies beyond the last column is made zero, in X and in Y, for Y may
// hold NaN there.
#pragma once

#include "sm90_window_sddmm/params.cuh"

// Zeros in the place of columns from number `count` on.
__device__ __forceinline__ void keep(ptx::Vector16& vector, u32 count) {
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        vector.word[i] &= count >= 2 * i + 2 ? 0xffffffffu : count == 2 * i + 1 ? 0xffffu : 0;
    }
}

// As 16 bytes, the last of which may lie beyond the last column.
struct Vectors {
    // The columns from `first` on, of which `count` are there; the row's first if none is.
    static __device__ __forceinline__ ptx::Vector16 load(const Stored* row, u64, u64 first,
                                                         u32 count) {
        return ptx::load_constant(row + (count == 0 ? 0 : first));
    }
};

// Element by element, whatever the strides.
struct Elements {
    static __device__ __forceinline__ ptx::Vector16 load(const Stored* row, u64 stride, u64 first,
                                                         u32 count) {
        Stored value[kVector];
#pragma unroll
        for (u32 i = 0; i < kVector; ++i) {
            value[i] = Value::load(row + (i < count ? first + i : 0) * stride);
        }
        ptx::Vector16 vector;
#pragma unroll
        for (u32 i = 0; i < 4; ++i) vector.word[i] = u32(value[2 * i + 1]) << 16 | value[2 * i];
        return vector;
    }
};
