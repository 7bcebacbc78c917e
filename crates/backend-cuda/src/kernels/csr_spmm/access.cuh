// How B is read by the CSR kernels, and multiplied.
#pragma once

#include "csr_spmm/params.cuh"
#include "ptx/grid.cuh"

// Waits for a copy of B that is being made. Binaries that read parts of vectors read no copies.
__device__ __forceinline__ void wait_for_b() {
#ifndef IN_PARTS
    ptx::wait_for_grid_before();
#endif
}

// Loads of BYTES that nothing writes while the kernel runs, on a multiple of BYTES: where `wanted`, undefined
// otherwise.
template <u32 BYTES>
struct Load;

template <>
struct Load<16> {
    using Loaded = ptx::Vector16;
    static __device__ __forceinline__ ptx::Vector16 load_if(bool wanted, const void* at) {
        return ptx::load_constant_if(wanted, at);
    }
};
template <>
struct Load<8> {
    using Loaded = ptx::Words2;
    static __device__ __forceinline__ ptx::Words2 load_if(bool wanted, const void* at) {
        return ptx::load_constant_64_if(wanted, at);
    }
};
template <>
struct Load<4> {
    using Loaded = ptx::Word;
    static __device__ __forceinline__ ptx::Word load_if(bool wanted, const void* at) {
        return ptx::load_constant_32_if(wanted, at);
    }
};
template <>
struct Load<2> {
    using Loaded = u16;
    static __device__ __forceinline__ u16 load_if(bool wanted, const void* at) {
        return ptx::load_constant_16_if(wanted, at);
    }
};

// The exact value of an element of what was loaded.
template <class Loaded>
__device__ __forceinline__ Acc widen_of(const Loaded& loaded, u32 i) {
    if constexpr (sizeof(Loaded) == 2) {
        return Value::widen(loaded);
    } else {
        return Value::widen(loaded, i);
    }
}

// Rows of B by loads of BYTES: a lane has COLUMNS columns in runs of as many neighbours as a load has, and
// neighbouring lanes have neighbouring runs.
template <u32 BYTES, u32 LANES, u32 COLUMNS>
struct Runs {
    static constexpr u32 kBytes = BYTES;
    static constexpr u32 kLanes = LANES;
    static constexpr u32 kColumns = COLUMNS;
    static constexpr u32 kPerLoad = BYTES / sizeof(Stored);
    static constexpr u32 kLoads = COLUMNS / kPerLoad;
    // Entries of an item whose rows of B a lane waits for at a time. With four of them, in two words of f32, short rows take
    // a tenth longer where B is narrow (`p2p-Gnutella31` on an H100, n = 6 and 10).
    static constexpr u32 kUnroll = COLUMNS > kVector || (BYTES == 8 && sizeof(Stored) == 4) ? 2 : 4;
    // The most lanes across a tile that read an entry of an item themselves, all from one place. Others stage entries for
    // each other, and then do not wait for the next ones between rows of B. On an H200, staging takes 1.01 to 1.4 times
    // as long up to these numbers and 0.82 to 1.02 times above, in geomean of 14 matrices.
    static constexpr u32 kMostApart = kUnroll < 4 ? 2 : 8;
    // Elements from one of a lane's runs to its next.
    static constexpr u32 kStep = LANES * kPerLoad;

    static __device__ __forceinline__ u64 column(u64 tile, u32 lane, u32 i) {
        return tile + (i / kPerLoad * LANES + lane) * kPerLoad + i % kPerLoad;
    }
    // Whether a lane beyond the last column reads the tile's first, so that its first load needs no condition.
    static constexpr bool kReadsAnyway = BYTES == 16;

    // The first of a lane's columns, or what it reads anyway.
    static __device__ __forceinline__ u64 first(u64 tile, u32 lane, u64 n) {
        const u64 first = column(tile, lane, 0);
        return first < n || !kReadsAnyway ? first : tile;
    }
    // How many of a lane's runs there are.
    static __device__ __forceinline__ u32 loads(u64 tile, u32 lane, u64 n) {
        u32 loads = 0;
#pragma unroll
        for (u32 i = 0; i < kLoads; ++i) {
            if (column(tile, lane, i * kPerLoad) < n) loads = i + 1;
        }
        return loads;
    }
    static __device__ __forceinline__ bool is_wanted(u32 i, u32 loads) {
        return (kReadsAnyway && i == 0) || i < loads;
    }

