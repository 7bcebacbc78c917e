//! Plain arrays that the compiler vectorizes for whatever the target has.

use girih_formats::RealAccumulator;
use half::{bf16, f16};

use super::four::Array;
use super::halves::{bf16_to_f32, f16_to_f32};
use super::vector::{Compile, Vector, VectorsFor, Widen, vectors_for};
use crate::kernels::Activate;

/// No instructions beyond the compilation target's.
pub(crate) struct Portable;

impl Compile for Portable {
    #[inline(never)]
    unsafe fn call<R>(code: impl FnOnce() -> R) -> R {
        code()
    }
}

/// Whether the target fuses multiply and add. Where it doesn't, fusing in software would cost a
/// library call per element.
const FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

/// An array of sums.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<A: RealAccumulator, const LANES: usize>([A; LANES]);

type F32x16 = Lanes<f32, 16>;
type F64x8 = Lanes<f64, 8>;

impl<A: Activate, const LANES: usize> Vector for Lanes<A, LANES> {
    type Acc = A;
    type Mask = usize;
    type Four = Array<Self>;
    type Isa = Portable;
    const LANES: usize = LANES;
    const WIDE: bool = false;
    const FUSES: bool = FUSED;

    #[inline(always)]
    unsafe fn mask(len: usize) -> usize {
        len
    }
    #[inline(always)]
    unsafe fn splat(x: A) -> Self {
        Self([x; LANES])
    }
    #[inline(always)]
    unsafe fn load(p: *const A) -> Self {
        // SAFETY: all lanes are valid at `p` by point 2.
        Self(unsafe { p.cast::<[A; LANES]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn load_masked(p: *const A, mask: usize) -> Self {
        if mask == LANES {
            // SAFETY: all lanes are valid at `p` by point 3.
            return unsafe { Self::load(p) };
        }
        let mut all = [A::ZERO; LANES];
        // SAFETY: `mask ≤ LANES` elements are valid at `p` by point 3.
        unsafe { std::ptr::copy_nonoverlapping(p, all.as_mut_ptr(), mask) };
        Self(all)
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut A) {
        // SAFETY: all lanes are valid at `p` by point 2.
        unsafe { p.cast::<[A; LANES]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn store_masked(self, p: *mut A, mask: usize) {
        if mask == LANES {
            // SAFETY: all lanes are valid at `p` by point 3.
            return unsafe { self.store(p) };
        }
        // SAFETY: `mask ≤ LANES` elements are valid at `p` by point 3.
        unsafe { std::ptr::copy_nonoverlapping(self.0.as_ptr(), p, mask) }
    }
    #[inline(always)]
    unsafe fn stream(self, p: *mut A) {
        // SAFETY: all lanes are valid at `p` by point 2.
        unsafe { self.store(p) }
    }
    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        let mut out = c.0;
        for i in 0..LANES {
            out[i] = Self::mul_add_one(self.0[i], b.0[i], c.0[i]);
        }
        Self(out)
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        let mut out = self.0;
        for i in 0..LANES {
            out[i] += b.0[i];
        }
        Self(out)
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        let mut out = self.0;
        for i in 0..LANES {
            out[i] = out[i] * b.0[i];
        }
        Self(out)
    }
    #[inline(always)]
    unsafe fn greater(self, b: Self) -> Self {
        let mut out = self.0;
        for i in 0..LANES {
            let x = b.0[i];
            let is_nan = x.partial_cmp(&x).is_none();
            out[i] = if x > out[i] || is_nan { x } else { out[i] };
        }
        Self(out)
    }
    #[inline(always)]
    unsafe fn totals(of: [Self; 4]) -> [A; 4] {
        of.map(
            #[inline(always)]
            |Self(mut lanes)| {
                let mut half = LANES / 2;
                while half > 0 {
                    for i in 0..half {
                        lanes[i] += lanes[i + half];
                    }
                    half /= 2;
                }
                lanes[0]
            },
        )
    }
}

impl<A: Activate, const LANES: usize> Widen<A> for Lanes<A, LANES> {
    #[inline(always)]
    unsafe fn widen(p: *const A) -> Self {
        // SAFETY: points 1 and 2 are those of `load`.
        unsafe { Self::load(p) }
    }
    #[inline(always)]
    unsafe fn widen_masked(p: *const A, mask: usize) -> Self {
        // SAFETY: points 1 and 3 are those of `load_masked`.
        unsafe { Self::load_masked(p, mask) }
    }
}

macro_rules! widen_narrow {
    ($t:ty, $convert:ident, $inline:ident) => {
        impl Widen<$t> for F32x16 {
            #[inline($inline)]
            unsafe fn widen(p: *const $t) -> Self {
                // SAFETY: 16 values are valid at `p` by point 2.
                let bits = unsafe { p.cast::<[u16; 16]>().read_unaligned() };
                let mut out = [0.0; 16];
                for i in 0..16 {
                    out[i] = $convert(bits[i]);
                }
                Lanes(out)
            }
            #[inline(always)]
            unsafe fn widen_masked(p: *const $t, mask: usize) -> Self {
                if mask == 16 {
                    // SAFETY: 16 values are valid at `p` by point 3.
                    return unsafe { Self::widen(p) };
                }
                let mut all = [<$t>::ZERO; 16];
                // SAFETY: `mask ≤ 16` values are valid at `p` by point 3, and `all` holds 16.
                unsafe {
                    std::ptr::copy_nonoverlapping(p, all.as_mut_ptr(), mask);
                    Self::widen(all.as_ptr())
                }
            }
        }
    };
}

// Some 160 instructions widen 16 values of f16, in a function of their own.
widen_narrow!(f16, f16_to_f32, never);
widen_narrow!(bf16, bf16_to_f32, always);

vectors_for! {
    Portable, 1 by 4:
    f16 => F32x16, F32x16, F32x16;
    bf16 => F32x16, F32x16, F32x16;
    f32 => F32x16, F32x16, F32x16;
    f64 => F64x8, F64x8, F64x8;
}
