// S = alpha * (X * Y^T) at the entries of a pattern + beta * S, on mma.sync: windows of 16 rows times their packed
// columns, eight at a time (the tiles of WCSR, AsyncSparse section III-B, with the masks of BMat, Voltrix section 3.1).
//
// A block of threads takes a task: some tiles of one window. The window's rows of X come to shared memory once, or
// panel by panel of columns where they are longer. A warp takes kGroups tiles at a time, and reads their rows of Y
// from where they are: each row once for all entries in its column of the window. All 16 x 8 inner products of a tile
// are computed; those that are entries are stored, at their place in the order of CSR.
//
// The sum over columns is the same whichever of k's places in an mma a column takes, as long as X and Y agree. So a
// lane reads eight neighbouring columns, 16 bytes, of one row of Y and two rows of X: that is its part of two mma.
//
// Elements of a tile depend on one row of X and one of Y. So NaN and Inf reach S exactly where there is an entry. An
// entry's sum is added up in an order that d decides.
#include "sm90_window_sddmm/access.cuh"
#include "sm90_window_sddmm/params.cuh"
#include "shared/entry.cuh"
#include "ptx/mma.cuh"
#include "ptx/shared.cuh"

constexpr u32 kWarps = 4;
constexpr u32 kThreads = kWarps * kWarpSize;
// Tiles that a warp multiplies at a time.
constexpr u32 kGroups = 4;
// Columns that two mma multiply, four lanes a vector each.
constexpr u32 kDepth = 4 * kVector;
// Columns of X in shared memory at a time.
constexpr u32 kPanel = 512;
// Bytes from a row to the next one's: two rows that are read together are in different banks.
constexpr u32 kPitch = kPanel * sizeof(Stored) + 64;

__device__ __forceinline__ void multiply(F16, float (&sum)[4], const u32 (&x)[4], const u32 (&y)[2]) {
    ptx::mma_f16_deep(sum, x, y);
}
__device__ __forceinline__ void multiply(Bf16, float (&sum)[4], const u32 (&x)[4], const u32 (&y)[2]) {
    ptx::mma_bf16_deep(sum, x, y);
}

// Columns of a vector at `at` that are there, of `width`.
__device__ __forceinline__ u32 columns_there(u32 at, u32 width) {
    return at >= width ? 0 : min(width - at, kVector);
}

// Brings the window's rows of X to shared memory: `width` columns from `panel` on, and zeros up to whole steps. Eight
// threads to a row.
template <class Access>
__device__ __forceinline__ void stage(const Params& p, u32 window, u64 panel, u32 width, u32 shared) {
    const u32 of_window = threadIdx.x / 8;
    const u32 row = row_of_slot(p, u64(window) * kWindowRows + of_window);
    const Stored* const from = static_cast<const Stored*>(p.x) + row * p.x_row_stride;
#pragma unroll 1
    for (u32 at = threadIdx.x % 8 * kVector; at < (width + kDepth - 1) / kDepth * kDepth;
         at += 8 * kVector) {
        ptx::Vector16 vector = {};
        const u32 count = row == kNoRow ? 0 : columns_there(at, width);
        if (count > 0) {
            vector = Access::load(from, p.x_col_stride, panel + at, count);
            keep(vector, count);
        }
        ptx::store_shared_128(shared + of_window * kPitch + at * sizeof(Stored), vector);
    }
}

// The vectors of a lane's rows of Y at a step.
template <class Access>
__device__ __forceinline__ void load_y(const Params& p, const Stored* const (&row)[kGroups], u64 panel,
                                       u32 at, u32 width, ptx::Vector16 (&y)[kGroups]) {
    const u32 count = columns_there(at, width);
#pragma unroll
    for (u32 i = 0; i < kGroups; ++i) {
        y[i] = Access::load(row[i], p.y_col_stride, panel + at, count);
    }
}

// Stores those of a tile's inner products that are entries. A lane has columns 2 * quarter and the next of rows
// `lane / 4` and eight further.
__device__ __forceinline__ void store_tile(const Params& p, const Tile* tile, u32 lane,
                                           const u64 (&row_begin)[2], const float (&sum)[4]) {
    const u32 first = lane % 4 * 2;
#pragma unroll
    for (u32 half = 0; half < 2; ++half) {
        const u32 of_window = lane / 4 + 8 * half;
        const u32 word = ptx::load_constant_32(tile->mask + of_window / 4);
        const u32 mask = word >> of_window % 4 * 8 & 0xff;
        const u32 own = mask >> first & 3;
        if (own == 0) continue;
        const u32 before = ptx::load_constant_32(tile->before + of_window);
        const u64 entry = row_begin[half] + before + __popc(mask & ((1u << first) - 1));
        if (own & 1) store_entry(p, entry, sum[2 * half]);
        if (own & 2) store_entry(p, entry + (own & 1), sum[2 * half + 1]);
    }
}

