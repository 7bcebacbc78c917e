// B in e4m3 with a scale for each column, k contiguous: what products of e4m3 read.
//
// Host side: mod.rs. A source is configured by
//   VALUE     the value type of B: F16, Bf16 or F32
//
// The scale of a column is its largest finite magnitude divided by 448, the largest number of e4m3: 1 if that is 0.
// An element is divided by it in f32 and rounded to nearest even. What is not finite becomes NaN. Two launches: the
// first finds the largest magnitude of each column in parts of k, the second takes the largest of those. So all
// multiprocessors have work however few columns there are, and nothing depends on their order.
#include "shared/entry.cuh"
#include "shared/types.cuh"
#include "shared/values.cuh"
#include "ptx/convert.cuh"

using Value = VALUE;

constexpr u32 kThreads = 256;
// Columns of a CTA, and rows that it has in shared memory at a time.
constexpr u32 kColumns = 32;
constexpr u32 kDepth = 128;
constexpr u32 kInfinity = 0x7f800000u;
// The least normal float: smaller scales would have fewer digits.
constexpr float kLeastScale = 1.17549435e-38f;

#include "quantize_e4m3/passed.cuh"

// The element, as it is summed.
__device__ __forceinline__ float element(const Params& p, u64 row, u64 column) {
    const typename Value::Stored* const b = static_cast<const typename Value::Stored*>(p.b);
    return Value::widen(Value::load(b + row * p.row_stride + column * p.col_stride));
}

// The bits of a magnitude, which are in the order of magnitudes; 0 if it is not finite.
__device__ __forceinline__ u32 magnitude(float x) {
    const u32 bits = __float_as_uint(x) & 0x7fffffffu;
    return bits < kInfinity ? bits : 0;
}

ENTRY_POINT(quantize_e4m3_largest, kThreads)(const __grid_constant__ Params p) {
    __shared__ u32 largest[kColumns];
    const u64 first = u64(blockIdx.x) * kColumns;
    const u64 begin = u64(blockIdx.y) * p.part_rows;
    const u64 end = begin + p.part_rows < p.k ? begin + p.part_rows : p.k;
    if (threadIdx.x < kColumns) largest[threadIdx.x] = 0;
    __syncthreads();
    // Lanes read neighbours, along rows or along columns.
    const bool along_rows = p.col_stride <= p.row_stride;
    const u32 lane = threadIdx.x % kWarpSize;
    const u32 warp = threadIdx.x / kWarpSize;
    constexpr u32 kWarps = kThreads / kWarpSize;
    if (along_rows) {
        u32 own = 0;
        if (first + lane < p.n) {
            for (u64 row = begin + warp; row < end; row += kWarps) {
                const u32 bits = magnitude(element(p, row, first + lane));
                own = bits > own ? bits : own;
            }
        }
        atomicMax(&largest[lane], own);
    } else {
        for (u32 column = warp; column < kColumns && first + column < p.n; column += kWarps) {
            u32 own = 0;
            for (u64 row = begin + lane; row < end; row += kWarpSize) {
                const u32 bits = magnitude(element(p, row, first + column));
                own = bits > own ? bits : own;
            }
            atomicMax(&largest[column], own);
        }
    }
    __syncthreads();
    if (threadIdx.x < kColumns && first + threadIdx.x < p.n) {
        p.largest[blockIdx.y * p.part_stride + first + threadIdx.x] = largest[threadIdx.x];
    }
}

ENTRY_POINT(quantize_e4m3_codes, kThreads)(const __grid_constant__ Params p) {
    // A word more than a column has, so that lanes meet different banks.
    constexpr u32 kWords = kDepth / 4;
    __shared__ u32 tile[kColumns][kWords + 1];
    __shared__ float scales[kColumns];
    const u64 first = u64(blockIdx.x) * kColumns;
    const u64 begin = u64(blockIdx.y) * p.part_rows;
    const u64 end = begin + p.part_rows < p.pitch ? begin + p.part_rows : p.pitch;
    if (threadIdx.x < kColumns) {
        const u64 column = first + threadIdx.x;
        u32 bits = 0;
        for (u32 part = 0; part < p.n_parts && column < p.n; ++part) {
            const u32 other = p.largest[part * p.part_stride + column];
            bits = other > bits ? other : bits;
        }
        const float scale = __fdiv_rn(__uint_as_float(bits), 448.0f);
        scales[threadIdx.x] = bits == 0 ? 1.0f : scale > kLeastScale ? scale : kLeastScale;
        if (blockIdx.y == 0 && column < p.n) p.scales[column] = scales[threadIdx.x];
    }
    __syncthreads();
    const bool along_rows = p.col_stride <= p.row_stride;
    for (u64 row = begin; row < end; row += kDepth) {
        for (u32 i = threadIdx.x; i < kColumns * kWords; i += kThreads) {
            const u32 column = along_rows ? i % kColumns : i / kWords;
            const u32 word = along_rows ? i / kColumns : i % kWords;
            float x[4];
#pragma unroll
            for (u32 j = 0; j < 4; ++j) {
                const u64 at = row + word * 4 + j;
                x[j] = 0.0f;
                if (at < p.k && first + column < p.n) {
                    const float of_b = element(p, at, first + column);
                    // e4m3 has no infinity.
                    x[j] = __fdiv_rn(__fmul_rn(of_b, 0.0f) == 0.0f ? of_b : __uint_as_float(0x7fffffffu),
                                     scales[column]);
                }
            }
            tile[column][word] = ptx::narrow_e4m3(x[1], x[0]) |
                                 static_cast<u32>(ptx::narrow_e4m3(x[3], x[2])) << 16;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < kColumns * kWords / 4; i += kThreads) {
            const u32 column = i / (kWords / 4);
            const u32 chunk = i % (kWords / 4);
            const u64 at = row + chunk * 16;
            if (at >= p.pitch || first + column >= p.n) continue;
            ptx::Vector16 codes;
#pragma unroll
            for (u32 j = 0; j < 4; ++j) codes.word[j] = tile[column][chunk * 4 + j];
            ptx::store_global(p.codes + (first + column) * p.pitch + at, codes);
        }
        __syncthreads();
    }
}
