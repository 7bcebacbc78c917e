//! AVX-512: a vector is one register, and so are its half and its quarter.

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::four::x86;
use super::vector::{Compile, Vector, VectorsFor, Widen};

/// AVX-512 F, BW, VL and DQ.
pub(crate) struct Avx512;

impl Compile for Avx512 {
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
    unsafe fn call<R>(code: impl FnOnce() -> R) -> R {
        code()
    }
}

macro_rules! vector {
    ($name:ident: $reg:ty, $lanes:literal, $mask:ty, $acc:ty, $four:ident;
     $set1:ident $loadu:ident $maskz_loadu:ident $storeu:ident $mask_storeu:ident $stream:ident
     $fmadd:ident $add:ident $mul:ident) => {
        #[derive(Clone, Copy)]
        pub(crate) struct $name($reg);

        impl Vector for $name {
            type Acc = $acc;
            type Mask = $mask;
            type Four = x86::$four;
            const LANES: usize = $lanes;
            const PREFETCHES: bool = true;

            #[inline(always)]
            unsafe fn mask(len: usize) -> $mask {
                ((1u32 << len) - 1) as $mask
            }
            #[inline(always)]
            unsafe fn splat(x: $acc) -> Self {
                // SAFETY: the caller has AVX-512, as `Vector` requires.
                Self(unsafe { $set1(x) })
            }
            #[inline(always)]
            unsafe fn load(p: *const $acc) -> Self {
                // SAFETY: AVX-512 and a valid pointer, as `Vector` requires.
                Self(unsafe { $loadu(p) })
            }
            #[inline(always)]
            unsafe fn load_masked(p: *const $acc, mask: $mask) -> Self {
                // SAFETY: AVX-512, and the lanes outside the mask are not accessed.
                Self(unsafe { $maskz_loadu(mask, p) })
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $acc) {
                // SAFETY: AVX-512 and a valid pointer, as `Vector` requires.
                unsafe { $storeu(p, self.0) }
            }
            #[inline(always)]
            unsafe fn stream(self, p: *mut $acc) {
                // SAFETY: AVX-512, and a valid and aligned pointer, as `Vector` requires.
                unsafe { $stream(p, self.0) }
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
            unsafe fn store_masked(self, p: *mut $acc, mask: $mask) {
                // SAFETY: AVX-512, and the lanes outside the mask are not accessed.
                unsafe { $mask_storeu(p, mask, self.0) }
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: the caller has AVX-512.
                Self(unsafe { $fmadd(self.0, b.0, c.0) })
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                // SAFETY: the caller has AVX-512.
                Self(unsafe { $add(self.0, b.0) })
            }
            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                // SAFETY: the caller has AVX-512.
                Self(unsafe { $mul(self.0, b.0) })
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
            unsafe fn widen_masked(p: *const $acc, mask: $mask) -> Self {
                // SAFETY: the caller's contract is `load_masked`'s.
                unsafe { Self::load_masked(p, mask) }
            }
        }
    };
}

vector!(F32x16: __m512, 16, __mmask16, f32, F32x4;
      _mm512_set1_ps _mm512_loadu_ps _mm512_maskz_loadu_ps
      _mm512_storeu_ps _mm512_mask_storeu_ps _mm512_stream_ps
      _mm512_fmadd_ps _mm512_add_ps _mm512_mul_ps);
vector!(F32x8: __m256, 8, __mmask8, f32, F32x4;
      _mm256_set1_ps _mm256_loadu_ps _mm256_maskz_loadu_ps
      _mm256_storeu_ps _mm256_mask_storeu_ps _mm256_stream_ps
      _mm256_fmadd_ps _mm256_add_ps _mm256_mul_ps);
vector!(F32x4: __m128, 4, __mmask8, f32, F32x4;
      _mm_set1_ps _mm_loadu_ps _mm_maskz_loadu_ps
      _mm_storeu_ps _mm_mask_storeu_ps _mm_stream_ps
      _mm_fmadd_ps _mm_add_ps _mm_mul_ps);
vector!(F64x8: __m512d, 8, __mmask8, f64, F64x4;
      _mm512_set1_pd _mm512_loadu_pd _mm512_maskz_loadu_pd
      _mm512_storeu_pd _mm512_mask_storeu_pd _mm512_stream_pd
      _mm512_fmadd_pd _mm512_add_pd _mm512_mul_pd);
vector!(F64x4: __m256d, 4, __mmask8, f64, F64x4;
      _mm256_set1_pd _mm256_loadu_pd _mm256_maskz_loadu_pd
      _mm256_storeu_pd _mm256_mask_storeu_pd _mm256_stream_pd
      _mm256_fmadd_pd _mm256_add_pd _mm256_mul_pd);
vector!(F64x2: __m128d, 2, __mmask8, f64, F64x4;
      _mm_set1_pd _mm_loadu_pd _mm_maskz_loadu_pd
      _mm_storeu_pd _mm_mask_storeu_pd _mm_stream_pd
      _mm_fmadd_pd _mm_add_pd _mm_mul_pd);

impl Widen<f16> for F32x16 {
    #[inline(always)]
    unsafe fn widen(p: *const f16) -> Self {
        // SAFETY: AVX-512 and a valid pointer, as `Vector` requires.
        Self(unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(p.cast())) })
    }
    #[inline(always)]
    unsafe fn widen_masked(p: *const f16, mask: __mmask16) -> Self {
        // SAFETY: AVX-512 BW and VL, and a pointer valid for the masked lanes.
        Self(unsafe { _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, p.cast())) })
    }
}

impl Widen<bf16> for F32x16 {
    #[inline(always)]
    unsafe fn widen(p: *const bf16) -> Self {
        // SAFETY: AVX-512 and a valid pointer, as `Vector` requires.
        Self(unsafe { bf16_to_f32(_mm256_loadu_si256(p.cast())) })
    }
    #[inline(always)]
    unsafe fn widen_masked(p: *const bf16, mask: __mmask16) -> Self {
        // SAFETY: AVX-512 BW and VL, and a pointer valid for the masked lanes.
        Self(unsafe { bf16_to_f32(_mm256_maskz_loadu_epi16(mask, p.cast())) })
    }
}

/// Widens 16 bf16 values: they are the upper halves.
#[inline(always)]
unsafe fn bf16_to_f32(x: __m256i) -> __m512 {
    // SAFETY: the caller has AVX-512.
    unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(x))) }
}

macro_rules! vectors_for {
    ($($t:ty => $vector:ty, $half:ty, $quarter:ty);*) => {$(
        impl VectorsFor<$t> for Avx512 {
            type Vector = $vector;
            type Half = $half;
            type Quarter = $quarter;
            const STRIP_VECTORS: usize = 4;
        }
    )*};
}

vectors_for!(
    f16 => F32x16, F32x16, F32x16;
    bf16 => F32x16, F32x16, F32x16;
    f32 => F32x16, F32x8, F32x4;
    f64 => F64x8, F64x4, F64x2
);
