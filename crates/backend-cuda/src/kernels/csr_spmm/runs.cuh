// Neighbouring short rows of the CSR kernel, each with entries, several to a warp, as if these were one run: what the
// warp waits for between rows is then waited for once.
#pragma once

#include "csr_spmm/access.cuh"
#include "csr_spmm/params.cuh"
#include "csr_spmm/store.cuh"

// Whether the warp takes several items.
__device__ __forceinline__ bool is_run(const Params& p) {
    return block_number(p) >= p.n_by_block && warp_number(p) >= p.n_by_warp &&
           warp_number(p) < p.first_empty_warp;
}

// `team` neighbouring items by a warp whose lanes lie across the tile. Rows of C are contiguous, begin
// on 16 bytes and are whole vectors: there are as many copies of the stores as entries in a batch.
template <u32 COLUMNS>
__device__ __forceinline__ void multiply_run(const Params& p, Staging& staging) {
    using Access = Vectors<kWarpSize, COLUMNS>;
    constexpr u32 kLoads = COLUMNS / kVector;
    constexpr u32 kUnroll = Access::kUnroll;
    constexpr u64 kTile = kWarpSize * COLUMNS;
    // An epilogue leaves too few registers for it.
    constexpr bool kSwapsHere = kSwaps<Access> && !kHasEpilogue;

    const u32 lane = threadIdx.x % kWarpSize;
    const u32 row_bytes = static_cast<u32>(p.b_row_stride * sizeof(Stored));
    const Acc alpha = alpha_of(p);
    const Acc beta = beta_of(p);
    const u64 first = (warp_number(p) - p.n_by_warp) * p.team;
    if (first >= rest_items(p)) return wait_for_b();
    const u32 items = static_cast<u32>(min(u64(p.team), rest_items(p) - first));
    Item item = {0, 0, kNoRow};
    if (lane < items) item = load_rest(p, first + lane);
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
    Entry* const chunk = staging.entries[threadIdx.x / kWarpSize];
    wait_for_b();

    for (u64 tile = first_tile(p) * kTile; tile < p.n; tile += tile_step(p) * kTile) {
        const char* first_row[kLoads];
#pragma unroll
        for (u32 i = 0; i < kLoads; ++i) {
            const u64 column = Access::column(tile, lane, i * kVector);
            const u64 first = column < p.n ? column : tile;
            first_row[i] = static_cast<const char*>(p.b) + first * sizeof(Stored);
        }
        Acc sum[COLUMNS] = {};
        u32 current = 0;
        u32 next_end = __shfl_sync(kWholeWarp, end, 0);
        // Stores the item that ends at an entry, if one does: a loop takes the compiler fewer registers.
        auto finish = [&](u32 at) {
            while (current < items && next_end == at) {
                const u32 row = __shfl_sync(kWholeWarp, item.row, current);
                const Scaled scaled = {alpha, beta, p.last, row};
                OfC* to = static_cast<OfC*>(p.c) + row * p.c_row_stride;
                swap_vectors<Access, kSwapsHere>(lane, sum);
#pragma unroll
                for (u32 i = 0; i < COLUMNS; i += kWidth) {
                    const u64 column = Stores<Access, kSwapsHere>::column(tile, lane, i);
                    Sums out;
#pragma unroll
                    for (u32 w = 0; w < kWidth; ++w) {
                        out.sum[w] = sum[i + w];
                        sum[i + w] = Acc(0);
                    }
                    if (column < p.n) {
                        store_vector(to + column, scaled(out, to + column, column));
                    }
                }
                ++current;
                next_end = __shfl_sync(kWholeWarp, end, current % kWarpSize);
            }
        };
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
                        a[u] = entry.value;
#pragma unroll
                        for (u32 i = 0; i < kLoads; ++i) {
                            b[u][i] = ptx::load_constant(
                                ptx::address_after(first_row[i], entry.col, row_bytes));
                        }
                    }
                }
#pragma unroll
                for (u32 u = 0; u < kUnroll; ++u) {
                    if (e + u < left) {
#pragma unroll
                        for (u32 i = 0; i < COLUMNS; ++i) {
                            const Acc wide = widen_of(b[u][i / kVector], i % kVector);
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
