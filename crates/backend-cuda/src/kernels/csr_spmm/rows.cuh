// Rows of much the same length: teams of lanes take one after the other, and blocks take neighbours.
#pragma once

#include "csr_spmm/access.cuh"
#include "csr_spmm/params.cuh"
#include "csr_spmm/store.cuh"

// Whether the lanes of a group all read its entries, which then stay in registers. Others stage them for each other. On an
// H200, staging takes 1.05 times as long with two lanes in f32, and in 16 bits 0.93 times with two and 0.88 with four.
template <u32 LANES>
constexpr bool kReadsEntries =
    LANES == 1 || (LANES == 2 && sizeof(Stored) == 4) || (LANES < 8 && sizeof(Stored) == 8 && !kIsComplex);

// Where the entries of a row are.
struct Run {
    u32 begin;
    u32 length;
};

// Adds the products of the first DEPTH of a group's entries, or of as many as are `left`: all loads before
// the first use, and no branch, so that teams with fewer entries wait no longer than the others. Of a lane's loads of a
// row of B, the first `loads` are in bounds.
template <class Access, u32 DEPTH>
__device__ __forceinline__ void multiply_together(const char* b, u32 stride, u32 loads,
                                                  const Entry* entries, i32 left,
                                                  Acc (&sum)[Access::kColumns]) {
    constexpr u32 kLoads = Access::kLoads;
    typename Access::Loaded loaded[DEPTH][kLoads];
#pragma unroll
    for (u32 u = 0; u < DEPTH; ++u) {
        const char* const row = b + u64(entries[u].col) * stride;
#pragma unroll
        for (u32 v = 0; v < kLoads; ++v) {
            loaded[u][v] = Load<Access::kBytes>::load_if(static_cast<i32>(u) < left && Access::is_wanted(v, loads),
                                                row + v * Access::kStep * sizeof(Stored));
        }
    }
#pragma unroll
    for (u32 u = 0; u < DEPTH; ++u) {
        if (static_cast<i32>(u) < left) {
#pragma unroll
            for (u32 i = 0; i < Access::kColumns; ++i) {
                const Acc wide = widen_of(loaded[u][i / Access::kPerLoad], i % Access::kPerLoad);
                sum[i] = add_product(entries[u].value, wide, sum[i]);
            }
        }
    }
}