    // A lane's columns of rows of B, which are fewer than 2^32 bytes apart.
    struct Columns {
        const char* first_row;
        u32 row_bytes;
        u32 loads;

        __device__ __forceinline__ Columns(const Params& p, u64 tile, u32 lane)
            : first_row(static_cast<const char*>(p.b) + first(tile, lane, p.n) * sizeof(Stored)),
              row_bytes(static_cast<u32>(p.b_row_stride * sizeof(Stored))),
              loads(Runs::loads(tile, lane, p.n)) {}
        __device__ __forceinline__ const char* row(u32 col) const {
            return ptx::address_after(first_row, col, row_bytes);
        }
        __device__ __forceinline__ auto load(bool wanted, const char* row, u32 i) const {
            return Load<BYTES>::load_if(wanted && is_wanted(i, loads), row + i * kStep * sizeof(Stored));
        }
    };
    using Loaded = typename Load<BYTES>::Loaded;
};

// Rows of B that begin on 16 bytes are read in vectors, on 8 in two words of 4 bytes, on 4 in words. Larger values are
// read one by one, and so are 16-bit values on 2 bytes.
template <u32 LANES, u32 COLUMNS>
using Vectors = Runs<16, LANES, COLUMNS>;
template <u32 LANES, u32 COLUMNS>
using WordPairs = Runs<8, LANES, COLUMNS>;
template <u32 LANES, u32 COLUMNS>
using Words = Runs<sizeof(Stored) < 4 ? 4 : sizeof(Stored), LANES, COLUMNS>;
template <u32 LANES, u32 COLUMNS>
using Halves = Runs<2, LANES, COLUMNS>;
// All columns of a lane in one load.
template <u32 LANES, u32 COLUMNS>
using Whole = Runs<COLUMNS * sizeof(Stored), LANES, COLUMNS>;

// B element by element, whatever its strides: neighbouring lanes hold neighbouring columns.
template <u32 LANES, u32 COLUMNS>
struct Elements : Runs<sizeof(Stored), LANES, COLUMNS> {
    using Base = Runs<sizeof(Stored), LANES, COLUMNS>;
    static constexpr u32 kUnroll =
        COLUMNS >= 8 ? 1 : COLUMNS >= 4 || COLUMNS * sizeof(Stored) > 16 ? 2 : 4;
    static constexpr u32 kMostApart = kUnroll < 2 ? 0 : kUnroll < 4 ? 1 : 4;

    struct Columns {
        const Stored* b;
        u64 row_stride;
        u64 offset[COLUMNS];
        u32 loads;

        __device__ __forceinline__ Columns(const Params& p, u64 tile, u32 lane)
            : b(static_cast<const Stored*>(p.b)),
              row_stride(p.b_row_stride),
              loads(Base::loads(tile, lane, p.n)) {
#pragma unroll
            for (u32 i = 0; i < COLUMNS; ++i) {
                offset[i] = Base::column(tile, lane, i) * p.b_col_stride;
            }
        }
        __device__ __forceinline__ const Stored* row(u32 col) const { return b + col * row_stride; }
        __device__ __forceinline__ auto load(bool wanted, const Stored* row, u32 i) const {
            return Load<sizeof(Stored)>::load_if(wanted && i < loads, row + offset[i]);
        }
    };
};

// Adds the products of the first of N entries, `step` apart, that lie within `left`, or of ALL of them: all
// loads before the first use.
template <class Access, u32 N, bool ALL, u32 COLUMNS>
__device__ __forceinline__ void multiply_entries(const Entry* entries, u32 step, u32 left,
                                                 const typename Access::Columns& columns,
                                                 Acc (&sum)[COLUMNS]) {
    typename Access::Loaded b[N][Access::kLoads];
    Acc a[N];
#pragma unroll
    for (u32 u = 0; u < N; ++u) {
        if (ALL || u * step < left) {
            const Entry entry = entries[u * step];
            const auto* const row = columns.row(entry.col);
            a[u] = entry.value;
#pragma unroll
            for (u32 i = 0; i < Access::kLoads; ++i) b[u][i] = columns.load(true, row, i);
        }
    }
#pragma unroll
    for (u32 u = 0; u < N; ++u) {
        if (ALL || u * step < left) {
#pragma unroll
            for (u32 i = 0; i < COLUMNS; ++i) {
                const Acc wide = widen_of(b[u][i / Access::kPerLoad], i % Access::kPerLoad);
                sum[i] = add_product(a[u], wide, sum[i]);
            }
        }
    }
}
