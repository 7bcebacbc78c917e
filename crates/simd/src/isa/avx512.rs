//! AVX-512: a vector is one register, and so are its half and its quarter.

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::avx2::{greater_2_doubles, greater_4, greater_4_doubles, greater_8};
use super::four::x86;
use super::totals::{
    totals_2_doubles, totals_4, totals_4_doubles, totals_8, totals_8_doubles, totals_16,
};
use super::vector::{Compile, Vector, VectorsFor, Widen, vector, vectors_for};

/// AVX-512 F, BW, VL and DQ.
pub(crate) struct Avx512;

impl Compile for Avx512 {
    #[inline(never)]
    unsafe fn call<R>(code: impl FnOnce() -> R) -> R {
        // SAFETY: the instruction set by point 1.
        unsafe { with_features(code) }
    }

    #[inline(always)]
    unsafe fn narrow<const PAST: bool>(from: *const f32, to: *mut u16, len: usize, is_bf16: bool) {
        // SAFETY: the instruction set by point 1, the elements by point 2, their alignment by point 3.
        unsafe {
            if is_bf16 {
                narrow_by::<PAST, true>(from, to, len);
            } else {
                narrow_by::<PAST, false>(from, to, len);
            }
        }
    }
}

/// Rounds `len` numbers to 16 bits, sixteen at a time. A closure would lose the instruction set wherever it is not inlined.
///
/// # Safety
/// 1. The machine has AVX-512 F, BW and VL.
/// 2. Both pointers are valid for as many elements, which do not overlap.
/// 3. With `PAST`, `to` is a multiple of 32 bytes.
#[inline(always)]
unsafe fn narrow_by<const PAST: bool, const BF16: bool>(
    from: *const f32,
    to: *mut u16,
    len: usize,
) {
    let whole = len - len % 16;
    // SAFETY: the instruction set by point 1; elements before `len` are valid by point 2, vectors of them aligned by point 3.
    unsafe {
        for i in (0..whole).step_by(16) {
            let (rounded, to) = (round::<BF16>(_mm512_loadu_ps(from.add(i))), to.add(i).cast());
            if PAST { _mm256_stream_si256(to, rounded) } else { _mm256_storeu_si256(to, rounded) }
        }
        if whole < len {
            let rest = len - whole;
            let x = _mm512_maskz_loadu_ps(lanes_of_16(rest), from.add(whole));
            store_some(round::<BF16>(x), to.add(whole), rest);
        }
    }
}

/// Stores the first `len` of 16 elements, by parts; `len` is less than 16. A masked store would be wrong: for a single
/// element that was narrowed before, LLVM 22 stored four bytes.
///
/// # Safety
/// 1. The machine has AVX-512 F and VL.
/// 2. `to` is valid for as many elements.
#[inline(always)]
unsafe fn store_some(elements: __m256i, mut to: *mut u16, len: usize) {
    // SAFETY: the instruction set by point 1. Parts are as long together as there are elements, by point 2.
    unsafe {
        let mut left = _mm256_castsi256_si128(elements);
        if len & 8 != 0 {
            _mm_storeu_si128(to.cast(), left);
            left = _mm256_extracti128_si256::<1>(elements);
            to = to.add(8);
        }
        if len & 4 != 0 {
            _mm_storel_epi64(to.cast(), left);
            left = _mm_unpackhi_epi64(left, left);
            to = to.add(4);
        }
        if len & 2 != 0 {
            to.cast::<i32>().write_unaligned(_mm_cvtsi128_si32(left));
            left = _mm_srli_epi64::<32>(left);
            to = to.add(2);
        }
        if len & 1 != 0 {
            *to = _mm_cvtsi128_si32(left) as u16;
        }
    }
}

/// Rounds 16 numbers to bf16 or f16.
///
/// # Safety
/// 1. The machine has AVX-512 F.
#[inline(always)]
unsafe fn round<const BF16: bool>(x: __m512) -> __m256i {
    // SAFETY: AVX-512 F by point 1.
    unsafe { if BF16 { f32_to_bf16(x) } else { _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x) } }
}

