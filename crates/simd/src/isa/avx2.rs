//! AVX2 with FMA and F16C: a vector is two registers, its half one, and so is its quarter.

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::four::x86;
use super::halves;
use super::totals::{totals_2_doubles, totals_4, totals_4_doubles, totals_8};
use super::two::Two;
use super::vector::{Compile, Vector, VectorsFor, Widen, vector, vectors_for};

/// AVX2, FMA and F16C.
pub(crate) struct Avx2;

impl Compile for Avx2 {
    #[inline(never)]
    unsafe fn call<R>(code: impl FnOnce() -> R) -> R {
        // SAFETY: the instruction set by point 1.
        unsafe { with_features(code) }
    }

    #[inline(always)]
    unsafe fn narrow<const PAST: bool>(from: *const f32, to: *mut u16, len: usize, is_bf16: bool) {
        // SAFETY: the machine has F16C by point 1, the elements by point 2, their alignment by point 3.
        unsafe {
            match is_bf16 {
                true if !PAST => halves::narrow_bf16(from, to, len),
                true => narrow_by::<PAST, true>(from, to, len),
                false => narrow_by::<PAST, false>(from, to, len),
            }
        }
    }
}

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;

/// Rounds `len` numbers to f16, or to bf16 if they are whole vectors of eight.
///
/// # Safety
/// 1. The machine has F16C.
/// 2. Both pointers are valid for as many elements, which do not overlap.
/// 3. With `PAST`, `to` is a multiple of 16 bytes.
#[inline(always)]
unsafe fn narrow_by<const PAST: bool, const BF16: bool>(
    from: *const f32,
    to: *mut u16,
    len: usize,
) {
    let whole = len - len % 8;
    // SAFETY: F16C by point 1; elements before `len` are valid by point 2, vectors of them aligned by point 3.
    unsafe {
        for i in (0..whole).step_by(8) {
            let (rounded, to) = (round_8::<BF16>(from.add(i)), to.add(i).cast());
            if PAST { _mm_stream_si128(to, rounded) } else { _mm_storeu_si128(to, rounded) }
        }
        for i in whole..len {
            let half = _mm_cvtps_ph::<NEAREST>(_mm_load_ss(from.add(i)));
            *to.add(i) = _mm_extract_epi16::<0>(half) as u16;
        }
    }
}

/// Rounds eight numbers to bf16 or f16.
///
/// # Safety
/// 1. The machine has F16C.
/// 2. The pointer is valid for as many elements.
#[inline(always)]
unsafe fn round_8<const BF16: bool>(from: *const f32) -> __m128i {
    // SAFETY: F16C by point 1, the elements by point 2.
    unsafe {
        if BF16 {
            let mut eight = [0u16; 8];
            halves::narrow_bf16(from, eight.as_mut_ptr(), 8);
            _mm_loadu_si128(eight.as_ptr().cast())
        } else {
            _mm256_cvtps_ph::<NEAREST>(_mm256_loadu_ps(from))
        }
    }
}

/// Compiled for the instruction set, as [`Compile::call`] promises. That is another function, since rustc 1.95 does
/// not tell LLVM to never inline one with target features.
///
/// # Safety
/// 1. The machine has the instruction set.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn with_features<R>(code: impl FnOnce() -> R) -> R {
    code()
}

/// Lanes of a partial register, and their number.
#[derive(Clone, Copy)]
pub(crate) struct LaneMask<R> {
    register: R,
    len: usize,
}

vector! {
    F32x8(__m256) of Avx2: 8 of f32, LaneMask<__m256i>, x86::FourF32, [PREFETCHES: true];
    mask_8 _mm256_set1_ps _mm256_loadu_ps load_masked_8 _mm256_storeu_ps store_masked_8
    _mm256_stream_ps _mm256_fmadd_ps _mm256_add_ps _mm256_mul_ps greater_8 totals_8
}
vector! {
    F32x4(__m128) of Avx2: 4 of f32, LaneMask<__m128i>, x86::FourF32, [PREFETCHES: true];
    mask_4 _mm_set1_ps _mm_loadu_ps load_masked_4 _mm_storeu_ps store_masked_4
    _mm_stream_ps _mm_fmadd_ps _mm_add_ps _mm_mul_ps greater_4 totals_4
}
vector! {
    F64x4(__m256d) of Avx2: 4 of f64, LaneMask<__m256i>, x86::FourF64, [PREFETCHES: true];
    mask_4_doubles _mm256_set1_pd _mm256_loadu_pd load_masked_4_doubles _mm256_storeu_pd store_masked_4_doubles
    _mm256_stream_pd _mm256_fmadd_pd _mm256_add_pd _mm256_mul_pd greater_4_doubles totals_4_doubles
}
vector! {
    F64x2(__m128d) of Avx2: 2 of f64, LaneMask<__m128i>, x86::FourF64, [PREFETCHES: true];
    mask_2_doubles _mm_set1_pd _mm_loadu_pd load_masked_2_doubles _mm_storeu_pd store_masked_2_doubles
    _mm_stream_pd _mm_fmadd_pd _mm_add_pd _mm_mul_pd greater_2_doubles totals_2_doubles
}

