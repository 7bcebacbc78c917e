// How B is read by the CSR kernels, and multiplied.
#pragma once

#include "csr_spmm/params.cuh"

// B in whole vectors: a lane holds COLUMNS / kVector runs of kVector neighbouring columns.
template <u32 LANES, u32 COLUMNS>
struct Vectors {
    static constexpr u32 kRuns = COLUMNS / kVector;
    static constexpr u32 kUnroll = kRuns == 1 ? 4 : 2;
    using Loaded = ptx::Vector16;

    static __device__ __forceinline__ u64 column(u64 tile, u32 lane, u32 i) {
        return tile + (i / kVector * LANES + lane) * kVector + i % kVector;
    }
    static __device__ __forceinline__ u64 offset(u64 column, u64) { return column; }
    static __device__ __forceinline__ Loaded load(const Stored* at) {
        return ptx::load_constant(at);
    }
    static __device__ __forceinline__ Acc widen(const Loaded& v, u32 i) {
        return Value::widen(v, i);
    }
    static constexpr u32 kPerLoad = kVector;
};

// B element by element, whatever its strides: neighbouring lanes hold neighbouring columns.
template <u32 LANES, u32 COLUMNS>
struct Elements {
    static constexpr u32 kUnroll =
        COLUMNS >= 8 ? 1 : COLUMNS >= 4 || COLUMNS * sizeof(Stored) > 16 ? 2 : 4;
    using Loaded = Stored;

    static __device__ __forceinline__ u64 column(u64 tile, u32 lane, u32 i) {
        return tile + i * LANES + lane;
    }
    static __device__ __forceinline__ u64 offset(u64 column, u64 stride) { return column * stride; }
    static __device__ __forceinline__ Loaded load(const Stored* at) { return Value::load(at); }
    static __device__ __forceinline__ Acc widen(const Loaded& v, u32) { return Value::widen(v); }
    static constexpr u32 kPerLoad = 1;
};

// Adds the products of the first of N entries, `step` apart, that lie within `left`, or of ALL of them: all
// loads before the first use.
template <class Access, u32 N, bool ALL, u32 LOADS>
__device__ __forceinline__ void multiply_entries(
    const Params& p, const Entry* entries, u32 step, u32 left, const u64 (&offset)[LOADS],
    Acc (&sum)[LOADS * Access::kPerLoad]) {
    typename Access::Loaded b[N][LOADS];
    Acc a[N];
#pragma unroll
    for (u32 u = 0; u < N; ++u) {
        if (ALL || u * step < left) {
            const Entry entry = entries[u * step];
            const Stored* row = static_cast<const Stored*>(p.b) + entry.col * p.b_row_stride;
            a[u] = entry.value;
#pragma unroll
            for (u32 i = 0; i < LOADS; ++i) b[u][i] = Access::load(row + offset[i]);
        }
    }
#pragma unroll
    for (u32 u = 0; u < N; ++u) {
        if (ALL || u * step < left) {
#pragma unroll
            for (u32 i = 0; i < LOADS * Access::kPerLoad; ++i) {
                const Acc wide = Access::widen(b[u][i / Access::kPerLoad], i % Access::kPerLoad);
                sum[i] = add_product(a[u], wide, sum[i]);
            }
        }
    }
}