template <class Access>
__device__ __forceinline__ void sample_windows(const Params& p) {
    __shared__ __align__(16) char rows_of_x[kWindowRows * kPitch];
    const u32 shared = ptx::shared_address(rows_of_x);
    const u32 warp = threadIdx.x / kWarpSize;
    const u32 lane = threadIdx.x % kWarpSize;
    const ptx::Vector16 task = ptx::load_constant(p.tasks + blockIdx.x);
    const Tile* const tiles = p.tiles + (u64(task.word[1]) << 32 | task.word[0]);
    const u32 n_tiles = task.word[2];
    const u32 window = task.word[3];
    // Of rows without entries nothing is stored.
    u64 row_begin[2] = {};
#pragma unroll
    for (u32 half = 0; half < 2; ++half) {
        const u32 row = row_of_slot(p, u64(window) * kWindowRows + lane / 4 + 8 * half);
        if (row != kNoRow) row_begin[half] = ptx::load_constant_64(p.row_ptr + row);
    }
    // This lane's vectors of X: of two rows, eight apart.
    const u32 x_at = shared + lane / 4 * kPitch + lane % 4 * 16;

#pragma unroll 1
    for (u32 first = 0; first < n_tiles; first += kGroups * kWarps) {
        const Stored* row[kGroups];
#pragma unroll
        for (u32 i = 0; i < kGroups; ++i) {
            // Beyond the last tile that one's rows are read once more, so that no load needs a condition.
            const u32 number = min(first + i * kWarps + warp, n_tiles - 1);
            const u32 col = ptx::load_constant_32(tiles[number].col + lane / 4);
            row[i] = static_cast<const Stored*>(p.y) + col * p.y_row_stride;
        }
        float sum[kGroups][4] = {};
#pragma unroll 1
        for (u64 panel = 0; panel < p.d; panel += kPanel) {
            const u32 width = p.d - panel < kPanel ? static_cast<u32>(p.d - panel) : kPanel;
            if (first == 0 || p.d > kPanel) {
                // All warps are done with what was there before.
                __syncthreads();
                stage<Access>(p, window, panel, width, shared);
                __syncthreads();
            }
            ptx::Vector16 y[kGroups];
            load_y<Access>(p, row, panel, lane % 4 * kVector, width, y);
#pragma unroll 2
            for (u32 k = 0; k < width; k += kDepth) {
                const u32 at = k + lane % 4 * kVector;
                // The next step's rows of Y are on their way while these are multiplied.
                ptx::Vector16 next[kGroups] = {};
                if (k + kDepth < width) load_y<Access>(p, row, panel, at + kDepth, width, next);
                u32 x[2][4];
                ptx::load_shared_128(x_at + k * sizeof(Stored), x[0]);
                ptx::load_shared_128(x_at + 8 * kPitch + k * sizeof(Stored), x[1]);
                const bool is_ragged = k + kDepth > width;
#pragma unroll
                for (u32 i = 0; i < kGroups; ++i) {
                    if (is_ragged) keep(y[i], columns_there(at, width));
                    multiply(Value{}, sum[i], {x[0][0], x[1][0], x[0][1], x[1][1]},
                             {y[i].word[0], y[i].word[1]});
                    multiply(Value{}, sum[i], {x[0][2], x[1][2], x[0][3], x[1][3]},
                             {y[i].word[2], y[i].word[3]});
                    y[i] = next[i];
                }
            }
        }
#pragma unroll
        for (u32 i = 0; i < kGroups; ++i) {
            const u32 number = first + i * kWarps + warp;
            if (number < n_tiles) store_tile(p, tiles + number, lane, row_begin, sum[i]);
        }
    }
}

ENTRY_POINT(window_sddmm_vectors, kThreads)(const __grid_constant__ Params p) {
    sample_windows<Vectors>(p);
}

ENTRY_POINT(window_sddmm_elements, kThreads)(const __grid_constant__ Params p) {
    sample_windows<Elements>(p);
}
