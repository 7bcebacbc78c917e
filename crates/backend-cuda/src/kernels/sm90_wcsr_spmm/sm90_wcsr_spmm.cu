// C = alpha * A * B + beta * C, A in WCSR (AsyncSparse sections II-C and III), on wgmma.
//
// VALUE names the value type: Tf32, F16 or Bf16. WINDOW_ROWS is the height of a window, a multiple of 8
// up to 64. ENTRIES defines the entry points, ENTRY(name, bytes of shared memory, arguments of Config) for
// each. Host side: config.rs, params.rs.
//
// The product is computed transposed, C^T = B^T * A^T: 64 columns of C are the rows of a wgmma, the rows
// of a window its columns. So windows of 8 rows are as native as those of 64; B stays row-major as it
// lies in memory, for its elements pass through registers, where they are rounded to TF32 or paired; and
// a window's values are K-major, as TF32 must be.
//
// A block of threads takes a task, a run of segments, for a tile of columns. A segment is all of a
// window or a part of it, in steps of as many packed columns as one wgmma multiplies. Producer warps fill
// a ring of stages with the values and with the rows of B that the packed columns name. A long row is one
// bulk copy, a short one comes by 16 bytes of each lane. Consumer warpgroups multiply. At the end of a
// segment they store the window's rows of C, or the sums of a part, which wcsr_combine adds up in order.
// The producer is by then some stages ahead, in the next segment.
//
// With EPILOGUE, a bias and an activation are applied to each element once nothing more is added to it: to those of
// windows that are whole as they are stored, to those of split windows by wcsr_combine, or by wcsr_split_rows where
// parts were added to C.
#include "shared/entry.cuh"
#include "shared/parts.cuh"
#include "shared/pipeline.cuh"
#include "shared/types.cuh"
#include "sm90_wcsr_spmm/config.cuh"
#include "sm90_wcsr_spmm/consume.cuh"
#include "sm90_wcsr_spmm/params.cuh"
#include "sm90_wcsr_spmm/produce.cuh"
#include "sm90_wcsr_spmm/store.cuh"
#include "ptx/registers.cuh"
#include "ptx/shared.cuh"

template <class C>
__device__ __forceinline__ void wcsr_spmm(const Params& p) {
    if (tile_of<C>(p) >= p.n_tiles) return;
    extern __shared__ __align__(128) char shared[];
    const u32 stages = ptx::shared_address(shared);
    const Ring<C::kStages> ring = {stages + C::kStages * C::kStageBytes};
    // Every lane arrives for what it did itself: that costs no more than one for its warp, and tools that
    // look for races can follow it.
    if (threadIdx.x == 0) {
        ring.init(C::kProducerWarps * kWarpSize, C::kConsumerWarps * kWarpSize);
    }
    const u32 warp = threadIdx.x / kWarpSize;
    const u32 lane = threadIdx.x % kWarpSize;
    const Part<C> part(p, stages, lane);
    __syncthreads();
    if (warp >= C::kConsumerWarps) {
        ptx::decrease_registers<C::kProducerRegisters>();
        produce(p, part, ring, warp - C::kConsumerWarps, lane);
    } else {
        ptx::increase_registers<C::kConsumerRegisters>();
        consume(p, part, ring, warp, lane);
    }
}

#define ENTRY(NAME, SHARED, ...)                                                               \
    ENTRY_POINT(NAME, Config<__VA_ARGS__>::kThreads, Config<__VA_ARGS__>::kCtas)               \
    (const __grid_constant__ Params p) {                                                       \
        static_assert(Config<__VA_ARGS__>::kShared == SHARED, "the host reckons otherwise");   \
        wcsr_spmm<Config<__VA_ARGS__>>(p);                                                     \
    }
ENTRIES

// Four neighbouring columns of one row of a split window for each thread, in turns.
template <class Do>
__device__ __forceinline__ void for_split_rows(const Params& p, const Do& action) {
    const u64 groups = (p.n + 3) / 4;
    const u64 threads = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < p.n_splits * kWindowRows * groups;
         i += threads) {
        const u64 of_split = i / groups;
        const u64 column = i % groups * 4;
        const SplitWindow split = p.splits[of_split / kWindowRows];
        const u32 of_window = of_split % kWindowRows;
        const u32 row = row_of_slot(p, u64(split.window) * kWindowRows + of_window);
        if (row != kNoRow) action(split, of_window, column, row, p.c + row * p.c_row_stride);
    }
}

// Adds up the parts of split windows, in order.
ENTRY_POINT(wcsr_combine, 256)(const __grid_constant__ Params p) {
    const Store store = {p.n, p.c_col_stride, p.alpha, p.beta, p.c_in_vectors != 0, false};
    const Finish finish = {p.epilogue, true};
    for_split_rows(p, [&](const SplitWindow& split, u32 of_window, u64 column, u32 row, OfC* begin) {
        const float* part =
            p.partials + (u64(split.first_piece) * kWindowRows + of_window) * p.partial_stride + column;
        const float4 sum = join_parts<8>(
            reinterpret_cast<const float4*>(part), kWindowRows * p.partial_stride / 4,
            split.n_pieces, float4{}, [](float4 x, float4 y) {
                return float4{x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w};
            });
        store(finish, begin, row, column, sum.x, sum.y, sum.z, sum.w);
    });
}

// C = beta * C in the rows of split windows: before their parts are added and, with beta = 1, after that, for the
// sake of the epilogue.
ENTRY_POINT(wcsr_split_rows, 256)(const __grid_constant__ Params p) {
    const Store store = {p.n, p.c_col_stride, 0.0f, p.beta, p.c_in_vectors != 0, false};
    const Finish finish = {p.epilogue, true};
    for_split_rows(p, [&](const SplitWindow&, u32, u64 column, u32 row, OfC* begin) {
        store(finish, begin, row, column, 0.0f, 0.0f, 0.0f, 0.0f);
    });
}

// C = beta * C: the product for alpha = 0, which reads neither A nor B.
ENTRY_POINT(wcsr_scale, 256)(const __grid_constant__ Params p) {
    const u64 threads = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < p.m * p.n; i += threads) {
        const u64 row = i / p.n;
        const u64 column = i % p.n;
        OfC* at = p.c + row * p.c_row_stride + column * p.c_col_stride;
        put(at, p.epilogue(p.beta == 0.0f ? 0.0f : p.beta * widened(*at), row, column));
    }
}
