// C = alpha * A * B + beta * C, A in BMat (Voltrix section 3), on mma.sync, or in f32 on CUDA cores.
//
// VALUE names what A and B are multiplied in: F16, Bf16, Tf32 or ThreeTf32 on tensor cores, or F32. PATTERN
// is 1 where all values are one and none is stored, BY_ROWS where warps take rows of a window: for F32.
// ENTRIES defines the entry points, ENTRY(name, bytes of shared memory, arguments of Config) for each. Host
// side: config.rs, params.rs.
//
// A block of threads walks through runs: segments, which are windows or parts of them, for a range of columns
// of C, tile by tile of columns. Where the schedule has partitions, the blocks that a multiprocessor holds at
// once share one, and there are as many blocks as are held. Producer warps fill a ring of stages with masks,
// with the values that belong to them and with the rows of B that the packed columns name. Consumer warps
// decode masks into the registers of an mma, each for its own columns. In f32 they walk the entries of rows of
// their own instead. At the end of a segment they store the window's rows of C, or the sums of a part, which
// bmat_combine adds up in order. Producers are by then some stages ahead, in the next segment.
//
// With EPILOGUE, a bias and an activation are applied to each element as it is stored, and not to sums of a part.
#include "shared/entry.cuh"
#include "shared/parts.cuh"
#include "shared/pipeline.cuh"
#include "shared/types.cuh"
#include "sm90_bmat_spmm/config.cuh"
#include "sm90_bmat_spmm/params.cuh"
#include "sm90_bmat_spmm/produce.cuh"
#include "sm90_bmat_spmm/store.cuh"
#include "ptx/shared.cuh"
#if BY_ROWS
#include "sm90_bmat_spmm/consume_rows.cuh"
#else
#include "sm90_bmat_spmm/consume.cuh"
#endif

template <class C>
__device__ __forceinline__ void bmat_spmm(const Params& p) {
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
    __syncthreads();
    if (warp >= C::kConsumerWarps) {
        produce<C>(p, ring, stages, warp - C::kConsumerWarps, lane);
    } else {
        consume<C>(p, ring, stages, warp, lane);
    }
}

#define ENTRY(NAME, SHARED, ...)                                                               \
    ENTRY_POINT(NAME, Config<__VA_ARGS__>::kThreads, Config<__VA_ARGS__>::kCtas)               \
    (const __grid_constant__ Params p) {                                                       \
        static_assert(Config<__VA_ARGS__>::kShared == SHARED, "the host reckons otherwise");   \
        bmat_spmm<Config<__VA_ARGS__>>(p);                                                     \
    }
ENTRIES

// Adds up the parts of split windows, in order: an element for each thread, in turns.
ENTRY_POINT(bmat_combine, 256)(const __grid_constant__ Params p) {
    const Store store = {1, p.c_col_stride, p.alpha, p.beta, false, true, 0, p.epilogue};
    const u64 width = p.end - p.begin;
    const u64 threads = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < p.n_splits * kWindowRows * width;
         i += threads) {
        const u64 column = p.begin + i % width;
        const SplitWindow split = p.splits[i / width / kWindowRows];
        const u32 of_window = i / width % kWindowRows;
        const Columns columns(p, split.col_start, split.col_end);
        const u32 row = row_of_slot(p, u64(split.window) * kWindowRows + of_window);
        if (row == kNoRow || column < columns.start || column >= columns.end) continue;
        const float* part =
            p.partials + (u64(split.first_piece) * kWindowRows + of_window) * p.partial_stride +
            (column - p.begin);
        const float sum = join_parts<16>(part, kWindowRows * p.partial_stride, split.n_pieces, 0.0f,
                                         [](float x, float y) { return x + y; });
        store.one(p.c + row * p.c_row_stride, row, column, sum);
    }
}

// C = beta * C: the product for alpha = 0, which reads neither A nor B.
ENTRY_POINT(bmat_scale, 256)(const __grid_constant__ Params p) {
    const u64 threads = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < p.m * p.n; i += threads) {
        const u64 row = i / p.n;
        const u64 column = i % p.n;
        OfC* at = p.c + row * p.c_row_stride + column * p.c_col_stride;
        put(at, p.epilogue(p.beta == 0.0f ? 0.0f : p.beta * widened(*at), row, column));
    }
}
