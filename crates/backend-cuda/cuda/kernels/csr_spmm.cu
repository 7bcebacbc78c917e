// C = alpha * A * B + beta * C, A in CSR: a warp per row, after casperSPARSE (section III).
//
// VALUE names the value type: F32, F64, F16 or Bf16. Host twin: src/kernels/csr_spmm.rs.
//
// The work is a list of items, each a run of entries of one row. First come the pieces of rows that
// are too long for one warp; their sums go to `partials`, and csr_combine adds them up in order. Then
// come whole rows, which go to C at once. A team of 2^i lanes, up to the whole warp, takes an item:
// it stages as many entries as it has lanes in shared memory and multiplies them by a tile of B's
// columns. LANES of its lanes lie across the tile; where the tile is narrow, the team's other lanes
// take other entries, and their sums are added at the end, always in the same order.
//
// Where rows are short and the tile is as wide as a warp, a warp takes several items and goes through
// their entries as if they were one run: what it waits for between rows is then waited for once.
#include "girih/types.cuh"
#include "girih/values.cuh"
#include "ptx/memory.cuh"

constexpr u32 kWarps = 4;
constexpr u32 kThreads = kWarps * kWarpSize;

// A run of entries of one row.
struct alignas(16) Item {
    u64 begin;
    u32 length;
    // The row of C that a whole row goes to; of a piece, the row of `partials`.
    u32 row;
};
static_assert(sizeof(Item) == 16, "the host writes items of 16 bytes");

// A row in pieces.
struct alignas(16) SplitRow {
    u64 first_piece;
    u32 n_pieces;
    u32 row;
};
static_assert(sizeof(SplitRow) == 16, "the host writes split rows of 16 bytes");

// Strides count elements. Of B, whole vectors may be read where the tile's variant reads vectors.
struct Params {
    const Item* items;
    const SplitRow* splits;
    const u32* col_idx;
    const void* values;
    const void* b;
    void* c;
    void* partials;
    u64 n_items;
    u64 n_pieces;
    u64 n_splits;
    u64 m;
    u64 n;
    u64 b_row_stride;
    u64 b_col_stride;
    u64 c_row_stride;
    u64 c_col_stride;
    u64 partial_stride;
    double alpha;
    double beta;
    // Lanes to an item: a power of two, at least LANES, at most 32. Or items to a warp, at most 32.
    u32 team;
    // Whether rows of C are contiguous and begin on 16 bytes.
    u32 c_in_vectors;
};
static_assert(sizeof(Params) == 160, "the host passes 160 bytes");

using Value = VALUE;
using Stored = Value::Stored;
using Acc = Value::Acc;
constexpr u32 kVector = Value::kPerVector;

struct alignas(2 * sizeof(Acc)) Entry {
    u32 col;
    Acc value;
};

// What becomes of a sum. With beta = 0, C is not read.
struct Epilogue {
    Acc alpha;
    Acc beta;

    __device__ __forceinline__ Acc operator()(Acc sum, const Acc* before) const {
        return beta == Acc(0) ? alpha * sum : multiply_add(alpha, sum, beta * *before);
    }
};

// 16 bytes of sums.
union Sums {
    ptx::Vector16 vector;
    Acc sum[16 / sizeof(Acc)];
};

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
    static constexpr u32 kUnroll = COLUMNS >= 8 ? 1 : COLUMNS >= 4 ? 2 : 4;
    using Loaded = Stored;

    static __device__ __forceinline__ u64 column(u64 tile, u32 lane, u32 i) {
        return tile + i * LANES + lane;
    }
    static __device__ __forceinline__ u64 offset(u64 column, u64 stride) { return column * stride; }
    static __device__ __forceinline__ Loaded load(const Stored* at) { return Value::load(at); }
    static __device__ __forceinline__ Acc widen(const Loaded& v, u32) { return Value::widen(v); }
    static constexpr u32 kPerLoad = 1;
};

