// Products of TF32, transposed: C^T = B^T * A^T.
//
// wgmma takes TF32 operands K-major from shared memory and cuts off what a float has more. So B^T comes
// from registers, where it is rounded, whichever way B lies in memory; A^T is a block of A as it is
// stored, rounded already. A warpgroup has two tiles of 64 columns of C as the rows of wgmma; each of its
// warps 32 columns.
//
// Which columns the rows stand for is free: those that make loads of B free of bank conflicts. So is the
// order along k: of every eight values, the fragment's places 0 to 3 stand for the even ones and 4 to 7 for
// the odd ones, and the host has put the columns of A's blocks in that order.
#pragma once

#include "shared/types.cuh"
#include "ptx/convert.cuh"
#include "ptx/shared.cuh"
#include "ptx/wgmma.cuh"

template <u32 kRowsOfC>
struct TransposedProduct {
    // Columns of C that a warpgroup has, and rows.
    static constexpr u32 kColumns = 128;
    static constexpr u32 kRows = kRowsOfC;
    // Values along k of a stage: a swizzled row of 128 bytes.
    static constexpr u32 kDepth = 32;
    static constexpr u32 kRowBytes = 128;
    static constexpr u32 kTiles = 2;
    // Registers of a tile's accumulator.
    static constexpr u32 kSums = kRows / 2;

    // Adds the products of a stage. `block` has kRows rows of A; of `b`, either each group of 32 columns
    // has 32 rows of 128 bytes, or each column has one.
    template <bool kByRows>
    static __device__ __forceinline__ void multiply(u32 block, u32 b, float (&sum)[kTiles * kSums],
                                                    u32 accumulate) {
        constexpr u32 kStep = ptx::kDepth<ptx::Element::Tf32>;
        constexpr u32 kSteps = kDepth / kStep;
        const u32 lane = threadIdx.x % kWarpSize;
        const u32 of_warp = b + threadIdx.x % kWarpgroupSize / kWarpSize * 32 * kRowBytes;
        u32 fragment[kSteps][kTiles][4];
#pragma unroll
        for (u32 s = 0; s < kSteps; ++s) {
            if constexpr (kByRows) {
                // Four neighbouring columns of an even row, and of the next.
#pragma unroll
                for (u32 odd = 0; odd < 2; ++odd) {
                    const u32 k = s * kStep + lane % 4 * 2 + odd;
                    const u32 chunk = (lane / 4 ^ k) % 8;
                    u32 raw[4];
                    ptx::load_shared_128(of_warp + k * kRowBytes + chunk * 16, raw);
#pragma unroll
                    for (u32 i = 0; i < 4; ++i) {
                        fragment[s][i / 2][i % 2 + 2 * odd] = ptx::round_tf32(raw[i]);
                    }
                }
            } else {
                // An even and an odd value of k of four columns, eight apart.
#pragma unroll
                for (u32 i = 0; i < 4; ++i) {
                    const u32 column = i * 8 + lane / 4;
                    const u32 chunk = (s * 2 + lane % 4 / 2 ^ column) % 8;
                    u32 raw[2];
                    ptx::load_shared_64(
                        of_warp + column * kRowBytes + chunk * 16 + lane % 2 * 8, raw);
                    fragment[s][i / 2][i % 2] = ptx::round_tf32(raw[0]);
                    fragment[s][i / 2][i % 2 + 2] = ptx::round_tf32(raw[1]);
                }
            }
        }
        const u64 a = ptx::descriptor(block, ptx::Swizzle::Bytes128, 8 * kRowBytes, 0);
        ptx::wgmma_fence();
#pragma unroll
        for (u32 s = 0; s < kSteps; ++s) {
#pragma unroll
            for (u32 tile = 0; tile < kTiles; ++tile) {
                float(&d)[kSums] = *reinterpret_cast<float(*)[kSums]>(sum + tile * kSums);
                ptx::Wgmma<kRows>::registers<ptx::Element::Tf32, 0>(
                    d, fragment[s][tile], ptx::advance(a, s * kStep * 4), accumulate);
            }
            accumulate = 1;
        }
    }

    // Puts the sums, times `scale`, into a tile of C in shared memory.
    template <bool kByRows, class Sums>
    static __device__ __forceinline__ void spread(u32 to, float scale,
                                                  const float (&sum)[kTiles * kSums]) {
        const u32 column = threadIdx.x % kWarpgroupSize / kWarpSize * 32;
        spread_rows<kByRows, Sums, kRows>(to, column, scale, sum, 0);
    }

    // Puts a warp's sums of kCount rows from `first` on, a multiple of eight, times `scale`, into a tile
    // that begins with that row: 32 columns from `column` on.
    template <bool kByRows, class Sums, u32 kCount>
    static __device__ __forceinline__ void spread_rows(u32 to, u32 column, float scale,
                                                       const float (&sum)[kTiles * kSums],
                                                       u32 first) {
        const u32 lane = threadIdx.x % kWarpSize;
#pragma unroll
        for (u32 i = 0; i < kCount / 2; ++i) {
            // Of each four registers, the first two are of the tile's row lane / 4, the others eight on.
            if (i % 4 >= 2) continue;
            const u32 row = i / 4 * 8 + lane % 4 * 2 + i % 2;
            const u32 at = first / 2 + i;
            const float of[4] = {scale * sum[at], scale * sum[at + 2], scale * sum[kSums + at],
                                 scale * sum[kSums + at + 2]};
            if constexpr (kByRows) {
                ptx::Vector16 v;
#pragma unroll
                for (u32 c = 0; c < 4; ++c) v.word[c] = __float_as_uint(of[c]);
                ptx::store_shared_128(Sums::at(to, row, column + lane / 4 * 4), v);
            } else {
#pragma unroll
                for (u32 c = 0; c < 4; ++c) {
                    ptx::store_shared_32(Sums::at(to, row, column + c * 8 + lane / 4),
                                         __float_as_uint(of[c]));
                }
            }
        }
    }
};

// Of a block of 64 rows.
using Transposed = TransposedProduct<64>;
