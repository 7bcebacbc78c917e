//! AVX2 with FMA and F16C: a line is two registers.

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::four::x86;
use super::line::{Compile, Line, LineFor, Widen};

/// AVX2, FMA and F16C.
pub(crate) struct Avx2;

impl Compile for Avx2 {
    #[inline(never)]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn call<R>(code: impl FnOnce() -> R) -> R {
        code()
    }
}

/// Lanes of a partial line, per register, and their number.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    registers: [__m256i; 2],
    len: usize,
}

macro_rules! line {
    ($name:ident: $reg:ty, $four:ident, $acc:ty, $half:literal, $lane:ident;
     $set1:ident $loadu:ident $maskload:ident $storeu:ident $maskstore:ident $stream:ident
     $fmadd:ident $add:ident $mul:ident) => {
        #[derive(Clone, Copy)]
        pub(crate) struct $name([$reg; 2]);

        impl Line for $name {
            type Acc = $acc;
            type Mask = Lanes;
            type Four = x86::$four;
            const LANES: usize = 2 * $half;
            const PREFETCHES: bool = true;

            #[inline(always)]
            unsafe fn mask(len: usize) -> Lanes {
                let mut lanes = [0; 2 * $half];
                lanes[..len].fill(-1 as $lane);
                let p: *const $lane = lanes.as_ptr();
                // SAFETY: AVX2, and `lanes` holds two registers' worth.
                let registers = unsafe {
                    [_mm256_loadu_si256(p.cast()), _mm256_loadu_si256(p.add($half).cast())]
                };
                Lanes { registers, len }
            }
            #[inline(always)]
            unsafe fn splat(x: $acc) -> Self {
                // SAFETY: the caller has AVX2, as `Line` requires.
                let x = unsafe { $set1(x) };
                Self([x, x])
            }
            #[inline(always)]
            unsafe fn load(p: *const $acc) -> Self {
                // SAFETY: AVX2 and a valid pointer, as `Line` requires.
                Self(unsafe { [$loadu(p), $loadu(p.add($half))] })
            }
            #[inline(always)]
            unsafe fn load_masked(p: *const $acc, mask: Lanes) -> Self {
                let [low, high] = mask.registers;
                // SAFETY: AVX2, and the lanes outside the mask are not accessed; `wrapping_add`
                // because the second half may lie past the end of the array.
                Self(unsafe { [$maskload(p, low), $maskload(p.wrapping_add($half), high)] })
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $acc) {
                // SAFETY: AVX2 and a valid pointer, as `Line` requires.
                unsafe {
                    $storeu(p, self.0[0]);
                    $storeu(p.add($half), self.0[1]);
                }
            }
            #[inline(always)]
            unsafe fn stream(self, p: *mut $acc) {
                // SAFETY: AVX, and a valid and aligned pointer, as `Line` requires.
                unsafe {
                    $stream(p, self.0[0]);
                    $stream(p.add($half), self.0[1]);
                }
            }
            #[inline(always)]
            fn prefetch<T>(p: *const T) {
                // SAFETY: part of every x86-64; no address is too bad to hint at.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(p.cast()) }
            }
            #[inline(always)]
            fn prefetch_l2<T>(p: *const T) {
                // SAFETY: as above.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
            }
            #[inline(always)]
            unsafe fn fence() {
                // SAFETY: part of every x86-64.
                unsafe { _mm_sfence() }
            }
            #[inline(always)]
            unsafe fn store_masked(self, p: *mut $acc, mask: Lanes) {
                let [low, high] = mask.registers;
                // SAFETY: as in `load_masked`.
                unsafe {
                    $maskstore(p, low, self.0[0]);
                    $maskstore(p.wrapping_add($half), high, self.0[1]);
                }
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: the caller has FMA.
                Self(unsafe {
                    [$fmadd(self.0[0], b.0[0], c.0[0]), $fmadd(self.0[1], b.0[1], c.0[1])]
                })
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                // SAFETY: the caller has AVX.
                Self(unsafe { [$add(self.0[0], b.0[0]), $add(self.0[1], b.0[1])] })
            }
            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                // SAFETY: the caller has AVX.
                Self(unsafe { [$mul(self.0[0], b.0[0]), $mul(self.0[1], b.0[1])] })
            }
            #[inline(always)]
            unsafe fn mul_add_one(a: $acc, b: $acc, c: $acc) -> $acc {
                a.mul_add(b, c)
            }
        }

        impl Widen<$acc> for $name {
            #[inline(always)]
            unsafe fn widen(p: *const $acc) -> Self {
                // SAFETY: the caller's contract is `load`'s.
                unsafe { Self::load(p) }
            }
            #[inline(always)]
            unsafe fn widen_masked(p: *const $acc, mask: Lanes) -> Self {
                // SAFETY: the caller's contract is `load_masked`'s.
                unsafe { Self::load_masked(p, mask) }
            }
        }
    };
}

line!(F32x16: __m256, F32x4, f32, 8, i32;
      _mm256_set1_ps _mm256_loadu_ps _mm256_maskload_ps _mm256_storeu_ps _mm256_maskstore_ps
      _mm256_stream_ps
      _mm256_fmadd_ps _mm256_add_ps _mm256_mul_ps);
line!(F64x8: __m256d, F64x4, f64, 4, i64;
      _mm256_set1_pd _mm256_loadu_pd _mm256_maskload_pd _mm256_storeu_pd _mm256_maskstore_pd
      _mm256_stream_pd
      _mm256_fmadd_pd _mm256_add_pd _mm256_mul_pd);

macro_rules! widen_narrow {
    ($t:ty, $convert:ident) => {
        impl Widen<$t> for F32x16 {
            #[inline(always)]
            unsafe fn widen(p: *const $t) -> Self {
                // SAFETY: AVX2 and a pointer valid for 16 values.
                Self(unsafe {
                    [
                        $convert(_mm_loadu_si128(p.cast())),
                        $convert(_mm_loadu_si128(p.add(8).cast())),
                    ]
                })
            }
            #[inline(always)]
            unsafe fn widen_masked(p: *const $t, mask: Lanes) -> Self {
                let mut all = [<$t>::ZERO; 16];
                // SAFETY: `mask.len ≤ 16` values are valid at `p`, and `all` holds 16.
                unsafe {
                    std::ptr::copy_nonoverlapping(p, all.as_mut_ptr(), mask.len);
                    Self::widen(all.as_ptr())
                }
            }
        }
    };
}

/// Widens 8 f16 values.
#[inline(always)]
unsafe fn f16_to_f32(x: __m128i) -> __m256 {
    // SAFETY: the caller has F16C.
    unsafe { _mm256_cvtph_ps(x) }
}

/// Widens 8 bf16 values: they are the upper halves.
#[inline(always)]
unsafe fn bf16_to_f32(x: __m128i) -> __m256 {
    // SAFETY: the caller has AVX2.
    unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(x))) }
}

widen_narrow!(f16, f16_to_f32);
widen_narrow!(bf16, bf16_to_f32);

macro_rules! line_for {
    ($($t:ty => $line:ty),*) => {$(
        impl LineFor<$t> for Avx2 {
            type Line = $line;
            type Half = $line;
            type Quarter = $line;
            const STRIP_LINES: usize = 1;
        }
    )*};
}

line_for!(f16 => F32x16, bf16 => F32x16, f32 => F32x16, f64 => F64x8);