/// The greater lane of each pair.
macro_rules! greater {
    ($($name:ident: $register:ty, $max:ident $cmp:ident $blend:ident;)*) => {$(
        /// The greater lane of each pair: `a` where they are equal, NaN where either is.
        ///
        /// # Safety
        /// 1. The machine has AVX.
        #[inline(always)]
        pub(super) unsafe fn $name(a: $register, b: $register) -> $register {
            // The instruction gives its second operand where the two are equal or either is NaN.
            // SAFETY: AVX by point 1.
            unsafe { $blend($max(b, a), b, $cmp::<_CMP_UNORD_Q>(b, b)) }
        }
    )*};
}

greater! {
    greater_8: __m256, _mm256_max_ps _mm256_cmp_ps _mm256_blendv_ps;
    greater_4: __m128, _mm_max_ps _mm_cmp_ps _mm_blendv_ps;
    greater_4_doubles: __m256d, _mm256_max_pd _mm256_cmp_pd _mm256_blendv_pd;
    greater_2_doubles: __m128d, _mm_max_pd _mm_cmp_pd _mm_blendv_pd;
}

/// Masks of a register, and loads and stores under them.
///
/// Stores are ordinary stores of halves and quarters: masked stores are slow on AMD's processors.
macro_rules! masked {
    ($register:ty, $acc:ty, $mask:ty, $lane:ty, $lanes:literal, $load_mask:ident $maskload:ident $store_first:ident;
     $mask_fn:ident $load_masked:ident $store_masked:ident) => {
        /// Lanes `0..len` of a register.
        ///
        /// # Safety
        /// 1. The machine has AVX2.
        #[inline(always)]
        unsafe fn $mask_fn(len: usize) -> LaneMask<$mask> {
            let mut lanes = [0; $lanes];
            lanes[..len].fill(-1 as $lane);
            // SAFETY: AVX2 by point 1, and `lanes` is as large as the register.
            let register = unsafe { $load_mask(lanes.as_ptr().cast()) };
            LaneMask { register, len }
        }

        /// The masked lanes from `p`, zero in the rest.
        ///
        /// # Safety
        /// 1. The machine has AVX2.
        /// 2. `p` is valid for the lanes of the mask.
        #[inline(always)]
        unsafe fn $load_masked(mask: LaneMask<$mask>, p: *const $acc) -> $register {
            // SAFETY: AVX2 by point 1; the instruction accesses the lanes of the mask alone, valid by point
            // 2.
            unsafe { $maskload(p, mask.register) }
        }

        /// The masked lanes to `p`.
        ///
        /// # Safety
        /// 1. The machine has AVX2.
        /// 2. `p` is valid for the lanes of the mask.
        #[inline(always)]
        unsafe fn $store_masked(p: *mut $acc, mask: LaneMask<$mask>, x: $register) {
            // SAFETY: AVX2 by point 1, the first `len` lanes by point 2.
            unsafe { $store_first(x, p, mask.len) }
        }
    };
}

masked!(__m256, f32, __m256i, i32, 8, _mm256_loadu_si256 _mm256_maskload_ps store_8;
        mask_8 load_masked_8 store_masked_8);
masked!(__m128, f32, __m128i, i32, 4, _mm_loadu_si128 _mm_maskload_ps store_4;
        mask_4 load_masked_4 store_masked_4);
masked!(__m256d, f64, __m256i, i64, 4, _mm256_loadu_si256 _mm256_maskload_pd store_4_doubles;
        mask_4_doubles load_masked_4_doubles store_masked_4_doubles);
masked!(__m128d, f64, __m128i, i64, 2, _mm_loadu_si128 _mm_maskload_pd store_2_doubles;
        mask_2_doubles load_masked_2_doubles store_masked_2_doubles);

/// The first `len ≤ 8` lanes to `p`.
///
/// # Safety
/// 1. The machine has AVX.
/// 2. `p` is valid for `len` lanes.
#[inline(always)]
unsafe fn store_8(x: __m256, p: *mut f32, len: usize) {
    // SAFETY: AVX by point 1; all stores together write the first `len` lanes, valid by point 2.
    unsafe {
        if len == 8 {
            return _mm256_storeu_ps(p, x);
        }
        let low = _mm256_castps256_ps128(x);
        if len < 4 {
            return store_4(low, p, len);
        }
        _mm_storeu_ps(p, low);
        store_4(_mm256_extractf128_ps::<1>(x), p.add(4), len - 4);
    }
}

/// The first `len ≤ 4` lanes to `p`.
///
/// # Safety
/// 1. The machine has AVX.
/// 2. `p` is valid for `len` lanes.
#[inline(always)]
unsafe fn store_4(x: __m128, p: *mut f32, len: usize) {
    // SAFETY: part of every x86-64; all stores together write the first `len` lanes, valid by point 2.
    unsafe {
        match len {
            0 => {}
            1 => _mm_store_ss(p, x),
            2 => _mm_storel_pd(p.cast(), _mm_castps_pd(x)),
            3 => {
                _mm_storel_pd(p.cast(), _mm_castps_pd(x));
                _mm_store_ss(p.add(2), _mm_movehl_ps(x, x));
            }
            _ => _mm_storeu_ps(p, x),
        }
    }
}

