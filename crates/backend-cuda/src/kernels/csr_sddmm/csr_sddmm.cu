// S = alpha * (X * Y^T) at the entries of a pattern in CSR + beta * S.
//
// An entry's inner product needs no other entry, so entries are cut into runs of equal length, whatever rows they
// are in: no row is too long, and empty rows are not in the list that runs walk through. A team of LANES lanes
// takes a run. Each lane keeps its vectors of the row of X in registers until the run comes to another row. It
// loads its vectors of kUnroll rows of Y at a time, and meanwhile the columns that come next. X may have more
// columns than a team has registers for. Then columns are taken in panels, and X is read once more for every
// kUnroll entries.
//
// A row of Y is read by neighbouring lanes in 128 bytes or more at a time. Lanes that a few columns leave over
// take other entries: so sums cross few lanes. A sum is added up in an order that d and the value type decide.
#include "csr_sddmm/access.cuh"
#include "csr_sddmm/params.cuh"
#include "shared/entry.cuh"

template <class Access, u32 LANES, u32 VECTORS>
__device__ __forceinline__ void load_x(const Params& p, u64 row, const Columns<LANES>& columns,
                                       bool is_ragged, Acc (&x)[VECTORS * kVector]) {
    const Stored* const at = static_cast<const Stored*>(p.x) + row * p.x_row_stride;
    typename Access::Loaded loaded[VECTORS];
#pragma unroll
    for (u32 i = 0; i < VECTORS; ++i) {
        loaded[i] = Access::load(at, p.x_col_stride, columns.first(i), columns.count(i));
    }
#pragma unroll
    for (u32 i = 0; i < VECTORS; ++i) {
        if (is_ragged) Access::keep(loaded[i], columns.count(i));
#pragma unroll
        for (u32 w = 0; w < kVector; ++w) x[i * kVector + w] = Access::widen(loaded[i], w);
    }
}

// Columns of the N entries from `done` on. Beyond the last that of the last is read once more.
template <u32 N>
__device__ __forceinline__ void load_columns(const u32* run, u32 done, u32 last, u32 (&col)[N]) {
#pragma unroll
    for (u32 u = 0; u < N; ++u) col[u] = ptx::load_constant_32(run + min(done + u, last));
}

