// B in rows of whole 16-byte vectors: a copy for kernels that read vectors.
//
// Host side: mod.rs. There is nothing to configure: entry points differ by the bytes of an element.
//
// A block has a tile of kRows rows and 128 bytes of each, or one vector of each element. Lanes read what lies side by
// side, along rows or along columns, and write vectors. What lies beyond the last column is zero.
#include "shared/entry.cuh"
#include "shared/types.cuh"
#include "ptx/grid.cuh"
#include "ptx/memory.cuh"

constexpr u32 kThreads = 256;
constexpr u32 kRows = 32;

#include "pack_b/passed.cuh"

// Elements move as their bits.
template <u32 BYTES>
struct Bits;
template <>
struct Bits<2> {
    using Element = u16;
    static __device__ __forceinline__ u16 load(const u16* at) { return ptx::load_constant_16(at); }
};
template <>
struct Bits<4> {
    using Element = u32;
    static __device__ __forceinline__ u32 load(const u32* at) { return ptx::load_constant_32(at); }
};
template <>
struct Bits<8> {
    using Element = u64;
    static __device__ __forceinline__ u64 load(const u64* at) { return ptx::load_constant_64(at); }
};

template <u32 BYTES>
__device__ __forceinline__ void pack(const Params& p) {
    using Element = typename Bits<BYTES>::Element;
    constexpr u32 kColumns = BYTES == 8 ? 32 : 128 / BYTES;
    constexpr u32 kPerVector = 16 / BYTES;
    constexpr u32 kVectors = kColumns / kPerVector;
    constexpr u32 kEach = kRows * kColumns / kThreads;
    // Rows begin on 16 bytes, and neighbours on other banks.
    __shared__ __align__(16) Element tile[kRows][kColumns + kPerVector];

    ptx::let_next_grid_begin();
    const u64 first_row = blockIdx.x / p.tiles_of_columns * kRows;
    const u64 first_column = blockIdx.x % p.tiles_of_columns * kColumns;
    const bool along_rows = p.col_stride <= p.row_stride;
    const Element* const from = static_cast<const Element*>(p.from);
    Element found[kEach];
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
        const u32 at = i * kThreads + threadIdx.x;
        const u64 row = first_row + (along_rows ? at / kColumns : at % kRows);
        const u64 column = first_column + (along_rows ? at % kColumns : at / kRows);
        found[i] = 0;
        if (row < p.rows && column < p.cols) {
            found[i] = Bits<BYTES>::load(from + row * p.row_stride + column * p.col_stride);
        }
    }
#pragma unroll
    for (u32 i = 0; i < kEach; ++i) {
        const u32 at = i * kThreads + threadIdx.x;
        tile[along_rows ? at / kColumns : at % kRows][along_rows ? at % kColumns : at / kRows] = found[i];
    }
    __syncthreads();
#pragma unroll
    for (u32 i = 0; i < kRows * kVectors / kThreads; ++i) {
        const u32 at = i * kThreads + threadIdx.x;
        const u64 row = first_row + at / kVectors;
        const u64 column = first_column + at % kVectors * kPerVector;
        if (row < p.rows && column < p.pitch) {
            const void* const vector = &tile[at / kVectors][at % kVectors * kPerVector];
            ptx::store_global(static_cast<Element*>(p.to) + row * p.pitch + column,
                              *static_cast<const ptx::Vector16*>(vector));
        }
    }
}

#define PACK_B(BYTES)                   \
    ENTRY_POINT(pack_b_##BYTES, kThreads) \
    (const __grid_constant__ Params p) { pack<BYTES>(p); }

PACK_B(2)
PACK_B(4)
PACK_B(8)
