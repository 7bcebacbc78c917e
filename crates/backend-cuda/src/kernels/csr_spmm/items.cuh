// Items of the CSR kernel, each multiplied by a block, a warp or a team of lanes.
#pragma once

#include "csr_spmm/access.cuh"
#include "csr_spmm/block.cuh"
#include "csr_spmm/params.cuh"
#include "csr_spmm/store.cuh"

// Whether the whole block multiplies one item.
__device__ __forceinline__ bool is_by_block(const Params& p) {
    return block_number(p) < p.n_by_block;
}

// Whether the warp takes rows without entries.
__device__ __forceinline__ bool is_of_empty_rows(const Params& p) {
    return !is_by_block(p) && warp_number(p) >= p.first_empty_warp;
}

// A team's item, or the warp's part of the block's: without entries beyond the last.
struct Share {
    Item item;
    u32 team;
    bool is_item;
    // Of the whole item.
    u32 entries;
};

__device__ __forceinline__ Share load_share(const Params& p, u32 warp, u32 lane) {
    if (is_by_block(p)) {
        Item item = load_item(p, block_number(p));
        const u32 entries = item.length;
        const u32 begin = static_cast<u32>(u64(item.length) * warp / kWarps);
        const u32 end = static_cast<u32>(u64(item.length) * (warp + 1) / kWarps);
        item.begin += begin;
        item.length = end - begin;
        return {item, kWarpSize, true, entries};
    }
    const u64 number = warp_number(p);
    const bool by_warp = number < p.n_by_warp;
    const u32 team = by_warp ? kWarpSize : p.team;
    if (by_warp) {
        const Item item = load_item(p, p.n_by_block + number);
        return {item, team, true, item.length};
    }
    const u64 index = (number - p.n_by_warp) * (kWarpSize / team) + lane / team;
    Item item = {0, 0, kNoRow};
    if (index < rest_items(p)) item = load_rest(p, index);
    return {item, team, item.row != kNoRow, item.length};
}

// How many of them a warp takes at least.
constexpr u32 kEmptyRows = 8;

// Stores rows of C whose rows of A have no entries, LANES lanes to a row. A vector is stored at a time: unrolled
// stores spilled registers.
template <class Access, u32 LANES, u32 COLUMNS>
__device__ __forceinline__ void store_empty_rows(const Params& p) {
    constexpr u32 kAtOnce = kWarpSize / LANES;
    constexpr u32 kRows = kAtOnce < kEmptyRows ? kEmptyRows : kAtOnce;
    constexpr u64 kTile = LANES * COLUMNS;
    constexpr u32 kStored = kSideBySide<Access>;
    const u32 lane = threadIdx.x % kWarpSize;
    const u64 first = (warp_number(p) - p.first_empty_warp) * kRows + lane / LANES;
    const u64 end = min((warp_number(p) - p.first_empty_warp + 1) * kRows, p.n_empty_rows);
    Acc sum[kStored];
    clear(sum);
    for (u64 tile = first_tile(p) * kTile; tile < p.n; tile += tile_step(p) * kTile) {
#pragma unroll 1
        for (u64 index = first; index < end; index += kAtOnce) {
            const u32 row = ptx::load_constant_32(p.empty_rows + index);
            const Finish finish = finish_of(p, row, 0);
            OfC* const to = static_cast<OfC*>(p.c) + row * p.c_row_stride;
#pragma unroll 1
            for (u32 i = 0; i < COLUMNS; i += kStored) {
                const u64 column = Stores<Access>::column(tile, lane % LANES, i);
                store_run<kStored>(to, p.c_col_stride, p.c_vector_bytes, column, p.n, sum, finish);
            }
        }
    }
}

// Adds the products of a group's entries of an item, which lie `step` apart. Each lane reads them itself, and waits for
// several rows of B at a time. Nothing is branched around, so that all loads are under way before the first is waited for.
template <class Access>
__device__ __forceinline__ void multiply_apart(const Params& p, const Item& item, u32 group, u32 step,
                                               const typename Access::Columns& columns,
                                               Acc (&sum)[Access::kColumns]) {
    constexpr u32 kUnroll = Access::kUnroll;
    for (u32 first = group; first < item.length; first += kUnroll * step) {
        const u32 left = item.length - first;
        u32 col[kUnroll];
        typename Load<sizeof(Stored)>::Loaded value[kUnroll];
        typename Access::Loaded b[kUnroll][Access::kLoads];
#pragma unroll
        for (u32 u = 0; u < kUnroll; ++u) {
            const u64 at = item.begin + first + u * step;
            col[u] = ptx::load_constant_32_if(u * step < left, p.col_idx + at).word[0];
            value[u] = Load<sizeof(Stored)>::load_if(u * step < left, static_cast<const Stored*>(p.values) + at);
        }
#pragma unroll
        for (u32 u = 0; u < kUnroll; ++u) {
            const auto* const row = columns.row(col[u]);
#pragma unroll
            for (u32 i = 0; i < Access::kLoads; ++i) b[u][i] = columns.load(u * step < left, row, i);
        }
#pragma unroll
        for (u32 u = 0; u < kUnroll; ++u) {
            if (u * step < left) {
                const Acc a = signed_value(alpha_of(p), widen_of(value[u], 0));
#pragma unroll
                for (u32 i = 0; i < Access::kColumns; ++i) {
                    const Acc wide = widen_of(b[u][i / Access::kPerLoad], i % Access::kPerLoad);
                    sum[i] = add_product(a, wide, sum[i]);
                }
            }
        }
    }
}

