// Where the sums of the CSR kernels go.
#pragma once

#include "csr_spmm/params.cuh"

// What becomes of a sum. With beta = 0, C is not read.
struct Epilogue {
    Acc alpha;
    Acc beta;

    __device__ __forceinline__ Acc operator()(Acc sum, const Acc* before) const {
        return beta == Acc(0) ? alpha * sum : multiply_add(alpha, sum, beta * *before);
    }
};

// Stores a lane's sums, kept or scaled, kWidth of them side by side at a time.
template <class Access, u32 COLUMNS, class Finish>
__device__ __forceinline__ void store_sums(Acc* row, u64 stride, bool in_vectors, u64 tile, u32 lane,
                                           u64 n, const Acc (&sum)[COLUMNS], const Finish& finish) {
    constexpr bool kSideBySide = Access::kPerLoad > 1;
    if constexpr (kSideBySide) {
        if (in_vectors) {
#pragma unroll
            for (u32 i = 0; i < COLUMNS; i += kWidth) {
                const u64 column = Access::column(tile, lane, i);
                if (column + kWidth <= n) {
                    Sums out;
#pragma unroll
                    for (u32 w = 0; w < kWidth; ++w) {
                        out.sum[w] = finish(sum[i + w], row + column + w);
                    }
                    *reinterpret_cast<ptx::Vector16*>(row + column) = out.vector;
                } else {
#pragma unroll
                    for (u32 w = 0; w < kWidth; ++w) {
                        if (column + w < n) row[column + w] = finish(sum[i + w], row + column + w);
                    }
                }
            }
            return;
        }
    }
#pragma unroll
    for (u32 i = 0; i < COLUMNS; ++i) {
        const u64 column = Access::column(tile, lane, i);
        Acc* at = row + column * stride;
        if (column < n) *at = finish(sum[i], at);
    }
}

// Stores the sums of an item: of a piece as they are, of a row scaled.
template <class Access, u32 COLUMNS>
__device__ __forceinline__ void store_item(const Params& p, bool is_piece, u32 row, u64 tile,
                                           u32 lane, const Acc (&sum)[COLUMNS]) {
    if (is_piece) {
        Acc* to = static_cast<Acc*>(p.partials) + row * p.partial_stride;
        store_sums<Access, COLUMNS>(to, 1, true, tile, lane, p.n, sum,
                                    [](Acc kept, const Acc*) { return kept; });
    } else {
        Acc* to = static_cast<Acc*>(p.c) + row * p.c_row_stride;
        store_sums<Access, COLUMNS>(to, p.c_col_stride, p.c_in_vectors != 0, tile, lane, p.n, sum,
                                    Epilogue{Acc(p.alpha), Acc(p.beta)});
    }
}