template <class Access, u32 LANES, u32 VECTORS, bool PANELS>
__device__ __forceinline__ void sample_run(const Params& p) {
    constexpr u32 kUnroll = Access::template kUnroll<VECTORS>;
    constexpr u64 kPanel = u64(LANES) * VECTORS * kVector;
    constexpr u32 kHeld = kUnroll > LANES ? kUnroll / LANES : 1;
    constexpr u32 kHolders = LANES > kUnroll ? LANES / kUnroll : 1;

    const u32 lane = threadIdx.x % LANES;
    const u64 team = (u64(blockIdx.x) * kThreads + threadIdx.x) / LANES;
    // A team beyond the last entry has none, and reads that one's columns.
    const u64 begin = min(team * p.run, p.nnz - 1);
    const u32 length =
        team * p.run < p.nnz ? static_cast<u32>(min(p.nnz - begin, u64(p.run))) : 0;
    const u32 last = length > 0 ? length - 1 : 0;
    const u32* const run = p.col_idx + begin;
    Acc* const s = static_cast<Acc*>(p.s) + begin * p.s_stride;
    // Whether some lane has columns in a panel that are not there.
    const bool is_ragged = p.d % kPanel != 0;

    Columns<LANES> columns = {0, p.d, lane};
    Acc x[VECTORS * kVector] = {};
    u32 number = 0;
    u32 row_end = 0;
    // The row after this one is loaded before it is needed.
    Row row = {}, next = {};
    if (length > 0) {
        number = ptx::load_constant_32(p.first_row + begin / kGroup);
        row = load_row(p, number);
        next = load_row(p, ++number);
        row_end = static_cast<u32>(min(row.end - begin, u64(length)));
        if (!PANELS) load_x<Access, LANES, VECTORS>(p, row.row, columns, is_ragged, x);
    }
    u32 col[kUnroll];
    load_columns(run, 0, last, col);
    // Teams of a warp go through their runs in step, so that the whole warp adds up.
    for (u32 done = 0, n = 0; __any_sync(kWholeWarp, done < length); done += n) {
        Acc sum[kUnroll] = {};
        for (columns.panel = 0;;) {
            typename Access::Loaded y[kUnroll][VECTORS];
#pragma unroll
            for (u32 u = 0; u < kUnroll; ++u) {
                const Stored* from = static_cast<const Stored*>(p.y) + col[u] * p.y_row_stride;
#pragma unroll
                for (u32 i = 0; i < VECTORS; ++i) {
                    y[u][i] = Access::load(from, p.y_col_stride, columns.first(i), columns.count(i));
                }
            }
            if (!PANELS || columns.panel == 0) {
                if (done == row_end && done < length) {
                    row = next;
                    if (!PANELS) load_x<Access, LANES, VECTORS>(p, row.row, columns, is_ragged, x);
                    next = load_row(p, ++number);
                    row_end = static_cast<u32>(min(row.end - begin, u64(length)));
                }
                n = min(row_end - done, kUnroll);
            }
            const bool is_last = !PANELS || columns.panel + kPanel >= p.d;
            if (PANELS) load_x<Access, LANES, VECTORS>(p, row.row, columns, is_ragged, x);
            if (is_last) load_columns(run, done + n, last, col);
            if (is_ragged) {
#pragma unroll
                for (u32 u = 0; u < kUnroll; ++u) {
#pragma unroll
                    for (u32 i = 0; i < VECTORS; ++i) Access::keep(y[u][i], columns.count(i));
                }
            }
#pragma unroll
            for (u32 i = 0; i < VECTORS * kVector; ++i) {
#pragma unroll
                for (u32 u = 0; u < kUnroll; ++u) {
                    const Acc wide = Access::widen(y[u][i / kVector], i % kVector);
                    sum[u] = multiply_add(x[i], wide, sum[u]);
                }
            }
            if (is_last) break;
            columns.panel += kPanel;
        }
        add_lanes<LANES>(lane, sum);
        if (lane % kHolders == 0) {
#pragma unroll
            for (u32 i = 0; i < kHeld; ++i) {
                const u32 u = lane * kUnroll / LANES + i;
                if (u < n) store_entry(p, s + (done + u) * p.s_stride, sum[i]);
            }
        }
    }
}

#define CSR_SDDMM(NAME, ACCESS, LANES, VECTORS, PANELS)                                     \
    ENTRY_POINT(csr_sddmm_##NAME, kThreads)                                                 \
    (const __grid_constant__ Params p) {                                                    \
        sample_run<ACCESS, LANES, VECTORS, PANELS>(p);                                      \
    }

CSR_SDDMM(vectors_1x1, Vectors, 1, 1, false)
CSR_SDDMM(vectors_2x1, Vectors, 2, 1, false)
CSR_SDDMM(vectors_4x1, Vectors, 4, 1, false)
CSR_SDDMM(vectors_8x1, Vectors, 8, 1, false)
CSR_SDDMM(vectors_8x2, Vectors, 8, 2, false)
CSR_SDDMM(vectors_8x4, Vectors, 8, 4, false)
CSR_SDDMM(vectors_32x2, Vectors, 32, 2, false)
CSR_SDDMM(vectors_panels, Vectors, 32, 2, true)
CSR_SDDMM(elements_1x1, Elements, 1, 1, false)
CSR_SDDMM(elements_2x1, Elements, 2, 1, false)
CSR_SDDMM(elements_4x1, Elements, 4, 1, false)
CSR_SDDMM(elements_8x1, Elements, 8, 1, false)
CSR_SDDMM(elements_8x2, Elements, 8, 2, false)
CSR_SDDMM(elements_8x4, Elements, 8, 4, false)
CSR_SDDMM(elements_32x2, Elements, 32, 2, false)
CSR_SDDMM(elements_panels, Elements, 32, 2, true)

// S = beta * S: the product for alpha = 0, which reads neither X nor Y.
ENTRY_POINT(csr_sddmm_scale, 256)(const __grid_constant__ Params p) {
    const u64 threads = u64(gridDim.x) * blockDim.x;
    const Acc beta = p.beta;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < p.nnz; i += threads) {
        Acc* at = static_cast<Acc*>(p.s) + i * p.s_stride;
        *at = beta == Acc(0) ? Acc(0) : beta * *at;
    }
}
