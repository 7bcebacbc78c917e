// Where the sums of the CSR kernels go.
#pragma once

#include "csr_spmm/params.cuh"

// Elements that stand for 16 bytes of sums, on a multiple of their bytes.
__device__ __forceinline__ Sums load_vector(const Acc* at) {
    Sums out;
    out.vector = ptx::load_global(at);
    return out;
}
__device__ __forceinline__ void store_vector(Acc* at, const Sums& sums) {
    ptx::store_global(at, sums.vector);
}

// Stores two sums of 4 bytes at once.
template <class Float>
__device__ __forceinline__ void store_pair(Float* at, Float left, Float right) {
    static_assert(sizeof(Float) == 4, "there are stores of 8 bytes and of 16");
    ptx::store_global(at, __float_as_uint(left), __float_as_uint(right));
}

#ifdef OUTPUT
__device__ __forceinline__ Sums load_vector(const u16* at) {
    const float4 before = load_four(at);
    Sums out;
    out.sum[0] = before.x;
    out.sum[1] = before.y;
    out.sum[2] = before.z;
    out.sum[3] = before.w;
    return out;
}
__device__ __forceinline__ void store_vector(u16* at, const Sums& sums) {
    ptx::store_global(at, rounded_pair(sums.sum[0], sums.sum[1]),
                      rounded_pair(sums.sum[2], sums.sum[3]));
}
__device__ __forceinline__ void store_pair(u16* at, float left, float right) {
    *reinterpret_cast<u32*>(at) = rounded_pair(left, right);
}
#endif

// What becomes of what the products of a row of C with `entries` entries come to.
#ifdef AGGREGATE
// What the products of a row come to, where that is not their sum.
struct Aggregated {
    Acc sign;
    u32 entries;

    __device__ __forceinline__ Acc operator()(Acc total, const Acc*, u64) const {
        return finished(total, sign, entries);
    }
    __device__ __forceinline__ Sums operator()(const Sums& totals, const Acc*, u64) const {
        Sums out;
#pragma unroll
        for (u32 w = 0; w < kWidth; ++w) out.sum[w] = finished(totals.sum[w], sign, entries);
        return out;
    }
};

using Finish = Aggregated;
__device__ __forceinline__ Finish finish_of(const Params& p, u64, u32 entries) {
    return {alpha_of(p), entries};
}
__device__ __forceinline__ u32 entries_of_split(const Params& p, u32 number) {
    return p.last.split_entries[number];
}
#else
// What becomes of the sums of a row of C. With beta = 0, C is not read.
struct Scaled {
    Acc alpha;
    Acc beta;
    const Last& epilogue;
    u64 row;

    __device__ __forceinline__ bool reads() const { return beta != Acc(0); }

    // Of the sum of a column, and what its element was.
    __device__ __forceinline__ Acc operator()(Acc sum, const OfC* before, u64 column) const {
        return epilogue(scaled(sum, reads() ? widened(*before) : Acc(0)), row, column);
    }
    // Of 16 bytes of sums, whose elements `before` begins.
    __device__ __forceinline__ Sums operator()(const Sums& sums, const OfC* before,
                                               u64 column) const {
        Sums out = {};
        if (reads()) out = load_vector(before);
#pragma unroll
        for (u32 w = 0; w < kWidth; ++w) {
            out.sum[w] = epilogue(scaled(sums.sum[w], out.sum[w]), row, column + w);
        }
        return out;
    }

private:
    __device__ __forceinline__ Acc scaled(Acc sum, Acc before) const {
        return reads() ? scale_add(alpha, sum, scale(beta, before)) : scale(alpha, sum);
    }
};

using Finish = Scaled;
__device__ __forceinline__ Finish finish_of(const Params& p, u64 row, u32) {
    return {alpha_of(p), beta_of(p), p.last, row};
}
__device__ __forceinline__ u32 entries_of_split(const Params&, u32) { return 0; }
#endif

// Sums that are kept as they are.
struct Kept {
    __device__ __forceinline__ Acc operator()(Acc sum, const Acc*, u64) const { return sum; }
    __device__ __forceinline__ Sums operator()(const Sums& sums, const Acc*, u64) const {
        return sums;
    }
};

// Neighbouring columns that a lane stores at a time.
template <class Access>
constexpr u32 kSideBySide = Access::kPerLoad < kWidth ? Access::kPerLoad : kWidth;

// Stores the sums of neighbouring columns from `first` on, kept or scaled: as 16 or 8 bytes where rows are vectors of
// as many and they make one. That is an instruction of our own: of a vector in memory, the compiler makes four stores of
// which each touches every sector.
template <u32 SIDE_BY_SIDE, class Element, class Finish>
__device__ __forceinline__ void store_run(Element* row, u64 stride, u32 vector_bytes, u64 first, u64 n,
                                          const Acc* sum, const Finish& finish) {
    if constexpr (SIDE_BY_SIDE > 1) {
        constexpr u32 kBytes = SIDE_BY_SIDE * sizeof(Acc);
        if (vector_bytes >= kBytes && first + SIDE_BY_SIDE <= n) {
            if constexpr (kBytes == 16) {
                Sums out;
#pragma unroll
                for (u32 w = 0; w < kWidth; ++w) out.sum[w] = sum[w];
                store_vector(row + first, finish(out, row + first, first));
            } else {
                store_pair(row + first, finish(sum[0], row + first, first),
                           finish(sum[1], row + first + 1, first + 1));
            }
            return;
        }
    }
#pragma unroll
    for (u32 w = 0; w < SIDE_BY_SIDE; ++w) {
        const u64 column = first + w;
        Element* at = row + column * stride;
        if (column < n) put(at, finish(sum[w], at, column));
    }
}