// Adds the products of a group's entries of a team's item, `longest` of the warp's. As many as the team has lanes are
// staged at a time.
template <class Access>
__device__ __forceinline__ void multiply_staged(const Params& p, const Item& item, u32 longest, u32 team, u32 in_team,
                                                Entry* chunk, const typename Access::Columns& columns,
                                                Acc (&sum)[Access::kColumns]) {
    constexpr u32 kUnroll = Access::kUnroll;
    const u32 step = team / Access::kLanes;
    Entry next = {};
    if (in_team < item.length) next = load_entry(p, item.begin + in_team);
    for (u32 done = 0; done < longest; done += team) {
        // Of a team that has finished, nothing is left.
        const u32 left = done < item.length ? min(team, item.length - done) : 0;
        chunk[in_team] = next;
        __syncwarp();
        const u64 ahead = u64(done) + team + in_team;
        if (ahead < item.length) next = load_entry(p, item.begin + ahead);
        u32 e = in_team / Access::kLanes;
        for (; e + (kUnroll - 1) * step < left; e += kUnroll * step) {
            multiply_entries<Access, kUnroll, true>(chunk + e, step, left - e, columns, sum);
        }
        if (e < left) {
            multiply_entries<Access, kUnroll, false>(chunk + e, step, left - e, columns, sum);
        }
        __syncwarp();
    }
}

template <template <u32, u32> class Accessor, u32 LANES, u32 COLUMNS>
__device__ __forceinline__ void multiply_items(const Params& p, Staging& staging) {
    using Access = Accessor<LANES, COLUMNS>;
    constexpr u64 kTile = LANES * COLUMNS;
    constexpr bool kReadsApart = LANES <= Access::kMostApart;
    if (is_of_empty_rows(p)) {
        wait_for_b();
        return store_empty_rows<Access, LANES, COLUMNS>(p);
    }

    const u32 lane = threadIdx.x % kWarpSize;
    const u32 warp = threadIdx.x / kWarpSize;
    const auto [item, team, is_item, entries] = load_share(p, warp, lane);
    const u32 in_team = lane & (team - 1);
    const u32 group = in_team / LANES;
    const u32 across = in_team % LANES;
    // Teams of a warp that stage entries go through their items in step, so that the whole warp can be synchronized.
    u32 longest = item.length;
    if constexpr (!kReadsApart) {
        for (u32 s = team; s < kWarpSize; s *= 2) {
            longest = max(longest, __shfl_xor_sync(kWholeWarp, longest, s));
        }
    }
    Entry* const chunk = staging.entries[warp] + (lane - in_team);
    wait_for_b();

    for (u64 tile = first_tile(p) * kTile; tile < p.n; tile += tile_step(p) * kTile) {
        const typename Access::Columns columns(p, tile, across);
        Acc sum[COLUMNS];
        clear(sum);
        if constexpr (kReadsApart) {
            multiply_apart<Access>(p, item, group, team / LANES, columns, sum);
        } else {
            multiply_staged<Access>(p, item, longest, team, in_team, chunk, columns, sum);
        }
        for (u32 s = LANES; s < team; s *= 2) {
#pragma unroll
            for (u32 i = 0; i < COLUMNS; ++i) {
                sum[i] = join(sum[i], shuffle_xor(sum[i], s));
            }
        }
        if (is_by_block(p)) {
            add_warps(staging, warp, lane, sum);
            store_block<Access, LANES>(p, item.row, entries, tile, warp, lane, sum);
            // The next tile's entries are staged where warp 0 reads sums.
            __syncthreads();
        } else {
            swap_vectors<Access>(across, sum);
            if (is_item && group == 0) {
                store_item<Stores<Access>>(p, false, item.row, entries, tile, across, sum);
            }
        }
    }
}