/// Rounds 16 numbers to bf16, as the function of that name in `halves` does.
///
/// # Safety
/// 1. The machine has AVX-512 F.
#[inline(always)]
unsafe fn f32_to_bf16(x: __m512) -> __m256i {
    // SAFETY: AVX-512 F by point 1.
    unsafe {
        let bits = _mm512_castps_si512(x);
        let upper = _mm512_srli_epi32::<16>(bits);
        let odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
        let number = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
        let sign = _mm512_and_si512(upper, _mm512_set1_epi32(0x8000));
        let nan = _mm512_or_si512(sign, _mm512_set1_epi32(0x7fc0));
        let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
        let rounded = _mm512_mask_mov_epi32(_mm512_srli_epi32::<16>(number), is_nan, nan);
        _mm512_cvtepi32_epi16(rounded)
    }
}

/// Compiled for the instruction set, as [`Compile::call`] promises. That is another function, since rustc 1.95 does
/// not tell LLVM to never inline one with target features.
///
/// # Safety
/// 1. The machine has the instruction set.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
unsafe fn with_features<R>(code: impl FnOnce() -> R) -> R {
    code()
}

/// Lanes `0..len` of up to 16.
///
/// # Safety
/// 1. The machine has AVX-512 F.
#[inline(always)]
unsafe fn lanes_of_16(len: usize) -> __mmask16 {
    // SAFETY: AVX-512 F by point 1.
    unsafe { _cvtu32_mask16((1 << len) - 1) }
}

/// Lanes `0..len` of up to 8.
///
/// # Safety
/// 1. The machine has AVX-512 DQ.
#[inline(always)]
unsafe fn lanes_of_8(len: usize) -> __mmask8 {
    // SAFETY: AVX-512 DQ by point 1.
    unsafe { _cvtu32_mask8((1 << len) - 1) }
}

/// Lanes `from..16`.
///
/// # Safety
/// 1. The machine has AVX-512 F.
#[inline(always)]
unsafe fn lanes_from_16(from: usize) -> __mmask16 {
    // SAFETY: AVX-512 F by point 1.
    unsafe { _cvtu32_mask16(0xffff << from) }
}

/// Lanes `from..8`.
///
/// # Safety
/// 1. The machine has AVX-512 DQ.
#[inline(always)]
unsafe fn lanes_from_8(from: usize) -> __mmask8 {
    // SAFETY: AVX-512 DQ by point 1.
    unsafe { _cvtu32_mask8(0xff << from) }
}

/// The greater lane of each pair: `a` where they are equal, NaN where either is.
///
/// # Safety
/// 1. The machine has AVX-512 F.
#[inline(always)]
unsafe fn greater_16(a: __m512, b: __m512) -> __m512 {
    // The instruction gives its second operand where the two are equal or either is NaN.
    // SAFETY: AVX-512 F by point 1.
    unsafe { _mm512_mask_mov_ps(_mm512_max_ps(b, a), _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(b, b), b) }
}

/// As [`greater_16`].
///
/// # Safety
/// 1. The machine has AVX-512 F.
#[inline(always)]
unsafe fn greater_8_doubles(a: __m512d, b: __m512d) -> __m512d {
    // SAFETY: AVX-512 F by point 1.
    unsafe { _mm512_mask_mov_pd(_mm512_max_pd(b, a), _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(b, b), b) }
}

