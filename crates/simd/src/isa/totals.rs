//! Sums of the lanes of four registers at once, by halves, on x86-64.

use std::arch::x86_64::*;

/// The sum of the lanes of each register.
///
/// # Safety
/// 1. The machine has AVX.
#[inline(always)]
pub(super) unsafe fn totals_4([a, b, c, d]: [__m128; 4]) -> [f32; 4] {
    let mut out = [0.0; 4];
    // SAFETY: AVX by point 1; `out` is as large as the register.
    unsafe {
        // a0+a2 b0+b2 a1+a3 b1+b3, and so for the others.
        let ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
        let cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
        let all = _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab));
        _mm_storeu_ps(out.as_mut_ptr(), all);
    }
    out
}

/// As [`totals_4`].
///
/// # Safety
/// 1. The machine has AVX.
#[inline(always)]
pub(super) unsafe fn totals_2_doubles([a, b, c, d]: [__m128d; 4]) -> [f64; 4] {
    let mut out = [0.0; 4];
    // SAFETY: AVX by point 1; `out` is as large as two registers.
    unsafe {
        let ab = _mm_add_pd(_mm_unpacklo_pd(a, b), _mm_unpackhi_pd(a, b));
        let cd = _mm_add_pd(_mm_unpacklo_pd(c, d), _mm_unpackhi_pd(c, d));
        _mm_storeu_pd(out.as_mut_ptr(), ab);
        _mm_storeu_pd(out.as_mut_ptr().add(2), cd);
    }
    out
}

/// Adds the halves of four registers and sums what is left of them.
macro_rules! by_halves {
    ($($name:ident: $register:ty => $acc:ty, $low:ident $high:ident $add:ident $totals:ident;)*) => {$(
        /// As [`totals_4`].
        ///
        /// # Safety
        /// 1. The machine has AVX, and AVX-512 F and DQ if registers are of 64 bytes.
        #[inline(always)]
        pub(super) unsafe fn $name([a, b, c, d]: [$register; 4]) -> [$acc; 4] {
            // SAFETY: the instruction sets by point 1.
            unsafe {
                $totals([
                    $add($low(a), $high::<1>(a)),
                    $add($low(b), $high::<1>(b)),
                    $add($low(c), $high::<1>(c)),
                    $add($low(d), $high::<1>(d)),
                ])
            }
        }
    )*};
}

by_halves! {
    totals_8: __m256 => f32, _mm256_castps256_ps128 _mm256_extractf128_ps _mm_add_ps totals_4;
    totals_4_doubles: __m256d => f64, _mm256_castpd256_pd128 _mm256_extractf128_pd _mm_add_pd totals_2_doubles;
}
#[cfg(feature = "avx512")]
by_halves! {
    totals_16: __m512 => f32, _mm512_castps512_ps256 _mm512_extractf32x8_ps _mm256_add_ps totals_8;
    totals_8_doubles: __m512d => f64, _mm512_castpd512_pd256 _mm512_extractf64x4_pd _mm256_add_pd totals_4_doubles;
}
