// How rows of X and Y are read: a lane has whole vectors of kVector neighbouring columns, whichever way they are
// loaded, so that sums have the same bits.
//
// Nothing is loaded under a condition. What lies beyond the last column is made zero, in X and in Y, once all
// loads are under way: Y may hold NaN there.
#pragma once

#include "csr_sddmm/params.cuh"

// As 16 bytes, the last of which may lie beyond the last column.
struct Vectors {
    struct Loaded {
        ptx::Vector16 vector;
    };

    // The columns from `first` on, of which `count` are there; the row's first if none is.
    static __device__ __forceinline__ Loaded load(const Stored* row, u64, u64 first, u32 count) {
        return {ptx::load_constant(row + (count == 0 ? 0 : first))};
    }
    static __device__ __forceinline__ void keep(Loaded& loaded, u32 count) {
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            const i32 bytes = static_cast<i32>(count * sizeof(Stored)) - static_cast<i32>(4 * i);
            const u32 kept = bytes >= 4 ? 0xffffffffu : bytes <= 0 ? 0 : 0xffffu;
            loaded.vector.word[i] &= kept;
        }
    }
    static __device__ __forceinline__ Acc widen(const Loaded& loaded, u32 i) {
        return Value::widen(loaded.vector, i);
    }
    // Rows of Y whose vectors are under way at the same time.
    template <u32 VECTORS>
    static constexpr u32 kUnroll = VECTORS > 2 ? 2 : 4;
};

// Element by element, whatever the strides.
struct Elements {
    struct Loaded {
        Stored value[kVector];
    };

    static __device__ __forceinline__ Loaded load(const Stored* row, u64 stride, u64 first,
                                                  u32 count) {
        Loaded loaded;
#pragma unroll
        for (u32 i = 0; i < kVector; ++i) {
            loaded.value[i] = Value::load(row + (i < count ? first + i : 0) * stride);
        }
        return loaded;
    }
    static __device__ __forceinline__ void keep(Loaded& loaded, u32 count) {
#pragma unroll
        for (u32 i = 0; i < kVector; ++i) {
            if (i >= count) loaded.value[i] = 0;
        }
    }
    static __device__ __forceinline__ Acc widen(const Loaded& loaded, u32 i) {
        return Value::widen(loaded.value[i]);
    }
    template <u32 VECTORS>
    static constexpr u32 kUnroll = VECTORS * kVector > 8 ? 1 : VECTORS * kVector > 4 ? 2 : 4;
};

// A lane's columns of a panel that LANES lanes share: `i` counts its vectors, which lie LANES vectors apart.
template <u32 LANES>
struct Columns {
    u64 panel;
    u64 d;
    u32 lane;

    __device__ __forceinline__ u64 first(u32 i) const {
        return panel + u64(i * LANES + lane) * kVector;
    }
    __device__ __forceinline__ u32 count(u32 i) const {
        const u64 at = first(i);
        return at >= d ? 0 : static_cast<u32>(min(d - at, u64(kVector)));
    }
};

// Adds up sums of the lanes of a team, of which there are LANES: those of N entries at a time, so that lanes
// part the entries among them rather than all have each. Lane l is left with max(N / LANES, 1) sums, from that of
// entry l * N / LANES on. The whole warp calls it.
template <u32 LANES, u32 N>
__device__ __forceinline__ void add_lanes(u32 lane, Acc (&sum)[N]) {
    u32 left = N;
#pragma unroll
    for (u32 apart = LANES / 2; apart > 0; apart /= 2) {
        if (left > 1) {
            left /= 2;
            const bool is_upper = (lane & apart) != 0;
#pragma unroll
            for (u32 i = 0; i < (N + 1) / 2; ++i) {
                if (i < left) {
                    const Acc given = is_upper ? sum[i] : sum[i + left];
                    const Acc kept = is_upper ? sum[i + left] : sum[i];
                    sum[i] = kept + __shfl_xor_sync(kWholeWarp, given, apart);
                }
            }
        } else {
            sum[0] += __shfl_xor_sync(kWholeWarp, sum[0], apart);
        }
    }
}