vector! {
    F32x16(__m512) of Avx512: 16 of f32, __mmask16, x86::FourF32, [PREFETCHES: true, MASKS_HALVES: true, HEADS: true]
    lanes_from_16;
    lanes_of_16 _mm512_set1_ps _mm512_loadu_ps _mm512_maskz_loadu_ps _mm512_storeu_ps _mm512_mask_storeu_ps
    _mm512_stream_ps _mm512_fmadd_ps _mm512_add_ps _mm512_mul_ps greater_16 totals_16
}
vector! {
    F32x8(__m256) of Avx512: 8 of f32, __mmask8, x86::FourF32, [PREFETCHES: true, MASKS_HALVES: true];
    lanes_of_8 _mm256_set1_ps _mm256_loadu_ps _mm256_maskz_loadu_ps _mm256_storeu_ps _mm256_mask_storeu_ps
    _mm256_stream_ps _mm256_fmadd_ps _mm256_add_ps _mm256_mul_ps greater_8 totals_8
}
vector! {
    F32x4(__m128) of Avx512: 4 of f32, __mmask8, x86::FourF32, [PREFETCHES: true, MASKS_HALVES: true];
    lanes_of_8 _mm_set1_ps _mm_loadu_ps _mm_maskz_loadu_ps _mm_storeu_ps _mm_mask_storeu_ps
    _mm_stream_ps _mm_fmadd_ps _mm_add_ps _mm_mul_ps greater_4 totals_4
}
vector! {
    F64x8(__m512d) of Avx512: 8 of f64, __mmask8, x86::FourF64, [PREFETCHES: true, MASKS_HALVES: true, HEADS: true]
    lanes_from_8;
    lanes_of_8 _mm512_set1_pd _mm512_loadu_pd _mm512_maskz_loadu_pd _mm512_storeu_pd _mm512_mask_storeu_pd
    _mm512_stream_pd _mm512_fmadd_pd _mm512_add_pd _mm512_mul_pd greater_8_doubles totals_8_doubles
}
vector! {
    F64x4(__m256d) of Avx512: 4 of f64, __mmask8, x86::FourF64, [PREFETCHES: true, MASKS_HALVES: true];
    lanes_of_8 _mm256_set1_pd _mm256_loadu_pd _mm256_maskz_loadu_pd _mm256_storeu_pd _mm256_mask_storeu_pd
    _mm256_stream_pd _mm256_fmadd_pd _mm256_add_pd _mm256_mul_pd greater_4_doubles totals_4_doubles
}
vector! {
    F64x2(__m128d) of Avx512: 2 of f64, __mmask8, x86::FourF64, [PREFETCHES: true, MASKS_HALVES: true];
    lanes_of_8 _mm_set1_pd _mm_loadu_pd _mm_maskz_loadu_pd _mm_storeu_pd _mm_mask_storeu_pd
    _mm_stream_pd _mm_fmadd_pd _mm_add_pd _mm_mul_pd greater_2_doubles totals_2_doubles
}

impl Widen<f16> for F32x16 {
    #[inline(always)]
    unsafe fn widen(p: *const f16) -> Self {
        // SAFETY: AVX-512 by point 1, 16 values by point 2.
        Self(unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(p.cast())) })
    }
    #[inline(always)]
    unsafe fn widen_masked(p: *const f16, mask: __mmask16) -> Self {
        // SAFETY: AVX-512 BW and VL by point 1, the lanes of the mask by point 3.
        Self(unsafe { _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, p.cast())) })
    }
}

impl Widen<bf16> for F32x16 {
    #[inline(always)]
    unsafe fn widen(p: *const bf16) -> Self {
        // SAFETY: AVX-512 by point 1, 16 values by point 2.
        Self(unsafe { bf16_to_f32(_mm256_loadu_si256(p.cast())) })
    }
    #[inline(always)]
    unsafe fn widen_masked(p: *const bf16, mask: __mmask16) -> Self {
        // SAFETY: AVX-512 BW and VL by point 1, the lanes of the mask by point 3.
        Self(unsafe { bf16_to_f32(_mm256_maskz_loadu_epi16(mask, p.cast())) })
    }
}

/// Widens 16 bf16 values: they are the upper halves.
///
/// # Safety
/// 1. The machine has AVX-512 F.
#[inline(always)]
unsafe fn bf16_to_f32(x: __m256i) -> __m512 {
    // SAFETY: AVX-512 F by point 1.
    unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(x))) }
}

vectors_for! {
    Avx512, 4 by 4:
    f16 => F32x16, F32x16, F32x16;
    bf16 => F32x16, F32x16, F32x16;
    f32 => F32x16, F32x8, F32x4;
    f64 => F64x8, F64x4, F64x2;
}