/// The first `len ≤ 4` lanes to `p`.
///
/// # Safety
/// 1. The machine has AVX.
/// 2. `p` is valid for `len` lanes.
#[inline(always)]
unsafe fn store_4_doubles(x: __m256d, p: *mut f64, len: usize) {
    // SAFETY: AVX by point 1; all stores together write the first `len` lanes, valid by point 2.
    unsafe {
        if len == 4 {
            return _mm256_storeu_pd(p, x);
        }
        let low = _mm256_castpd256_pd128(x);
        if len < 2 {
            return store_2_doubles(low, p, len);
        }
        _mm_storeu_pd(p, low);
        store_2_doubles(_mm256_extractf128_pd::<1>(x), p.add(2), len - 2);
    }
}

/// The first `len ≤ 2` lanes to `p`.
///
/// # Safety
/// 1. The machine has AVX.
/// 2. `p` is valid for `len` lanes.
#[inline(always)]
unsafe fn store_2_doubles(x: __m128d, p: *mut f64, len: usize) {
    // SAFETY: part of every x86-64; all stores together write the first `len` lanes, valid by point 2.
    unsafe {
        match len {
            0 => {}
            1 => _mm_store_sd(p, x),
            _ => _mm_storeu_pd(p, x),
        }
    }
}

/// The masked lanes of 16 bits from `p`, zero in the rest: pairs of lanes, and the last of an odd number.
///
/// # Safety
/// 1. The machine has AVX2.
/// 2. `p` is valid for the lanes of the mask.
#[inline(always)]
unsafe fn load_masked_8_halves(mask: LaneMask<__m256i>, p: *const i16) -> __m128i {
    // SAFETY: AVX2 by point 1; lanes of the mask alone are read, valid by point 2.
    unsafe {
        if mask.len == 0 {
            return _mm_setzero_si128();
        }
        let (low, high) =
            (_mm256_castsi256_si128(mask.register), _mm256_extracti128_si256::<1>(mask.register));
        let lanes = _mm_packs_epi32(low, high);
        let pairs = _mm_cmpeq_epi32(lanes, _mm_set1_epi32(-1));
        let last = _mm_set1_epi16(p.add(mask.len - 1).read());
        let whole = _mm_maskload_epi32(p.cast(), pairs);
        _mm_or_si128(whole, _mm_and_si128(last, _mm_andnot_si128(pairs, lanes)))
    }
}

type F32x16 = Two<F32x8>;
type F64x8 = Two<F64x4>;

macro_rules! widen_narrow {
    ($t:ty, $convert:ident) => {
        impl Widen<$t> for F32x16 {
            #[inline(always)]
            unsafe fn widen(p: *const $t) -> Self {
                // SAFETY: AVX2 and F16C by point 1, 16 values by point 2.
                Two(unsafe {
                    [
                        F32x8($convert(_mm_loadu_si128(p.cast()))),
                        F32x8($convert(_mm_loadu_si128(p.add(8).cast()))),
                    ]
                })
            }
            #[inline(always)]
            unsafe fn widen_masked(p: *const $t, mask: Self::Mask) -> Self {
                let [low, high] = mask;
                // SAFETY: AVX2 and F16C by point 1, the lanes of both masks by point 3. With lanes in the second
                // the first has all 8.
                let (first, second) = unsafe {
                    if high.len > 0 {
                        (_mm_loadu_si128(p.cast()), load_masked_8_halves(high, p.add(8).cast()))
                    } else {
                        (load_masked_8_halves(low, p.cast()), _mm_setzero_si128())
                    }
                };
                // SAFETY: AVX2 and F16C by point 1.
                Two(unsafe { [F32x8($convert(first)), F32x8($convert(second))] })
            }
        }
    };
}

/// Widens 8 f16 values.
///
/// # Safety
/// 1. The machine has F16C.
#[inline(always)]
unsafe fn f16_to_f32(x: __m128i) -> __m256 {
    // SAFETY: F16C by point 1.
    unsafe { _mm256_cvtph_ps(x) }
}

/// Widens 8 bf16 values: they are the upper halves.
///
/// # Safety
/// 1. The machine has AVX2.
#[inline(always)]
unsafe fn bf16_to_f32(x: __m128i) -> __m256 {
    // SAFETY: AVX2 by point 1.
    unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(x))) }
}

widen_narrow!(f16, f16_to_f32);
widen_narrow!(bf16, bf16_to_f32);

vectors_for! {
    Avx2, 1 by 6:
    f16 => F32x16, F32x16, F32x16;
    bf16 => F32x16, F32x16, F32x16;
    f32 => F32x16, F32x8, F32x4;
    f64 => F64x8, F64x4, F64x2;
}
