//! Four sums of single products, for one column of B.

use girih_formats::{RealAccumulator, Scalar};

use super::vector::Vector;

/// Four sums side by side. The elements of B that a row uses lie apart. Collected four at a time, they take
/// one multiply-add and one load of values instead of four.
///
/// # Safety
/// Methods name the points that they require:
///
/// 1. The machine has the instruction set of the implementing type.
/// 2. `values` and `col_idx` are valid for four elements, and `x` for each of the columns.
pub(crate) trait Four: Copy {
    /// The accumulation type.
    type Acc: RealAccumulator;

    /// Four sums of nothing.
    ///
    /// # Safety
    /// Point 1 of the trait.
    unsafe fn zero() -> Self;
    /// `self` and four products more: of consecutive values by the elements of `x` that `col_idx` names.
    ///
    /// # Safety
    /// Points 1 and 2 of the trait.
    unsafe fn add_products(
        self,
        values: *const Self::Acc,
        col_idx: *const u32,
        x: *const Self::Acc,
    ) -> Self;
    /// `self + b`, sum by sum.
    ///
    /// # Safety
    /// Point 1 of the trait.
    unsafe fn add(self, b: Self) -> Self;
    /// All four: `(s₀ + s₂) + (s₁ + s₃)`.
    ///
    /// # Safety
    /// Point 1 of the trait.
    unsafe fn total(self) -> Self::Acc;
}

/// An array, for instruction sets that have no cheaper way.
pub(crate) struct Array<V: Vector>([V::Acc; 4]);

impl<V: Vector> Clone for Array<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V: Vector> Copy for Array<V> {}

impl<V: Vector> Four for Array<V> {
    type Acc = V::Acc;

    #[inline(always)]
    unsafe fn zero() -> Self {
        Self([V::Acc::ZERO; 4])
    }

    #[inline(always)]
    unsafe fn add_products(
        mut self,
        values: *const V::Acc,
        col_idx: *const u32,
        x: *const V::Acc,
    ) -> Self {
        for i in 0..4 {
            // SAFETY: column `i`, its element of x and value `i` are valid by point 2.
            let (x, value) = unsafe { (*x.add(*col_idx.add(i) as usize), *values.add(i)) };
            self.0[i] = V::mul_add_one(x, value, self.0[i]);
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
    unsafe fn total(self) -> V::Acc {
        let [a, b, c, d] = self.0;
        (a + c) + (b + d)
    }
}

#[cfg(all(target_arch = "x86_64", feature = "avx2"))]
pub(crate) mod x86 {
    //! Registers of AVX, with FMA.

    use std::arch::x86_64::*;

    use super::Four;

    /// Two columns, read at once.
    ///
    /// # Safety
    /// 1. `col_idx` is valid for two columns.
    #[inline(always)]
    unsafe fn two(col_idx: *const u32) -> [usize; 2] {
        // SAFETY: eight bytes are valid by point 1.
        let both = unsafe { col_idx.cast::<u64>().read_unaligned() };
        [both as u32 as usize, (both >> 32) as usize]
    }

    /// Four sums in f32.
    #[derive(Clone, Copy)]
    pub(crate) struct FourF32(__m128);

    impl Four for FourF32 {
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
            // SAFETY: FMA by point 1; columns, elements of x and values by point 2.
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

    /// Four sums in f64.
    #[derive(Clone, Copy)]
    pub(crate) struct FourF64(__m256d);

    impl Four for FourF64 {
        type Acc = f64;

        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: AVX by point 1.
            Self(unsafe { _mm256_setzero_pd() })
        }

        #[inline(always)]
        unsafe fn add_products(
            self,
            values: *const f64,
            col_idx: *const u32,
            x: *const f64,
        ) -> Self {
            // SAFETY: AVX and FMA by point 1; columns, elements of x and values by point 2.
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
            // SAFETY: AVX by point 1.
            Self(unsafe { _mm256_add_pd(self.0, b.0) })
        }

        #[inline(always)]
        unsafe fn total(self) -> f64 {
            // SAFETY: AVX by point 1.
            unsafe {
                let (low, high) =
                    (_mm256_castpd256_pd128(self.0), _mm256_extractf128_pd::<1>(self.0));
                let pairs = _mm_add_pd(low, high);
                _mm_cvtsd_f64(_mm_add_sd(pairs, _mm_unpackhi_pd(pairs, pairs)))
            }
        }
    }
}
