//! AVX2 with FMA and F16C: a vector is two registers, its half one, and so is its quarter.

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::four::x86;
use super::vector::{Compile, Vector, VectorsFor, Widen};

/// AVX2, FMA and F16C.
pub(crate) struct Avx2;

impl Compile for Avx2 {
    #[inline(never)]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn call<R>(code: impl FnOnce() -> R) -> R {
        code()
    }
}

/// Lanes of a partial register, and their number.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<R> {
    register: R,
    len: usize,
}

macro_rules! register {
    ($name:ident: $reg:ty, $lanes:literal, $acc:ty, $four:ident, $mask:ty, $lane:ty;
     $set1:ident $loadu:ident $maskload:ident $storeu:ident $stream:ident
     $fmadd:ident $add:ident $mul:ident, $load_mask:ident, $store_first:ident) => {
        #[derive(Clone, Copy)]
        pub(crate) struct $name($reg);

        impl Vector for $name {
            type Acc = $acc;
            type Mask = Lanes<$mask>;
            type Four = x86::$four;
            const LANES: usize = $lanes;
            const PREFETCHES: bool = true;

            #[inline(always)]
            unsafe fn mask(len: usize) -> Self::Mask {
                let mut lanes = [0; $lanes];
                lanes[..len].fill(-1 as $lane);
                // SAFETY: AVX2, and `lanes` is as large as the register.
                let register = unsafe { $load_mask(lanes.as_ptr().cast()) };
                Lanes { register, len }
            }
            #[inline(always)]
            unsafe fn splat(x: $acc) -> Self {
                // SAFETY: the caller has AVX2, as `Vector` requires.
                Self(unsafe { $set1(x) })
            }
            #[inline(always)]
            unsafe fn load(p: *const $acc) -> Self {
                // SAFETY: AVX2 and a valid pointer, as `Vector` requires.
                Self(unsafe { $loadu(p) })
            }
            #[inline(always)]
            unsafe fn load_masked(p: *const $acc, mask: Self::Mask) -> Self {
                // SAFETY: AVX2, and the lanes outside the mask are not accessed.
                Self(unsafe { $maskload(p, mask.register) })
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $acc) {
                // SAFETY: AVX2 and a valid pointer, as `Vector` requires.
                unsafe { $storeu(p, self.0) }
            }
            #[inline(always)]
            unsafe fn stream(self, p: *mut $acc) {
                // SAFETY: AVX, and a valid and aligned pointer, as `Vector` requires.
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
            // By ordinary stores of halves and quarters: masked stores are slow on AMD's processors.
            #[inline(always)]
            unsafe fn store_masked(self, p: *mut $acc, mask: Self::Mask) {
                // SAFETY: AVX2, and as many lanes are valid at `p` as the mask has.
                unsafe { $store_first(self.0, p, mask.len) }
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: the caller has FMA.
                Self(unsafe { $fmadd(self.0, b.0, c.0) })
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                // SAFETY: the caller has AVX.
                Self(unsafe { $add(self.0, b.0) })
            }
            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                // SAFETY: the caller has AVX.
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
            unsafe fn widen_masked(p: *const $acc, mask: Self::Mask) -> Self {
                // SAFETY: the caller's contract is `load_masked`'s.
                unsafe { Self::load_masked(p, mask) }
            }
        }
    };
}

register!(F32x8: __m256, 8, f32, F32x4, __m256i, i32;
          _mm256_set1_ps _mm256_loadu_ps _mm256_maskload_ps _mm256_storeu_ps _mm256_stream_ps
          _mm256_fmadd_ps _mm256_add_ps _mm256_mul_ps, _mm256_loadu_si256, store_8);
register!(F32x4: __m128, 4, f32, F32x4, __m128i, i32;
          _mm_set1_ps _mm_loadu_ps _mm_maskload_ps _mm_storeu_ps _mm_stream_ps
          _mm_fmadd_ps _mm_add_ps _mm_mul_ps, _mm_loadu_si128, store_4);
register!(F64x4: __m256d, 4, f64, F64x4, __m256i, i64;
          _mm256_set1_pd _mm256_loadu_pd _mm256_maskload_pd _mm256_storeu_pd _mm256_stream_pd
          _mm256_fmadd_pd _mm256_add_pd _mm256_mul_pd, _mm256_loadu_si256, store_4_doubles);
register!(F64x2: __m128d, 2, f64, F64x4, __m128i, i64;
          _mm_set1_pd _mm_loadu_pd _mm_maskload_pd _mm_storeu_pd _mm_stream_pd
          _mm_fmadd_pd _mm_add_pd _mm_mul_pd, _mm_loadu_si128, store_2_doubles);

/// The first `len ≤ 8` lanes to `p`.
#[inline(always)]
unsafe fn store_8(x: __m256, p: *mut f32, len: usize) {
    // SAFETY: the caller has AVX, and `len` lanes are valid at `p`.
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
#[inline(always)]
unsafe fn store_4(x: __m128, p: *mut f32, len: usize) {
    // SAFETY: part of every x86-64, and `len` lanes are valid at `p`.
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
#[inline(always)]
unsafe fn store_4_doubles(x: __m256d, p: *mut f64, len: usize) {
    // SAFETY: the caller has AVX, and `len` lanes are valid at `p`.
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
#[inline(always)]
unsafe fn store_2_doubles(x: __m128d, p: *mut f64, len: usize) {
    // SAFETY: part of every x86-64, and `len` lanes are valid at `p`.
    unsafe {
        match len {
            0 => {}
            1 => _mm_store_sd(p, x),
            _ => _mm_storeu_pd(p, x),
        }
    }
}

/// A vector of two registers.
#[derive(Clone, Copy)]
pub(crate) struct Two<R>([R; 2]);

type F32x16 = Two<F32x8>;
type F64x8 = Two<F64x4>;

impl<R: Vector> Vector for Two<R> {
    type Acc = R::Acc;
    type Mask = [R::Mask; 2];
    type Four = R::Four;
    const LANES: usize = 2 * R::LANES;
    const PREFETCHES: bool = R::PREFETCHES;

    #[inline(always)]
    unsafe fn mask(len: usize) -> Self::Mask {
        let high = len.saturating_sub(R::LANES);
        // SAFETY: the caller's contract is that of `R`, here and below.
        unsafe { [R::mask(len - high), R::mask(high)] }
    }
    #[inline(always)]
    unsafe fn splat(x: R::Acc) -> Self {
        // SAFETY: as above.
        Self([unsafe { R::splat(x) }; 2])
    }
    #[inline(always)]
    unsafe fn load(p: *const R::Acc) -> Self {
        // SAFETY: all lanes are valid.
        Self(unsafe { [R::load(p), R::load(p.add(R::LANES))] })
    }
    #[inline(always)]
    unsafe fn load_masked(p: *const R::Acc, [low, high]: Self::Mask) -> Self {
        // SAFETY: as above; `wrapping_add` because the second half may lie past the end of the array.
        Self(unsafe { [R::load_masked(p, low), R::load_masked(p.wrapping_add(R::LANES), high)] })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut R::Acc) {
        // SAFETY: all lanes are valid.
        unsafe {
            self.0[0].store(p);
            self.0[1].store(p.add(R::LANES));
        }
    }
    #[inline(always)]
    unsafe fn stream(self, p: *mut R::Acc) {
        // SAFETY: all lanes are valid, and `p` is aligned to both.
        unsafe {
            self.0[0].stream(p);
            self.0[1].stream(p.add(R::LANES));
        }
    }
    #[inline(always)]
    fn prefetch<T>(p: *const T) {
        R::prefetch(p);
    }
    #[inline(always)]
    fn prefetch_l2<T>(p: *const T) {
        R::prefetch_l2(p);
    }
    #[inline(always)]
    unsafe fn fence() {
        // SAFETY: as above.
        unsafe { R::fence() }
    }
    #[inline(always)]
    unsafe fn store_masked(self, p: *mut R::Acc, [low, high]: Self::Mask) {
        // SAFETY: as in `load_masked`.
        unsafe {
            self.0[0].store_masked(p, low);
            self.0[1].store_masked(p.wrapping_add(R::LANES), high);
        }
    }
    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { [self.0[0].mul_add(b.0[0], c.0[0]), self.0[1].mul_add(b.0[1], c.0[1])] })
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { [self.0[0].add(b.0[0]), self.0[1].add(b.0[1])] })
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { [self.0[0].mul(b.0[0]), self.0[1].mul(b.0[1])] })
    }
    #[inline(always)]
    unsafe fn mul_add_one(a: R::Acc, b: R::Acc, c: R::Acc) -> R::Acc {
        // SAFETY: as above.
        unsafe { R::mul_add_one(a, b, c) }
    }
}

