// What a block of the BMat kernel is made of. VALUE names what A and B are multiplied in, PATTERN says
// whether all values are one and none is stored.
#pragma once

#include "shared/pipeline.cuh"
#include "shared/types.cuh"
#include "sm90_bmat_spmm/params.cuh"
#include "ptx/convert.cuh"
#include "ptx/mma.cuh"
#include "ptx/shared.cuh"

// Values of 32 bits.
struct Single {
    static constexpr u32 kBytes = 4;
    static constexpr u32 kLoads = 1;
    static constexpr u32 kOne = 0x3f800000;

    static __device__ __forceinline__ u32 load_shared(u32 address) {
        return ptx::load_shared_32(address);
    }
    static __device__ __forceinline__ float load(const char* address) {
        return __uint_as_float(ptx::load_constant_32(address));
    }
    static __device__ __forceinline__ void load_columns(const u32 (&at)[1], u32 further, u32 (&raw)[4]) {
        ptx::load_shared_128(at[0] + further, raw);
    }
};

// f32 as it is, on CUDA cores: consume_rows.cuh.
struct F32 : Single {};

// What tensor cores do to operands of each value type. A lane has bit `lane` of every mask word t: row lane /
// 4 + 8 * (t % 2) and column lane % 4 + 4 * (t / 2) of the tile. Of B it reads 16 bytes of rows lane % 4 and
// lane % 4 + 4 by kLoads loads of four neighbouring columns. Each column is for an mma of its own.
struct Tf32 : Single {
    static constexpr u32 kRegistersOfA = 4;

    // The elements of the words are the registers.
    static __device__ __forceinline__ void fragment(const u32 (&element)[4], u32 (&a)[4]) {
#pragma unroll
        for (u32 t = 0; t < 4; ++t) a[t] = ptx::round_tf32(element[t]);
    }
    static __device__ __forceinline__ void multiply(float (&sum)[4], const u32 (&a)[4],
                                                    const u32 (&raw)[2][4], u32 i) {
        const u32 b[2] = {ptx::round_tf32(raw[0][i]), ptx::round_tf32(raw[1][i])};
        ptx::mma_tf32(sum, a, b);
    }
};

// f32 as the sum of two TF32, of which the second takes what the first one lacks: a relative error of 2^-23.
// Of the four products that of the second parts is left out, which is at most 2^-22 of the whole. Tensor
// cores cut sums off. So they add up one tile alone, small products first. Tiles are added to one another in
// f32. The method is that of Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while
// surpassing the FP32 theoretical peak performance", 2022, section 3.
struct ThreeTf32 : Single {
    static constexpr u32 kRegistersOfA = 8;

    static __device__ __forceinline__ void split(u32 bits, u32& big, u32& small) {
        big = ptx::round_tf32(bits);
        const float rest = __fsub_rn(__uint_as_float(bits), __uint_as_float(big));
        small = ptx::round_tf32(__float_as_uint(rest));
    }
    static __device__ __forceinline__ void fragment(const u32 (&element)[4], u32 (&a)[8]) {
#pragma unroll
        for (u32 t = 0; t < 4; ++t) split(element[t], a[t], a[4 + t]);
    }
    static __device__ __forceinline__ void multiply(float (&sum)[4], const u32 (&a)[8],
                                                    const u32 (&raw)[2][4], u32 i) {
        const u32 big[4] = {a[0], a[1], a[2], a[3]};
        const u32 small[4] = {a[4], a[5], a[6], a[7]};
        u32 big_b[2];
        u32 small_b[2];
        split(raw[0][i], big_b[0], small_b[0]);
        split(raw[1][i], big_b[1], small_b[1]);
        float of_tile[4] = {};
        ptx::mma_tf32(of_tile, small, big_b);
        ptx::mma_tf32(of_tile, big, small_b);
        ptx::mma_tf32(of_tile, big, big_b);
#pragma unroll
        for (u32 j = 0; j < 4; ++j) sum[j] += of_tile[j];
    }
};

// An mma's neighbours along k, which share a register, are columns q and q + 4 of the tile, for lanes of
// q = lane % 4: of A as of B.
struct Half {
    static constexpr u32 kBytes = 2;
    static constexpr u32 kLoads = 2;
    static constexpr u32 kRegistersOfA = 2;

    static __device__ __forceinline__ u32 load_shared(u32 address) {
        return ptx::load_shared_16(address);
    }
    static __device__ __forceinline__ void load_columns(const u32 (&at)[2], u32 further, u32 (&raw)[4]) {
#pragma unroll
        for (u32 i = 0; i < 2; ++i) {
            u32 four[2];
            ptx::load_shared_64(at[i] + further, four);
            raw[2 * i] = four[0];
            raw[2 * i + 1] = four[1];
        }
    }
    static __device__ __forceinline__ void fragment(const u32 (&element)[4], u32 (&a)[2]) {
        a[0] = ptx::permute_bytes(element[0], element[2], 0x5410);
        a[1] = ptx::permute_bytes(element[1], element[3], 0x5410);
    }
    static __device__ __forceinline__ u32 fragment_of_b(const u32 (&raw)[2][4], u32 i) {
        return ptx::permute_bytes(raw[0][i / 2], raw[1][i / 2], i % 2 ? 0x7632 : 0x5410);
    }
};
struct F16 : Half {
    static constexpr u32 kOne = 0x3c00;