// Adds the products of N entries, `step` apart, to the sums: all loads before the first use.
template <class Access, u32 N, u32 LOADS>
__device__ __forceinline__ void multiply_entries(
    const Params& p, const Entry* entries, u32 step, const u64 (&offset)[LOADS],
    Acc (&sum)[LOADS * Access::kPerLoad]) {
    typename Access::Loaded b[N][LOADS];
    Acc a[N];
#pragma unroll
    for (u32 u = 0; u < N; ++u) {
        const Entry entry = entries[u * step];
        const Stored* row = static_cast<const Stored*>(p.b) + entry.col * p.b_row_stride;
        a[u] = entry.value;
#pragma unroll
        for (u32 i = 0; i < LOADS; ++i) b[u][i] = Access::load(row + offset[i]);
    }
#pragma unroll
    for (u32 u = 0; u < N; ++u) {
#pragma unroll
        for (u32 i = 0; i < LOADS * Access::kPerLoad; ++i) {
            const Acc wide = Access::widen(b[u][i / Access::kPerLoad], i % Access::kPerLoad);
            sum[i] = multiply_add(a[u], wide, sum[i]);
        }
    }
}

// Stores a lane's sums, kept or scaled, `width` of them side by side at a time.
template <class Access, u32 COLUMNS, class Finish>
__device__ __forceinline__ void store_sums(Acc* row, u64 stride, bool in_vectors, u64 tile, u32 lane,
                                           u64 n, const Acc (&sum)[COLUMNS], const Finish& finish) {
    constexpr u32 kWidth = 16 / sizeof(Acc);
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

__device__ __forceinline__ Item load_item(const Params& p, u64 index) {
    const ptx::Vector16 v = ptx::load_streamed(p.items + index);
    return {u64(v.word[1]) << 32 | v.word[0], v.word[2], v.word[3]};
}

__device__ __forceinline__ Entry load_entry(const Params& p, u64 index) {
    return {ptx::load_constant_32(p.col_idx + index),
            Value::widen(Value::load(static_cast<const Stored*>(p.values) + index))};
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

template <template <u32, u32> class Accessor, u32 LANES, u32 COLUMNS>
__device__ __forceinline__ void csr_spmm(const Params& p) {
    using Access = Accessor<LANES, COLUMNS>;
    constexpr u32 kLoads = COLUMNS / Access::kPerLoad;
    constexpr u64 kTile = LANES * COLUMNS;
    __shared__ Entry staged[kWarps][kWarpSize];

    const u32 lane = threadIdx.x % kWarpSize;
    const u32 warp = threadIdx.x / kWarpSize;
    const u32 team = p.team;
    const u32 in_team = lane & (team - 1);
    const u32 step = team / LANES;
    const u32 group = in_team / LANES;
    const u32 across = in_team % LANES;
    const u64 index = (u64(blockIdx.x) * kWarps + warp) * (kWarpSize / team) + lane / team;
    const bool is_item = index < p.n_items;

    Item item = {0, 0, 0};
    if (is_item) item = load_item(p, index);
    // Teams of a warp go through their items in step, so that the whole warp can be synchronized.
    u32 longest = item.length;
    for (u32 s = team; s < kWarpSize; s *= 2) {
        longest = max(longest, __shfl_xor_sync(kWholeWarp, longest, s));
    }
    Entry* const chunk = staged[warp] + (lane - in_team);

    for (u64 tile = blockIdx.y * kTile; tile < p.n; tile += gridDim.y * kTile) {
        // A lane beyond the last column reads the tile's first, so that none needs a condition.
        u64 offset[kLoads];
#pragma unroll
        for (u32 i = 0; i < kLoads; ++i) {
            const u64 column = Access::column(tile, across, i * Access::kPerLoad);
            offset[i] = Access::offset(column < p.n ? column : tile, p.b_col_stride);
        }
        Acc sum[COLUMNS] = {};
        Entry next = {};
        if (in_team < item.length) next = load_entry(p, item.begin + in_team);
        for (u32 done = 0; done < longest; done += team) {
            // Of a team that has finished, nothing is left.
            const u32 left = done < item.length ? min(team, item.length - done) : 0;
            chunk[in_team] = next;
            __syncwarp();
            const u64 ahead = u64(done) + team + in_team;
            if (ahead < item.length) next = load_entry(p, item.begin + ahead);
            u32 e = group;
            for (; e + (Access::kUnroll - 1) * step < left; e += Access::kUnroll * step) {
                multiply_entries<Access, Access::kUnroll>(p, chunk + e, step, offset, sum);
            }
            for (; e < left; e += step) {
                multiply_entries<Access, 1>(p, chunk + e, step, offset, sum);
            }
            __syncwarp();
        }
        for (u32 s = LANES; s < team; s *= 2) {
#pragma unroll
            for (u32 i = 0; i < COLUMNS; ++i) sum[i] += __shfl_xor_sync(kWholeWarp, sum[i], s);
        }
        if (is_item && group == 0) {
            store_item<Access, COLUMNS>(p, index < p.n_pieces, item.row, tile, across, sum);
        }
    }
}

// `team` neighbouring items by a warp whose lanes lie across the tile. Rows of C are contiguous, begin
// on 16 bytes and are whole vectors: there are as many copies of the stores as entries in a batch.
template <u32 COLUMNS>
__device__ __forceinline__ void csr_spmm_runs(const Params& p) {
    using Access = Vectors<kWarpSize, COLUMNS>;
    constexpr u32 kLoads = COLUMNS / kVector;
    constexpr u32 kUnroll = Access::kUnroll;
    constexpr u64 kTile = kWarpSize * COLUMNS;
    constexpr u32 kWidth = 16 / sizeof(Acc);
    __shared__ Entry staged[kWarps][kWarpSize];

    const u32 lane = threadIdx.x % kWarpSize;
    const u32 warp = threadIdx.x / kWarpSize;
    const Epilogue epilogue = {Acc(p.alpha), Acc(p.beta)};
    const u64 first = (u64(blockIdx.x) * kWarps + warp) * p.team;
    if (first >= p.n_items) return;
    const u32 items = static_cast<u32>(min(u64(p.team), p.n_items - first));
    Item item = {0, 0, 0};
    if (lane < items) item = load_item(p, first + lane);
    // Entries are numbered through all items; lanes without one end where the last does.
    u32 end = item.length;
#pragma unroll
    for (u32 s = 1; s < kWarpSize; s *= 2) {
        const u32 before = __shfl_up_sync(kWholeWarp, end, s);
        if (lane >= s) end += before;
    }
    const u32 total = __shfl_sync(kWholeWarp, end, kWarpSize - 1);
    // To the entry of a number, from which the item's earlier entries have been taken off.
    const u64 base = item.begin - (end - item.length);
    // Looks an entry up by its number, which may be beyond the last: the whole warp at once.
    auto load = [&](u32 number) -> Entry {
        u32 owner = 0;
#pragma unroll
        for (u32 s = kWarpSize / 2; s > 0; s /= 2) {
            if (__shfl_sync(kWholeWarp, end, owner + s - 1) <= number) owner += s;
        }
        const u64 from = __shfl_sync(kWholeWarp, base, owner);
        return number < total ? load_entry(p, from + number) : Entry{};
    };
    Entry* const chunk = staged[warp];

    for (u64 tile = blockIdx.y * kTile; tile < p.n; tile += gridDim.y * kTile) {
        u64 offset[kLoads];
#pragma unroll
        for (u32 i = 0; i < kLoads; ++i) {
            const u64 column = Access::column(tile, lane, i * kVector);
            offset[i] = column < p.n ? column : tile;
        }
        Acc sum[COLUMNS] = {};
        u32 current = 0;
        u32 next_end = __shfl_sync(kWholeWarp, end, 0);
        // Stores the items that end at an entry: one, and those without entries after it.
        auto finish = [&](u32 at) {
            while (current < items && next_end == at) {
                const u32 row = __shfl_sync(kWholeWarp, item.row, current);
                const bool is_piece = first + current < p.n_pieces;
                Acc* to = is_piece ? static_cast<Acc*>(p.partials) + row * p.partial_stride
                                   : static_cast<Acc*>(p.c) + row * p.c_row_stride;
                const Epilogue scale = is_piece ? Epilogue{Acc(1), Acc(0)} : epilogue;
#pragma unroll
                for (u32 i = 0; i < COLUMNS; i += kWidth) {
                    const u64 column = Access::column(tile, lane, i);
                    Sums out;
#pragma unroll
                    for (u32 w = 0; w < kWidth; ++w) {
                        out.sum[w] = sum[i + w];
                        sum[i + w] = 0;
                    }
                    if (column < p.n) {
#pragma unroll
                        for (u32 w = 0; w < kWidth; ++w) {
                            out.sum[w] = scale(out.sum[w], to + column + w);
                        }
                        *reinterpret_cast<ptx::Vector16*>(to + column) = out.vector;
                    }
                }
                ++current;
                next_end = __shfl_sync(kWholeWarp, end, current % kWarpSize);
            }
        };
        finish(0);
        Entry next = load(lane);
        for (u32 done = 0; done < total; done += kWarpSize) {
            const u32 left = min(kWarpSize, total - done);
            chunk[lane] = next;
            __syncwarp();
            next = load(done + kWarpSize + lane);
            for (u32 e = 0; e < left; e += kUnroll) {
                ptx::Vector16 b[kUnroll][kLoads];
                Acc a[kUnroll];
                // Loads go ahead across the ends of rows; beyond the last entry there is none.
#pragma unroll
                for (u32 u = 0; u < kUnroll; ++u) {
                    if (e + u < left) {
                        const Entry entry = chunk[e + u];
                        const Stored* row =
                            static_cast<const Stored*>(p.b) + entry.col * p.b_row_stride;
                        a[u] = entry.value;
#pragma unroll
                        for (u32 i = 0; i < kLoads; ++i) b[u][i] = Access::load(row + offset[i]);
                    }
                }
#pragma unroll
                for (u32 u = 0; u < kUnroll; ++u) {
                    if (e + u < left) {
#pragma unroll
                        for (u32 i = 0; i < COLUMNS; ++i) {
                            const Acc wide = Access::widen(b[u][i / kVector], i % kVector);
                            sum[i] = multiply_add(a[u], wide, sum[i]);
                        }
                        finish(done + e + u + 1);
                    }
                }
            }
            __syncwarp();
        }
    }
}

#define CSR_SPMM(NAME, ACCESS, LANES, COLUMNS)                                      \
    extern "C" __global__ void __launch_bounds__(kThreads)                          \
        csr_spmm_##NAME(const __grid_constant__ Params p) {                         \
        csr_spmm<ACCESS, LANES, COLUMNS>(p);                                        \
    }

#define CSR_SPMM_RUNS(NAME, COLUMNS)                                                \
    extern "C" __global__ void __launch_bounds__(kThreads, 6)                       \
        csr_spmm_##NAME(const __grid_constant__ Params p) {                         \
        csr_spmm_runs<COLUMNS>(p);                                                  \
    }