macro_rules! widen_two {
    ($($name:ident: $acc:ty),*) => {$(
        impl Widen<$acc> for $name {
            #[inline(always)]
            unsafe fn widen(p: *const $acc) -> Self {
                // SAFETY: the caller's contract is `load`'s.
                unsafe { Self::load(p) }
            }
            #[inline(always)]
            unsafe fn widen_masked(p: *const $acc, mask: Self::Mask) -> Self {
                // SAFETY: the caller's contract is `load_masked`'s.
                unsafe { Self::load_masked(p, mask) }
            }
        }
    )*};
}

widen_two!(F32x16: f32, F64x8: f64);

macro_rules! widen_narrow {
    ($t:ty, $convert:ident) => {
        impl Widen<$t> for F32x16 {
            #[inline(always)]
            unsafe fn widen(p: *const $t) -> Self {
                // SAFETY: AVX2 and a pointer valid for 16 values.
                Two(unsafe {
                    [
                        F32x8($convert(_mm_loadu_si128(p.cast()))),
                        F32x8($convert(_mm_loadu_si128(p.add(8).cast()))),
                    ]
                })
            }
            #[inline(always)]
            unsafe fn widen_masked(p: *const $t, mask: Self::Mask) -> Self {
                let mut all = [<$t>::ZERO; 16];
                let len = mask[0].len + mask[1].len;
                // SAFETY: `len ≤ 16` values are valid at `p`, and `all` holds 16.
                unsafe {
                    std::ptr::copy_nonoverlapping(p, all.as_mut_ptr(), len);
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

macro_rules! vectors_for {
    ($($t:ty => $vector:ty, $half:ty, $quarter:ty);*) => {$(
        impl VectorsFor<$t> for Avx2 {
            type Vector = $vector;
            type Half = $half;
            type Quarter = $quarter;
            const STRIP_VECTORS: usize = 1;
            const STRIP_ROWS: usize = 6;
        }
    )*};
}

vectors_for!(
    f16 => F32x16, F32x16, F32x16;
    bf16 => F32x16, F32x16, F32x16;
    f32 => F32x16, F32x8, F32x4;
    f64 => F64x8, F64x4, F64x2
);