    static __device__ __forceinline__ float load(const char* address) {
        float wide;
        asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(ptx::load_constant_16(address)));
        return wide;
    }
    static __device__ __forceinline__ void multiply(float (&sum)[4], const u32 (&a)[2],
                                                    const u32 (&raw)[2][4], u32 i) {
        const u32 b[1] = {fragment_of_b(raw, i)};
        ptx::mma_f16(sum, a, b);
    }
};
struct Bf16 : Half {
    static constexpr u32 kOne = 0x3f80;

    static __device__ __forceinline__ float load(const char* address) {
        return __uint_as_float(static_cast<u32>(ptx::load_constant_16(address)) << 16);
    }
    static __device__ __forceinline__ void multiply(float (&sum)[4], const u32 (&a)[2],
                                                    const u32 (&raw)[2][4], u32 i) {
        const u32 b[1] = {fragment_of_b(raw, i)};
        ptx::mma_bf16(sum, a, b);
    }
};

using Value = VALUE;
constexpr bool kPattern = PATTERN;
// Bytes of a row of B that a warp multiplies with one decoded tile at a time: 16 for each of 8 columns of
// an mma.
constexpr u32 kUnitBytes = 128;
constexpr u32 kUnitColumns = kUnitBytes / Value::kBytes;
// Columns that a lane loads together, and those of a unit that it multiplies, each by an mma.
constexpr u32 kPerLoad = 4;
constexpr u32 kPerUnit = Value::kLoads * kPerLoad;
// Values in 16 bytes.
constexpr u32 kPerChunk = 16 / Value::kBytes;

// How rows of B come to shared memory: each by one bulk copy, by 16 bytes of each lane, or element by element, whatever
// the strides.
enum class Gather { kRows, kVectors, kElements };

// WARPS consumers, ACROSS of which share the columns of a row of B, UNITS of 128 bytes for each: all of them,
// or one where warps share the rows of a window. STAGES stages of TILES tiles, shared out among PRODUCERS
// warps that bring them, CTAS blocks to a multiprocessor.
template <Gather GATHER, u32 WARPS, u32 ACROSS, u32 UNITS, u32 PRODUCERS, u32 TILES, u32 STAGES,
          u32 CTAS>
struct Config {
    static constexpr Gather kGather = GATHER;
    static constexpr u32 kConsumerWarps = WARPS;
    static constexpr u32 kUnits = UNITS;
    static constexpr u32 kTiles = TILES;
    static constexpr u32 kStages = STAGES;
    static constexpr u32 kCtas = CTAS;
    static constexpr u32 kProducerWarps = PRODUCERS;
    static constexpr u32 kThreads = (WARPS + PRODUCERS) * kWarpSize;
    static constexpr u32 kRowBytes = ACROSS * UNITS * kUnitBytes;
    // Lanes of a quarter of a warp read chunks 64 bytes apart of four rows: with this pitch, all banks.
    static constexpr u32 kPitch = kRowBytes + 16;
    // A stage: headers, values with what rounding to whole chunks adds, rows of B.
    static constexpr u32 kHeaderBytes = TILES * sizeof(Header);
    static constexpr u32 kValueBytes =
        kPattern ? 0 : TILES * kWindowRows * kTileCols * Value::kBytes + 16;
    static constexpr u32 kStageBytes = kHeaderBytes + kValueBytes + TILES * kTileCols * kPitch;
    static constexpr u32 kShared = STAGES * kStageBytes + Ring<STAGES>::kBytes;
    // Rows of B that a producer warp brings to a stage, and stages whose packed columns it loads at once, one
    // in each lane.
    static constexpr u32 kRowsOfWarp = TILES / PRODUCERS * kTileCols;
    static constexpr u32 kAhead = kWarpSize / kRowsOfWarp;
    static_assert(TILES % PRODUCERS == 0 && kWarpSize % kRowsOfWarp == 0,
                  "lanes hold the rows of whole stages");
    static_assert(kStageBytes % 16 == 0, "bulk copies begin on 16 bytes");

    static __device__ __forceinline__ u32 headers(u32 stages, u32 stage) {
        return stages + stage * kStageBytes;
    }
    static __device__ __forceinline__ u32 values(u32 stages, u32 stage) {
        return headers(stages, stage) + kHeaderBytes;
    }
    static __device__ __forceinline__ u32 rows(u32 stages, u32 stage) {
        return values(stages, stage) + kValueBytes;
    }
};
