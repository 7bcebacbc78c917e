// Where the sums of the CSR kernels go.
#pragma once

#include "csr_spmm/params.cuh"

// What becomes of the sums of a row of C. With beta = 0, C is not read.
struct Scaled {
    Acc alpha;
    Acc beta;
    const Last& epilogue;
    u64 row;

    __device__ __forceinline__ bool reads() const { return beta != Acc(0); }

    // Of the sum of a column, and what its element was.
    __device__ __forceinline__ Acc operator()(Acc sum, const Acc* before, u64 column) const {
        return epilogue(scaled(sum, reads() ? *before : Acc(0)), row, column);
    }
    // Of 16 bytes, which `before` begins on.
    __device__ __forceinline__ Sums operator()(const Sums& sums, const Acc* before,
                                               u64 column) const {
        Sums out = {};
        if (reads()) out.vector = ptx::load_global(before);
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
    return p.split_entries[number];
}
#else
using Finish = Scaled;
__device__ __forceinline__ Finish finish_of(const Params& p, u64 row, u32) {
    return {alpha_of(p), beta_of(p), p.epilogue, row};
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

// Stores the sums of neighbouring columns from `first` on, kept or scaled: as 16 bytes where rows are `in_vectors` and
// they make as many. That is an instruction of our own: of a vector in memory, the compiler makes four stores of
// which each touches every sector.
template <u32 SIDE_BY_SIDE, class Finish>
__device__ __forceinline__ void store_run(Acc* row, u64 stride, bool in_vectors, u64 first, u64 n,
                                          const Acc* sum, const Finish& finish) {
    if constexpr (SIDE_BY_SIDE > 1) {
        if (in_vectors && first + kWidth <= n) {
            Sums out;
#pragma unroll
            for (u32 w = 0; w < kWidth; ++w) out.sum[w] = sum[w];
            ptx::store_global(row + first, finish(out, row + first, first).vector);
            return;
        }
    }
#pragma unroll
    for (u32 w = 0; w < SIDE_BY_SIDE; ++w) {
        const u64 column = first + w;
        Acc* at = row + column * stride;
        if (column < n) *at = finish(sum[w], at, column);
    }
}

// Stores a lane's sums.
template <class Access, u32 COLUMNS, class Finish>
__device__ __forceinline__ void store_sums(Acc* row, u64 stride, bool in_vectors, u64 tile, u32 lane,
                                           u64 n, const Acc (&sum)[COLUMNS], const Finish& finish) {
    constexpr u32 kSideBySide = Access::kPerLoad > 1 ? kWidth : 1;
#pragma unroll
    for (u32 i = 0; i < COLUMNS; i += kSideBySide) {
        store_run<kSideBySide>(row, stride, in_vectors, Access::column(tile, lane, i), n, sum + i, finish);
    }
}

// Stores the sums of an item: of a piece as they are, of a row of `entries` entries scaled and finished.
template <class Access, u32 COLUMNS>
__device__ __forceinline__ void store_item(const Params& p, bool is_piece, u32 row, u32 entries,
                                           u64 tile, u32 lane, const Acc (&sum)[COLUMNS]) {
    if (is_piece) {
        Acc* to = static_cast<Acc*>(p.partials) + row * p.partial_stride;
        store_sums<Access, COLUMNS>(to, 1, true, tile, lane, p.n, sum, Kept{});
    } else {
        Acc* to = static_cast<Acc*>(p.c) + row * p.c_row_stride;
        store_sums<Access, COLUMNS>(to, p.c_col_stride, p.c_in_vectors != 0, tile, lane, p.n, sum,
                                    finish_of(p, row, entries));
    }
}
