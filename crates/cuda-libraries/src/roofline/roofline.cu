// What the device can do at most: kernels that do one thing, to be timed. Host side: mod.rs.
#include "shared/types.cuh"
#include "ptx/memory.cuh"

// Addresses of vectors of 16 bytes, and how many there are in each.
struct Params {
    ptx::Vector16* a;
    const ptx::Vector16* b;
    const ptx::Vector16* c;
    u64 n;
    // Times that a buffer is read, or multiply-adds of a chain.
    u64 times;
    u64 seed;
};
static_assert(sizeof(Params) == 48, "the host passes 48 bytes");

constexpr u32 kChains = 8;

// a = b + 3c, each element once.
extern "C" __global__ void __launch_bounds__(256) roofline_triad(const __grid_constant__ Params p) {
    const u64 threads = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < p.n; i += threads) {
        const ptx::Vector16 b = ptx::load_streamed(p.b + i);
        const ptx::Vector16 c = ptx::load_streamed(p.c + i);
        ptx::Vector16 a;
#pragma unroll
        for (u32 w = 0; w < 4; ++w) {
            const float sum = __fmaf_rn(3.0f, __uint_as_float(c.word[w]), __uint_as_float(b.word[w]));
            a.word[w] = __float_as_uint(sum);
        }
        p.a[i] = a;
    }
}

// Every block reads all of b, whose length is a power of two, past the first-level cache, beginning
// elsewhere than its neighbours and elsewhere in each turn.
extern "C" __global__ void __launch_bounds__(256) roofline_read(const __grid_constant__ Params p) {
    const u32 last = static_cast<u32>(p.n) - 1;
    u32 at = blockIdx.x * 7919 * blockDim.x + threadIdx.x;
    u32 all = 0;
    for (u32 turn = 0; turn < p.times; ++turn, at += 64) {
        for (u32 i = 0; i <= last; i += kChains * blockDim.x) {
            ptx::Vector16 v[kChains];
#pragma unroll
            for (u32 u = 0; u < kChains; ++u) {
                v[u] = ptx::load_streamed(p.b + ((at + i + u * blockDim.x) & last));
            }
#pragma unroll
            for (u32 u = 0; u < kChains; ++u) {
                all ^= v[u].word[0] ^ v[u].word[1] ^ v[u].word[2] ^ v[u].word[3];
            }
        }
    }
    // Nobody knows that this never happens.
    if (all == 0x9e3779b9u) p.a->word[0] = all;
}

template <class T>
__device__ __forceinline__ void multiply_add_chains(const Params& p, T (*step)(T, T, T)) {
    T chain[kChains];
#pragma unroll
    for (u32 i = 0; i < kChains; ++i) chain[i] = T(threadIdx.x + i);
    const T factor = T(p.seed);
    for (u64 turn = 0; turn < p.times; ++turn) {
#pragma unroll
        for (u32 i = 0; i < kChains; ++i) chain[i] = step(chain[i], factor, T(1));
    }
    T all = 0;
#pragma unroll
    for (u32 i = 0; i < kChains; ++i) all += chain[i];
    if (all == T(0.125)) p.a->word[0] = 1;
}

__device__ __forceinline__ float step_f32(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ double step_f64(double a, double b, double c) { return __fma_rn(a, b, c); }

extern "C" __global__ void __launch_bounds__(256) roofline_fma_f32(const __grid_constant__ Params p) {
    multiply_add_chains<float>(p, step_f32);
}

extern "C" __global__ void __launch_bounds__(256) roofline_fma_f64(const __grid_constant__ Params p) {
    multiply_add_chains<double>(p, step_f64);
}

// A number in [-1, 1) that nobody would guess: arithmetic on zeros takes less power than on these.
__device__ __forceinline__ float arbitrary(u64 i) {
    i = (i + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    i = (i ^ (i >> 29)) * 0x94d049bb133111ebull;
    return __uint_as_float(0x40000000u | static_cast<u32>(i >> 41)) - 3.0f;
}

// Fills a with f32, or with pairs of bf16 if the seed is odd.
extern "C" __global__ void __launch_bounds__(256) roofline_fill(const __grid_constant__ Params p) {
    const u64 threads = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < p.n; i += threads) {
        ptx::Vector16 a;
#pragma unroll
        for (u32 w = 0; w < 4; ++w) {
            const u64 at = p.seed + 16 * i + 2 * w;
            const u32 first = __float_as_uint(arbitrary(at));
            const u32 second = __float_as_uint(arbitrary(at + 1));
            a.word[w] = p.seed % 2 == 0 ? first : (first >> 16 | (second & 0xffff0000u));
        }
        p.a[i] = a;
    }
}
