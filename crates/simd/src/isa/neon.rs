//! NEON: a vector is four registers.

use std::arch::aarch64::*;

use half::{bf16, f16};

use super::four::Array;
use super::halves::f16_to_f32;
use super::two::Two;
use super::vector::{Compile, Vector, VectorsFor, Widen, vector, vectors_for};

/// Advanced SIMD, part of every 64-bit Arm.
pub(crate) struct Neon;

impl Compile for Neon {
    #[inline(never)]
    unsafe fn call<R>(code: impl FnOnce() -> R) -> R {
        // SAFETY: the instruction set by point 1.
        unsafe { with_features(code) }
    }
}

/// Compiled for the instruction set, as [`Compile::call`] promises. That is another function, since rustc 1.95 does
/// not tell LLVM to never inline one with target features.
///
/// # Safety
/// 1. The machine has the instruction set.
#[target_feature(enable = "neon")]
unsafe fn with_features<R>(code: impl FnOnce() -> R) -> R {
    code()
}

vector! {
    F32x4(float32x4_t) of Neon: 4 of f32, usize, Array<Self>, [];
    mask vdupq_n_f32 vld1q_f32 load_masked_f32 vst1q_f32 store_masked_f32
    vst1q_f32 mul_add_f32 vaddq_f32 vmulq_f32 greater_f32 totals_f32
}
vector! {
    F64x2(float64x2_t) of Neon: 2 of f64, usize, Array<Self>, [];
    mask vdupq_n_f64 vld1q_f64 load_masked_f64 vst1q_f64 store_masked_f64
    vst1q_f64 mul_add_f64 vaddq_f64 vmulq_f64 greater_f64 totals_f64
}

type F32x16 = Two<Two<F32x4>>;
type F64x8 = Two<Two<F64x2>>;

/// A mask is the number of its lanes.
///
/// # Safety
/// 1. The machine has NEON.
#[inline(always)]
unsafe fn mask(len: usize) -> usize {
    len
}

/// Loads and stores of the first lanes of a register, and multiply-adds with the addend last.
macro_rules! register {
    ($register:ty, $acc:ty, $lanes:literal, $load:ident $store:ident $fma:ident;
     $load_masked:ident $store_masked:ident $mul_add:ident) => {
        /// The first `len` lanes from `p`, zero in the rest.
        ///
        /// # Safety
        /// 1. The machine has NEON.
        /// 2. `p` is valid for `len` elements, at most a register.
        #[inline(always)]
        unsafe fn $load_masked(len: usize, p: *const $acc) -> $register {
            let mut all = [0.0; $lanes];
            // SAFETY: NEON by point 1. `len` elements are valid at `p` by point 2, and `all` is as large as
            // the register.
            unsafe {
                std::ptr::copy_nonoverlapping(p, all.as_mut_ptr(), len);
                $load(all.as_ptr())
            }
        }

        /// The first `len` lanes to `p`.
        ///
        /// # Safety
        /// 1. The machine has NEON.
        /// 2. `p` is valid for `len` elements, at most a register.
        #[inline(always)]
        unsafe fn $store_masked(p: *mut $acc, len: usize, x: $register) {
            let mut all = [0.0; $lanes];
            // SAFETY: NEON by point 1. `all` is as large as the register, and `len` elements are valid at `p`
            // by point 2.
            unsafe {
                $store(all.as_mut_ptr(), x);
                std::ptr::copy_nonoverlapping(all.as_ptr(), p, len);
            }
        }

        /// `a · b + c`.
        ///
        /// # Safety
        /// 1. The machine has NEON.
        #[inline(always)]
        unsafe fn $mul_add(a: $register, b: $register, c: $register) -> $register {
            // SAFETY: NEON by point 1.
            unsafe { $fma(c, a, b) }
        }
    };
}

register!(float32x4_t, f32, 4, vld1q_f32 vst1q_f32 vfmaq_f32; load_masked_f32 store_masked_f32 mul_add_f32);
register!(float64x2_t, f64, 2, vld1q_f64 vst1q_f64 vfmaq_f64; load_masked_f64 store_masked_f64 mul_add_f64);

