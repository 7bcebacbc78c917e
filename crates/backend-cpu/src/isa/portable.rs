//! Plain arrays that the compiler vectorizes for whatever the target has.

use half::{bf16, f16};

use super::four::Array;
use super::vector::{Compile, Vector, VectorsFor, Widen};

/// No instructions beyond the compilation target's.
pub(crate) struct Portable;

impl Compile for Portable {
    #[inline(never)]
    unsafe fn call<R>(code: impl FnOnce() -> R) -> R {
        code()
    }
}

#[derive(Clone, Copy)]
pub(crate) struct F32x16([f32; 16]);

#[derive(Clone, Copy)]
pub(crate) struct F64x8([f64; 8]);

/// Whether the target fuses multiply and add. Where it doesn't, fusing in software would cost a
/// library call per element.
const FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

macro_rules! vector {
    ($name:ident: $acc:ty, $lanes:literal) => {
        impl Vector for $name {
            type Acc = $acc;
            type Mask = usize;
            type Four = Array<Self>;
            const LANES: usize = $lanes;
            const WIDE: bool = false;

            #[inline(always)]
            unsafe fn mask(len: usize) -> usize {
                len
            }
            #[inline(always)]
            unsafe fn splat(x: $acc) -> Self {
                Self([x; $lanes])
            }
            #[inline(always)]
            unsafe fn load(p: *const $acc) -> Self {
                // SAFETY: the pointer is valid for all lanes, as `Vector` requires.
                Self(unsafe { p.cast::<[$acc; $lanes]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn load_masked(p: *const $acc, mask: usize) -> Self {
                let mut all = [0.0; $lanes];
                // SAFETY: `mask ≤ lanes` values are valid at `p`.
                unsafe { std::ptr::copy_nonoverlapping(p, all.as_mut_ptr(), mask) };
                Self(all)
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $acc) {
                // SAFETY: the pointer is valid for all lanes, as `Vector` requires.
                unsafe { p.cast::<[$acc; $lanes]>().write_unaligned(self.0) }
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
                // SAFETY: `mask ≤ lanes` values are valid at `p`.
                unsafe { std::ptr::copy_nonoverlapping(self.0.as_ptr(), p, mask) }
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                let mut out = c.0;
                for i in 0..$lanes {
                    // SAFETY: no instruction set is needed.
                    out[i] = unsafe { Self::mul_add_one(self.0[i], b.0[i], c.0[i]) };
                }
                Self(out)
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                let mut out = self.0;
                for i in 0..$lanes {
                    out[i] += b.0[i];
                }
                Self(out)
            }
            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                let mut out = self.0;
                for i in 0..$lanes {
                    out[i] *= b.0[i];
                }
                Self(out)
            }
            #[inline(always)]
            unsafe fn mul_add_one(a: $acc, b: $acc, c: $acc) -> $acc {
                if FUSED { a.mul_add(b, c) } else { a * b + c }
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

vector!(F32x16: f32, 16);
vector!(F64x8: f64, 8);

macro_rules! widen_narrow {
    ($t:ty, $convert:ident) => {
        impl Widen<$t> for F32x16 {
            #[inline(always)]
            unsafe fn widen(p: *const $t) -> Self {
                // SAFETY: the pointer is valid for all lanes, as `Vector` requires.
                let bits = unsafe { p.cast::<[u16; 16]>().read_unaligned() };
                let mut out = [0.0; 16];
                for i in 0..16 {
                    out[i] = $convert(bits[i]);
                }
                Self(out)
            }
            #[inline(always)]
            unsafe fn widen_masked(p: *const $t, mask: usize) -> Self {
                let mut all = [<$t>::ZERO; 16];
                // SAFETY: `mask ≤ 16` values are valid at `p`, and `all` holds 16.
                unsafe {
                    std::ptr::copy_nonoverlapping(p, all.as_mut_ptr(), mask);
                    Self::widen(all.as_ptr())
                }
            }
        }
    };
}

widen_narrow!(f16, f16_to_f32);
widen_narrow!(bf16, bf16_to_f32);

/// Widens the bits of an f16 without a branch, so that loops over it vectorize.
///
/// The exponent and mantissa, shifted into place, are a value 2¹¹² too small — subnormals included;
/// one exact multiplication mends that. Infinities and NaNs come out with too small an exponent.
#[inline(always)]
pub(super) fn f16_to_f32(bits: u16) -> f32 {
    let bits = u32::from(bits);
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000);
    let special = if bits & 0x7c00 == 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(magnitude.to_bits() | special | (bits & 0x8000) << 16)
}

/// Widens the bits of a bf16: they are the upper half.
#[inline(always)]
pub(super) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

macro_rules! vectors_for {
    ($($t:ty => $vector:ty),*) => {$(
        impl VectorsFor<$t> for Portable {
            type Vector = $vector;
            type Half = $vector;
            type Quarter = $vector;
            const STRIP_VECTORS: usize = 1;
        }
    )*};
}

vectors_for!(f16 => F32x16, bf16 => F32x16, f32 => F32x16, f64 => F64x8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_f16_widens_as_the_half_crate_says() {
        for bits in 0..=u16::MAX {
            let (ours, theirs) = (f16_to_f32(bits), f16::from_bits(bits).to_f32());
            assert!(ours == theirs || ours.is_nan() && theirs.is_nan(), "{bits:#06x}");
        }
    }
}
