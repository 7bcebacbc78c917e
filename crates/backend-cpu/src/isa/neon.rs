//! NEON: a vector is four registers.

use std::arch::aarch64::*;

use half::{bf16, f16};

use super::four::Array;
use super::portable::f16_to_f32;
use super::vector::{Compile, Vector, VectorsFor, Widen};

/// Advanced SIMD, part of every 64-bit Arm.
pub(crate) struct Neon;

impl Compile for Neon {
    #[inline(never)]
    #[target_feature(enable = "neon")]
    unsafe fn call<R>(code: impl FnOnce() -> R) -> R {
        code()
    }
}

macro_rules! vector {
    ($name:ident: $reg:ty, $acc:ty, $quarter:literal;
     $dup:ident $load:ident $store:ident $fma:ident $add:ident $mul:ident) => {
        #[derive(Clone, Copy)]
        pub(crate) struct $name([$reg; 4]);

        impl Vector for $name {
            type Acc = $acc;
            type Mask = usize;
            type Four = Array<Self>;
            const LANES: usize = 4 * $quarter;

            #[inline(always)]
            unsafe fn mask(len: usize) -> usize {
                len
            }
            #[inline(always)]
            unsafe fn splat(x: $acc) -> Self {
                // SAFETY: NEON is part of the architecture.
                Self([unsafe { $dup(x) }; 4])
            }
            #[inline(always)]
            unsafe fn load(p: *const $acc) -> Self {
                // SAFETY: the pointer is valid for all lanes, as `Vector` requires.
                Self(unsafe {
                    [
                        $load(p),
                        $load(p.add($quarter)),
                        $load(p.add(2 * $quarter)),
                        $load(p.add(3 * $quarter)),
                    ]
                })
            }
            #[inline(always)]
            unsafe fn load_masked(p: *const $acc, mask: usize) -> Self {
                let mut all = [0.0; 4 * $quarter];
                // SAFETY: `mask ≤ lanes` values are valid at `p`, and `all` holds all lanes.
                unsafe {
                    std::ptr::copy_nonoverlapping(p, all.as_mut_ptr(), mask);
                    Self::load(all.as_ptr())
                }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $acc) {
                for (i, register) in self.0.into_iter().enumerate() {
                    // SAFETY: the pointer is valid for all lanes, as `Vector` requires.
                    unsafe { $store(p.add(i * $quarter), register) }
                }
            }
            #[inline(always)]
            unsafe fn stream(self, p: *mut $acc) {
                // SAFETY: the caller's contract.
                unsafe { self.store(p) }
            }
            #[inline(always)]
            unsafe fn fence() {}
            #[inline(always)]
            unsafe fn store_masked(self, p: *mut $acc, mask: usize) {
                let mut all = [0.0; 4 * $quarter];
                // SAFETY: `all` holds all lanes, and `mask ≤ lanes` values are valid at `p`.
                unsafe {
                    self.store(all.as_mut_ptr());
                    std::ptr::copy_nonoverlapping(all.as_ptr(), p, mask);
                }
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                let mut out = c.0;
                for i in 0..4 {
                    // SAFETY: NEON is part of the architecture.
                    out[i] = unsafe { $fma(c.0[i], self.0[i], b.0[i]) };
                }
                Self(out)
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                let mut out = self.0;
                for i in 0..4 {
                    // SAFETY: NEON is part of the architecture.
                    out[i] = unsafe { $add(self.0[i], b.0[i]) };
                }
                Self(out)
            }
            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                let mut out = self.0;
                for i in 0..4 {
                    // SAFETY: NEON is part of the architecture.
                    out[i] = unsafe { $mul(self.0[i], b.0[i]) };
                }
                Self(out)
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
            unsafe fn widen_masked(p: *const $acc, mask: usize) -> Self {
                // SAFETY: the caller's contract is `load_masked`'s.
                unsafe { Self::load_masked(p, mask) }
            }
        }
    };
}

vector!(F32x16: float32x4_t, f32, 4; vdupq_n_f32 vld1q_f32 vst1q_f32 vfmaq_f32 vaddq_f32 vmulq_f32);
vector!(F64x8: float64x2_t, f64, 2; vdupq_n_f64 vld1q_f64 vst1q_f64 vfmaq_f64 vaddq_f64 vmulq_f64);

impl Widen<f16> for F32x16 {
    #[inline(always)]
    unsafe fn widen(p: *const f16) -> Self {
        // SAFETY: the pointer is valid for 16 values, as `Vector` requires.
        let bits = unsafe { p.cast::<[u16; 16]>().read_unaligned() };
        let mut out = [0.0; 16];
        for (wide, bits) in out.iter_mut().zip(bits) {
            *wide = f16_to_f32(bits);
        }
        // SAFETY: `out` holds 16 values.
        unsafe { Self::load(out.as_ptr()) }
    }
    #[inline(always)]
    unsafe fn widen_masked(p: *const f16, mask: usize) -> Self {
        let mut all = [f16::ZERO; 16];
        // SAFETY: `mask ≤ 16` values are valid at `p`, and `all` holds 16.
        unsafe {
            std::ptr::copy_nonoverlapping(p, all.as_mut_ptr(), mask);
            Self::widen(all.as_ptr())
        }
    }
}

impl Widen<bf16> for F32x16 {
    #[inline(always)]
    unsafe fn widen(p: *const bf16) -> Self {
        let p: *const u16 = p.cast();
        // SAFETY: the pointer is valid for 16 values, as `Vector` requires.
        Self(unsafe {
            [
                vreinterpretq_f32_u32(vshll_n_u16::<16>(vld1_u16(p))),
                vreinterpretq_f32_u32(vshll_n_u16::<16>(vld1_u16(p.add(4)))),
                vreinterpretq_f32_u32(vshll_n_u16::<16>(vld1_u16(p.add(8)))),
                vreinterpretq_f32_u32(vshll_n_u16::<16>(vld1_u16(p.add(12)))),
            ]
        })
    }
    #[inline(always)]
    unsafe fn widen_masked(p: *const bf16, mask: usize) -> Self {
        let mut all = [bf16::ZERO; 16];
        // SAFETY: `mask ≤ 16` values are valid at `p`, and `all` holds 16.
        unsafe {
            std::ptr::copy_nonoverlapping(p, all.as_mut_ptr(), mask);
            Self::widen(all.as_ptr())
        }
    }
}

macro_rules! vectors_for {
    ($($t:ty => $vector:ty),*) => {$(
        impl VectorsFor<$t> for Neon {
            type Vector = $vector;
            type Half = $vector;
            type Quarter = $vector;
            const STRIP_VECTORS: usize = 1;
        }
    )*};
}

vectors_for!(f16 => F32x16, bf16 => F32x16, f32 => F32x16, f64 => F64x8);
