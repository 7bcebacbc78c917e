//! Four sums of single products, for one column of B.

use girih_formats::{Accumulator, Scalar};

use super::vector::Vector;

/// Four sums side by side. Elements of B that a row's columns name lie apart; brought together four
/// at a time, they take one multiply-add and one load of values instead of four.
///
/// # Safety
/// As for [`Vector`]: every method requires the instruction set of the implementing type, and pointers
/// valid for what they touch.
pub(crate) trait Four: Copy {
    /// The accumulation type.
    type Acc: Accumulator;

    /// Four sums of nothing.
    unsafe fn zero() -> Self;
    /// `self` and four products more: of values next to each other by the elements of `x` that
    /// `col_idx` names.
    unsafe fn add_products(
        self,
        values: *const Self::Acc,
        col_idx: *const u32,
        x: *const Self::Acc,
    ) -> Self;
    /// `self + b`, sum by sum.
    unsafe fn add(self, b: Self) -> Self;
    /// All four: `(s₀ + s₂) + (s₁ + s₃)`.
    unsafe fn total(self) -> Self::Acc;
}

/// An array, for instruction sets that have no cheaper way.
pub(crate) struct Array<L: Vector>([L::Acc; 4]);

impl<L: Vector> Clone for Array<L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Vector> Copy for Array<L> {}

impl<L: Vector> Four for Array<L> {
    type Acc = L::Acc;

    #[inline(always)]
    unsafe fn zero() -> Self {
        Self([L::Acc::ZERO; 4])
    }

    #[inline(always)]
    unsafe fn add_products(
        mut self,
        values: *const L::Acc,
        col_idx: *const u32,
        x: *const L::Acc,
    ) -> Self {
        for i in 0..4 {
            // SAFETY: the caller's contract.
            self.0[i] = unsafe {
                let x = *x.add(*col_idx.add(i) as usize);
                L::mul_add_one(x, *values.add(i), self.0[i])
            };
        }
        self
    }

    #[inline(always)]
    unsafe fn add(mut self, b: Self) -> Self {
        for i in 0..4 {
            self.0[i] += b.0[i];
        }
        self
    }

    #[inline(always)]
    unsafe fn total(self) -> L::Acc {
        let [a, b, c, d] = self.0;
        (a + c) + (b + d)
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86 {
    //! Registers of AVX, with FMA.

    use std::arch::x86_64::*;

    use super::Four;

    /// Two columns, read at once.
    #[inline(always)]
    unsafe fn two(col_idx: *const u32) -> [usize; 2] {
        // SAFETY: two columns are there.
        let both = unsafe { col_idx.cast::<u64>().read_unaligned() };
        [both as u32 as usize, (both >> 32) as usize]
    }

    #[derive(Clone, Copy)]
    pub(crate) struct F32x4(__m128);

    impl Four for F32x4 {
        type Acc = f32;

        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: part of every x86-64.
            Self(unsafe { _mm_setzero_ps() })
        }

        #[inline(always)]
        unsafe fn add_products(
            self,
            values: *const f32,
            col_idx: *const u32,
            x: *const f32,
        ) -> Self {
            // SAFETY: FMA, and four values and elements of x, as `Four` requires.
            Self(unsafe {
                let pair = |at: [usize; 2]| {
                    let low = _mm_load_ss(x.add(at[0]));
                    _mm_insert_ps::<0x10>(low, _mm_load_ss(x.add(at[1])))
                };
                let low = pair(two(col_idx));
                let high = pair(two(col_idx.add(2)));
                _mm_fmadd_ps(_mm_movelh_ps(low, high), _mm_loadu_ps(values), self.0)
            })
        }

        #[inline(always)]
        unsafe fn add(self, b: Self) -> Self {
            // SAFETY: part of every x86-64.
            Self(unsafe { _mm_add_ps(self.0, b.0) })
        }

        #[inline(always)]
        unsafe fn total(self) -> f32 {
            // SAFETY: part of every x86-64.
            unsafe {
                let pairs = _mm_add_ps(self.0, _mm_movehl_ps(self.0, self.0));
                _mm_cvtss_f32(_mm_add_ss(pairs, _mm_shuffle_ps::<1>(pairs, pairs)))
            }
        }
    }

    #[derive(Clone, Copy)]
    pub(crate) struct F64x4(__m256d);

    impl Four for F64x4 {
        type Acc = f64;

        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: the caller has AVX, as `Four` requires.
            Self(unsafe { _mm256_setzero_pd() })
        }

        #[inline(always)]
        unsafe fn add_products(
            self,
            values: *const f64,
            col_idx: *const u32,
            x: *const f64,
        ) -> Self {
            // SAFETY: AVX and FMA, and four values and elements of x, as `Four` requires.
            Self(unsafe {
                let pair = |at: [usize; 2]| {
                    let low = _mm_load_sd(x.add(at[0]));
                    _mm_loadh_pd(low, x.add(at[1]))
                };
                let low = pair(two(col_idx));
                let high = pair(two(col_idx.add(2)));
                _mm256_fmadd_pd(_mm256_set_m128d(high, low), _mm256_loadu_pd(values), self.0)
            })
        }

        #[inline(always)]
        unsafe fn add(self, b: Self) -> Self {
            // SAFETY: the caller has AVX.
            Self(unsafe { _mm256_add_pd(self.0, b.0) })
        }

        #[inline(always)]
        unsafe fn total(self) -> f64 {
            // SAFETY: the caller has AVX.
            unsafe {
                let (low, high) =
                    (_mm256_castpd256_pd128(self.0), _mm256_extractf128_pd::<1>(self.0));
                let pairs = _mm_add_pd(low, high);
                _mm_cvtsd_f64(_mm_add_sd(pairs, _mm_unpackhi_pd(pairs, pairs)))
            }
        }
    }
}