/// The greater lane of each pair.
macro_rules! greater {
    ($($name:ident: $register:ty, $above:ident $equal:ident $select:ident;)*) => {$(
        /// The greater lane of each pair: `a` where they are equal, NaN where either is.
        ///
        /// # Safety
        /// 1. The machine has NEON.
        #[inline(always)]
        unsafe fn $name(a: $register, b: $register) -> $register {
            // SAFETY: NEON by point 1.
            unsafe { $select($equal(b, b), $select($above(b, a), b, a), b) }
        }
    )*};
}

greater! {
    greater_f32: float32x4_t, vcgtq_f32 vceqq_f32 vbslq_f32;
    greater_f64: float64x2_t, vcgtq_f64 vceqq_f64 vbslq_f64;
}

/// The sum of the lanes of each register, by halves.
///
/// # Safety
/// 1. The machine has NEON.
#[inline(always)]
unsafe fn totals_f32([a, b, c, d]: [float32x4_t; 4]) -> [f32; 4] {
    let mut out = [0.0; 4];
    // SAFETY: NEON by point 1; `out` is as large as two registers.
    unsafe {
        let halves = |x| vadd_f32(vget_low_f32(x), vget_high_f32(x));
        vst1_f32(out.as_mut_ptr(), vpadd_f32(halves(a), halves(b)));
        vst1_f32(out.as_mut_ptr().add(2), vpadd_f32(halves(c), halves(d)));
    }
    out
}

/// As [`totals_f32`].
///
/// # Safety
/// 1. The machine has NEON.
#[inline(always)]
unsafe fn totals_f64([a, b, c, d]: [float64x2_t; 4]) -> [f64; 4] {
    let mut out = [0.0; 4];
    // SAFETY: NEON by point 1; `out` is as large as two registers.
    unsafe {
        vst1q_f64(out.as_mut_ptr(), vpaddq_f64(a, b));
        vst1q_f64(out.as_mut_ptr().add(2), vpaddq_f64(c, d));
    }
    out
}

/// The lanes of a mask of four registers.
#[inline(always)]
fn len([[a, b], [c, d]]: [[usize; 2]; 2]) -> usize {
    a + b + c + d
}

impl Widen<f16> for F32x16 {
    #[inline(always)]
    unsafe fn widen(p: *const f16) -> Self {
        // SAFETY: 16 values are valid at `p` by point 2.
        let bits = unsafe { p.cast::<[u16; 16]>().read_unaligned() };
        let mut out = [0.0; 16];
        for (wide, bits) in out.iter_mut().zip(bits) {
            *wide = f16_to_f32(bits);
        }
        // SAFETY: NEON is part of every 64-bit Arm, and `out` holds 16 values.
        unsafe { Self::load(out.as_ptr()) }
    }
    #[inline(always)]
    unsafe fn widen_masked(p: *const f16, mask: Self::Mask) -> Self {
        let mut all = [f16::ZERO; 16];
        // SAFETY: the lanes of the mask are valid at `p` by point 3, and `all` holds 16.
        unsafe {
            std::ptr::copy_nonoverlapping(p, all.as_mut_ptr(), len(mask));
            Self::widen(all.as_ptr())
        }
    }
}

impl Widen<bf16> for F32x16 {
    #[inline(always)]
    unsafe fn widen(p: *const bf16) -> Self {
        let p: *const u16 = p.cast();
        // SAFETY: 16 values are valid at `p` by point 2.
        unsafe {
            let four = |i| F32x4(vreinterpretq_f32_u32(vshll_n_u16::<16>(vld1_u16(p.add(i)))));
            Two([Two([four(0), four(4)]), Two([four(8), four(12)])])
        }
    }
    #[inline(always)]
    unsafe fn widen_masked(p: *const bf16, mask: Self::Mask) -> Self {
        let mut all = [bf16::ZERO; 16];
        // SAFETY: the lanes of the mask are valid at `p` by point 3, and `all` holds 16.
        unsafe {
            std::ptr::copy_nonoverlapping(p, all.as_mut_ptr(), len(mask));
            Self::widen(all.as_ptr())
        }
    }
}

vectors_for! {
    Neon, 1 by 4:
    f16 => F32x16, F32x16, F32x16;
    bf16 => F32x16, F32x16, F32x16;
    f32 => F32x16, F32x16, F32x16;
    f64 => F64x8, F64x8, F64x8;
}
