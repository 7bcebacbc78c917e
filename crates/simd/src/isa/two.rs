//! A vector of two vectors of half its width.

use super::vector::{Vector, Widen};

/// Two vectors side by side.
#[derive(Clone, Copy)]
pub(crate) struct Two<R>(pub(super) [R; 2]);

impl<R: Vector> Vector for Two<R> {
    type Acc = R::Acc;
    type Mask = [R::Mask; 2];
    type Four = R::Four;
    type Isa = R::Isa;
    const LANES: usize = 2 * R::LANES;
    const WIDE: bool = R::WIDE;
    const FUSES: bool = R::FUSES;
    const MASKS_HALVES: bool = R::MASKS_HALVES;
    const PREFETCHES: bool = R::PREFETCHES;

    #[inline(always)]
    unsafe fn mask(len: usize) -> Self::Mask {
        let high = len.saturating_sub(R::LANES);
        // SAFETY: the instruction set of `R` by point 1.
        unsafe { [R::mask(len - high), R::mask(high)] }
    }
    #[inline(always)]
    unsafe fn splat(x: R::Acc) -> Self {
        // SAFETY: the instruction set of `R` by point 1.
        Self([unsafe { R::splat(x) }; 2])
    }
    #[inline(always)]
    unsafe fn load(p: *const R::Acc) -> Self {
        // SAFETY: the instruction set of `R` by point 1, the lanes of both by point 2.
        Self(unsafe { [R::load(p), R::load(p.add(R::LANES))] })
    }
    #[inline(always)]
    unsafe fn load_masked(p: *const R::Acc, [low, high]: Self::Mask) -> Self {
        // `wrapping_add`, because the second half may begin beyond the end of the array.
        // SAFETY: the instruction set of `R` by point 1, the lanes of both masks by point 3.
        Self(unsafe { [R::load_masked(p, low), R::load_masked(p.wrapping_add(R::LANES), high)] })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut R::Acc) {
        // SAFETY: the instruction set of `R` by point 1, the lanes of both by point 2.
        unsafe {
            self.0[0].store(p);
            self.0[1].store(p.add(R::LANES));
        }
    }
    #[inline(always)]
    unsafe fn store_masked(self, p: *mut R::Acc, [low, high]: Self::Mask) {
        // `wrapping_add`, because the second half may begin beyond the end of the array.
        // SAFETY: the instruction set of `R` by point 1, the lanes of both masks by point 3.
        unsafe {
            self.0[0].store_masked(p, low);
            self.0[1].store_masked(p.wrapping_add(R::LANES), high);
        }
    }
    #[inline(always)]
    unsafe fn stream(self, p: *mut R::Acc) {
        // SAFETY: the instruction set of `R` by point 1, the lanes of both by point 2. A multiple of the size
        // of both is one of the size of each, so point 4 holds for both.
        unsafe {
            self.0[0].stream(p);
            self.0[1].stream(p.add(R::LANES));
        }
    }
    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: the instruction set of `R` by point 1.
        Self(unsafe { [self.0[0].mul_add(b.0[0], c.0[0]), self.0[1].mul_add(b.0[1], c.0[1])] })
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        // SAFETY: the instruction set of `R` by point 1.
        Self(unsafe { [self.0[0].add(b.0[0]), self.0[1].add(b.0[1])] })
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        // SAFETY: the instruction set of `R` by point 1.
        Self(unsafe { [self.0[0].mul(b.0[0]), self.0[1].mul(b.0[1])] })
    }
    #[inline(always)]
    unsafe fn greater(self, b: Self) -> Self {
        // SAFETY: the instruction set of `R` by point 1.
        Self(unsafe { [self.0[0].greater(b.0[0]), self.0[1].greater(b.0[1])] })
    }
    #[inline(always)]
    unsafe fn totals([a, b, c, d]: [Self; 4]) -> [R::Acc; 4] {
        // SAFETY: the instruction set of `R` by point 1.
        unsafe {
            R::totals([
                a.0[0].add(a.0[1]),
                b.0[0].add(b.0[1]),
                c.0[0].add(c.0[1]),
                d.0[0].add(d.0[1]),
            ])
        }
    }
}

/// Sums are loaded as they are. Other types are widened by the instruction set's own instructions.
macro_rules! widen_acc {
    ($($acc:ty),*) => {$(
        impl<R: Vector<Acc = $acc>> Widen<$acc> for Two<R> {
            #[inline(always)]
            unsafe fn widen(p: *const $acc) -> Self {
                // SAFETY: points 1 and 2 are those of `load`.
                unsafe { Self::load(p) }
            }
            #[inline(always)]
            unsafe fn widen_masked(p: *const $acc, mask: Self::Mask) -> Self {
                // SAFETY: points 1 and 3 are those of `load_masked`.
                unsafe { Self::load_masked(p, mask) }
            }
        }
    )*};
}

widen_acc!(f32, f64);