// Rows that no list of items names, `turns` to a team, by blocks of any number of warps, times one tile of
// columns. In each turn the teams of a block have neighbouring rows. A row is looked up two turns ahead, its
// first entries one batch ahead, so that a team waits for rows of B alone. A team's groups of LANES lanes
// take its entries by turns; those of a group lie side by side where they are staged. A lane holds COLUMNS of a row of B.
template <template <u32, u32> class Accessor, u32 LANES, u32 DEPTH, u32 COLUMNS>
__device__ __forceinline__ void multiply_rows(const Params& p, Entry* staged) {
    using Access = Accessor<LANES, COLUMNS>;
    constexpr u64 kTile = LANES * COLUMNS;
    constexpr bool kApart = kReadsEntries<LANES>;
    // Entries that a lane reads at a time, and that a group has then.
    constexpr u32 kEach = kApart ? DEPTH : LANES >= 8 ? 1 : 2;
    constexpr u32 kOfGroup = kApart ? DEPTH : LANES * kEach;
    // And that a block stages for each.
    constexpr u32 kStaged = kApart ? 0 : kEach;

    const u64 tile = first_tile(p) * kTile;
    if (tile >= p.n) return wait_for_b();
    const u32 team = p.team;
    const u32 in_team = threadIdx.x & (team - 1);
    const u32 across = in_team % LANES;
    // All of these are powers of two, and no division is left to be made.
    const u32 group_bits = __ffs(team / LANES) - 1;
    const u32 groups = 1u << group_bits;
    const u32 team_bits = __ffs(team) - 1;
    const u32 teams = blockDim.x >> team_bits;
    Entry* const of_team = staged + (threadIdx.x - in_team) * kStaged;
    // Where the lane stages an entry of those that the team does, and the first of its group.
    Entry* const to = of_team + (in_team & (groups - 1)) * kOfGroup + (in_team >> group_bits);
    const Entry* const from = of_team + in_team / LANES * kOfGroup;
    // A lane beyond the last column reads the tile's first, so that none needs a condition.
    const char* const b = ptx::as_one_number(
        static_cast<const char*>(p.b) + Access::first(tile, across, p.n) * sizeof(Stored));
    const u32 stride = static_cast<u32>(p.b_row_stride * sizeof(Stored));
    const u32 loads = Access::loads(tile, across, p.n);

    u32 index = static_cast<u32>(block_number(p)) * teams * p.turns + (threadIdx.x >> team_bits);
    const u32 end = min(index + teams * p.turns, static_cast<u32>(p.n_items));
    auto look_up = [&](u32 at) -> Run {
        if (at >= end) return {0, 0};
        const u32 begin = ptx::load_constant_32(p.row_ptr + at);
        return {begin, ptx::load_constant_32(p.row_ptr + at + 1) - begin};
    };
    Entry next[kEach] = {};
    auto load = [&](const Run& run, u32 done) {
#pragma unroll
        for (u32 i = 0; i < kEach; ++i) {
            const u32 at = done + (kApart ? i * groups + in_team / LANES : i * team + in_team);
            if (at < run.length) next[i] = load_entry(p, run.begin + at);
        }
    };

    Run run = look_up(index);
    Run following = look_up(index + teams);
    load(run, 0);
    wait_for_b();
    for (u32 turn = 0; turn < p.turns; ++turn) {
        const Run after = look_up(index + 2 * teams);
        // Teams of a warp go through their rows in step, so that the whole warp can be synchronized.
        u32 longest = run.length;
        for (u32 s = team; s < kWarpSize; s *= 2) {
            longest = max(longest, __shfl_xor_sync(kWholeWarp, longest, s));
        }
        Acc sum[COLUMNS];
        clear(sum);
        u32 done = 0;
        do {
            Entry own[kApart ? kEach : 1];
            if constexpr (kApart) {
#pragma unroll
                for (u32 i = 0; i < kEach; ++i) own[i] = next[i];
            } else {
#pragma unroll
                for (u32 i = 0; i < kEach; ++i) to[i * LANES] = next[i];
                __syncwarp();
            }
            const u32 ahead = done + groups * kOfGroup;
            if (ahead < longest) {
                load(run, ahead);
            } else {
                load(following, 0);
            }
            // The group's part of what is left of the row and of the warp's longest.
            const i32 left = static_cast<i32>(run.length - done) - static_cast<i32>(in_team / LANES);
            const i32 mine = (left + static_cast<i32>(groups - 1)) >> group_bits;
            const u32 most = (longest - done + groups - 1) >> group_bits;
            if constexpr (kApart) {
                multiply_together<Access, DEPTH>(b, stride, loads, own, mine, sum);
            } else {
// Unrolled, it would have the entries of all batches in registers at once.
#pragma unroll 1
                for (u32 e = 0; e < min(most, kOfGroup); e += DEPTH) {
                    multiply_together<Access, DEPTH>(b, stride, loads, from + e,
                                                     mine - static_cast<i32>(e), sum);
                }
                __syncwarp();
            }
            done = ahead;
        } while (done < longest);
        for (u32 s = LANES; s < team; s *= 2) {
#pragma unroll
            for (u32 i = 0; i < COLUMNS; ++i) {
                sum[i] = join(sum[i], shuffle_xor(sum[i], s));
            }
        }
        const u32 row = index < end ? row_of_slot(p, index) : kNoRow;
        const bool stores = row != kNoRow && in_team < LANES;
        const bool exchanges = kExchanges<Access> && p.c_vector_bytes < 16;
        if constexpr (kExchanges<Access>) {
            if (exchanges) {
                Acc* const buffer = reinterpret_cast<Acc*>(staged + blockDim.x * kStaged) +
                                    (threadIdx.x >> team_bits) * (LANES * Access::kPerLoad);
                store_exchanged<Access, COLUMNS>(p, stores, row, run.length, tile, across, sum, buffer);
            }
        }
        if (!exchanges) {
            swap_vectors<Access>(across, sum);
            if (stores) store_item<Stores<Access>>(p, false, row, run.length, tile, across, sum);
        }
        run = following;
        following = after;
        index += teams;
    }
}