CSR_SPMM_RUNS(runs_32x1, kVector)
CSR_SPMM_RUNS(runs_32x2, 2 * kVector)
CSR_SPMM(vectors_1x1, Vectors, 1, kVector)
CSR_SPMM(vectors_2x1, Vectors, 2, kVector)
CSR_SPMM(vectors_4x1, Vectors, 4, kVector)
CSR_SPMM(vectors_8x1, Vectors, 8, kVector)
CSR_SPMM(vectors_16x1, Vectors, 16, kVector)
CSR_SPMM(vectors_32x1, Vectors, 32, kVector)
CSR_SPMM(vectors_32x2, Vectors, 32, 2 * kVector)
CSR_SPMM(elements_column, Elements, 1, 1)
CSR_SPMM(elements_1x1, Elements, 1, kVector)
CSR_SPMM(elements_2x1, Elements, 2, kVector)
CSR_SPMM(elements_4x1, Elements, 4, kVector)
CSR_SPMM(elements_8x1, Elements, 8, kVector)
CSR_SPMM(elements_16x1, Elements, 16, kVector)
CSR_SPMM(elements_32x1, Elements, 32, kVector)
CSR_SPMM(elements_32x2, Elements, 32, 2 * kVector)

// Adds up the pieces of split rows, in order: a thread for each of their elements of C.
extern "C" __global__ void __launch_bounds__(256) csr_combine(const __grid_constant__ Params p) {
    const u64 threads = u64(gridDim.x) * blockDim.x;
    const Epilogue finish = {Acc(p.alpha), Acc(p.beta)};
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < p.n_splits * p.n; i += threads) {
        const SplitRow split = p.splits[i / p.n];
        const u64 column = i % p.n;
        const Acc* part =
            static_cast<const Acc*>(p.partials) + split.first_piece * p.partial_stride + column;
        Acc sum = 0;
#pragma unroll 8
        for (u32 piece = 0; piece < split.n_pieces; ++piece) {
            sum += part[piece * p.partial_stride];
        }
        Acc* at = static_cast<Acc*>(p.c) + split.row * p.c_row_stride + column * p.c_col_stride;
        *at = finish(sum, at);
    }
}

// C = beta * C: the product for alpha = 0, which reads neither A nor B.
extern "C" __global__ void __launch_bounds__(256) csr_scale(const __grid_constant__ Params p) {
    const u64 threads = u64(gridDim.x) * blockDim.x;
    const Acc beta = Acc(p.beta);
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < p.m * p.n; i += threads) {
        Acc* at = static_cast<Acc*>(p.c) + i / p.n * p.c_row_stride + i % p.n * p.c_col_stride;
        *at = beta == Acc(0) ? Acc(0) : beta * *at;
    }
}