// Stores a lane's sums.
template <class Access, u32 COLUMNS, class Element, class Finish>
__device__ __forceinline__ void store_sums(Element* row, u64 stride, u32 vector_bytes, u64 tile, u32 lane,
                                           u64 n, const Acc (&sum)[COLUMNS], const Finish& finish) {
#pragma unroll
    for (u32 i = 0; i < COLUMNS; i += kSideBySide<Access>) {
        store_run<kSideBySide<Access>>(row, stride, vector_bytes, Access::column(tile, lane, i), n,
                                       sum + i, finish);
    }
}

// Stores the sums of an item: of a piece as they are, of a row of `entries` entries scaled and finished.
template <class Access, u32 COLUMNS>
__device__ __forceinline__ void store_item(const Params& p, bool is_piece, u32 row, u32 entries,
                                           u64 tile, u32 lane, const Acc (&sum)[COLUMNS]) {
    if (is_piece) {
        Acc* to = static_cast<Acc*>(p.partials) + row * p.partial_stride;
        store_sums<Access, COLUMNS>(to, 1, 16, tile, lane, p.n, sum, Kept{});
    } else {
        OfC* to = static_cast<OfC*>(p.c) + row * p.c_row_stride;
        store_sums<Access, COLUMNS>(to, p.c_col_stride, p.c_vector_bytes, tile, lane, p.n, sum,
                                    finish_of(p, row, entries));
    }
}

// Whether lanes swap vectors of sums before they store them: where a lane has two side by side, of 16-bit values. Two lanes
// to a row gain nothing, and vectors of a rounded C are half as long: a pair of them fills no sector.
#ifdef OUTPUT
template <class Access>
constexpr bool kSwaps = false;
#else
template <class Access>
constexpr bool kSwaps = Access::kLanes >= 4 && Access::kPerLoad == 2 * kWidth;
#endif

// Where a lane's columns are once it swapped vectors of sums with its neighbour, if it does. What an instruction stores
// then fills whole sectors, not halves of twice as many.
template <class Access, bool SWAPS = kSwaps<Access>>
struct Stores : Access {
    static constexpr u32 kPerLoad = SWAPS ? kWidth : Access::kPerLoad;

    static __device__ __forceinline__ u64 column(u64 tile, u32 lane, u32 i) {
        if constexpr (SWAPS) {
            constexpr u32 kPair = 2 * kWidth;
            const u64 even = Access::column(tile, lane & ~1u, i / kPair * kPair);
            return even + i / kWidth % 2 * kPair + lane % 2 * kWidth + i % kWidth;
        }
        return Access::column(tile, lane, i);
    }
};

// Swaps the second vector of each even lane and the first of the next, where lanes swap. The whole warp calls it.
template <class Access, bool SWAPS = kSwaps<Access>, u32 COLUMNS>
__device__ __forceinline__ void swap_vectors(u32 lane, Acc (&sum)[COLUMNS]) {
    if constexpr (SWAPS) {
        const bool odd = lane % 2 != 0;
#pragma unroll
        for (u32 first = 0; first < COLUMNS; first += 2 * kWidth) {
#pragma unroll
            for (u32 w = 0; w < kWidth; ++w) {
                Acc& left = sum[first + w];
                Acc& right = sum[first + kWidth + w];
                const Acc other = shuffle_xor(odd ? left : right, 1);
                left = odd ? other : left;
                right = odd ? right : other;
            }
        }
    }
}

// Whether lanes that have vectors of sums exchange them where rows of C are no vectors: stored by the lanes that have
// them, neighbours would be vectors apart.
template <class Access>
constexpr bool kExchanges = Access::kLanes > 1 && kWidth > 1 && kSideBySide<Access> == kWidth;

// Stores the sums of a row by the lanes that are to, after they exchanged them through `buffer`, which has an element for
// each of the columns of a run. The whole warp calls it.
template <class Access, u32 COLUMNS>
__device__ __forceinline__ void store_exchanged(const Params& p, bool stores, u32 row, u32 entries,
                                                u64 tile, u32 lane, const Acc (&sum)[COLUMNS],
                                                Acc* buffer) {
    constexpr u32 kRun = Access::kPerLoad;
    OfC* const to = static_cast<OfC*>(p.c) + row * p.c_row_stride;
    const Finish finish = finish_of(p, row, entries);
#pragma unroll
    for (u32 run = 0; run < COLUMNS; run += kRun) {
        if (stores) {
#pragma unroll
            for (u32 i = 0; i < kRun; i += kWidth) {
                Sums out;
#pragma unroll
                for (u32 w = 0; w < kWidth; ++w) out.sum[w] = sum[run + i + w];
                *reinterpret_cast<ptx::Vector16*>(buffer + lane * kRun + i) = out.vector;
            }
        }
        __syncwarp();
        if (stores) {
// Unrolled more, it takes too many registers.
#pragma unroll 2
            for (u32 i = 0; i < kRun; ++i) {
                const u32 at = i * Access::kLanes + lane;
                const u64 column = tile + run * Access::kLanes + at;
                OfC* const element = to + column * p.c_col_stride;
                if (column < p.n) put(element, finish(buffer[at], element, column));
            }
        }
        __syncwarp();
    }
}
