//! The vector interface that kernels are written against.

use girih_formats::{Accumulator, Scalar};

/// Accumulators in a [`Line`]: 64 bytes' worth on every instruction set.
pub(crate) const fn lanes<A>() -> usize {
    64 / size_of::<A>()
}

/// 64 bytes of accumulators, in as many registers as the instruction set needs.
///
/// The width is the same everywhere, and so is the order in which kernels add: all instruction sets
/// that fuse multiply and add give the same bits.
///
/// # Safety
/// Every method requires the instruction set of the implementing type; the pointers of the loads
/// and stores must be valid for the lanes they touch. No alignment is required.
pub(crate) trait Line: Copy {
    /// The accumulation type.
    type Acc: Accumulator;
    /// Which lanes a partial line has.
    type Mask: Copy;

    /// Lanes `0..len`, `len ≤ lanes()`.
    unsafe fn mask(len: usize) -> Self::Mask;
    /// `x` in every lane.
    unsafe fn splat(x: Self::Acc) -> Self;
    /// All lanes from `p`.
    unsafe fn load(p: *const Self::Acc) -> Self;
    /// The masked lanes from `p`, zero in the rest.
    unsafe fn load_masked(p: *const Self::Acc, mask: Self::Mask) -> Self;
    /// All lanes to `p`.
    unsafe fn store(self, p: *mut Self::Acc);
    /// The masked lanes to `p`.
    unsafe fn store_masked(self, p: *mut Self::Acc, mask: Self::Mask);
    /// `self · b + c`.
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    /// `self + b`.
    unsafe fn add(self, b: Self) -> Self;
    /// `self · b`.
    unsafe fn mul(self, b: Self) -> Self;
    /// `a · b + c` of single elements, rounded as [`mul_add`](Self::mul_add) rounds.
    unsafe fn mul_add_one(a: Self::Acc, b: Self::Acc, c: Self::Acc) -> Self::Acc;
}

/// A [`Line`] that can be loaded from values of type `T`, widened exactly.
///
/// # Safety
/// As for [`Line`].
pub(crate) trait Widen<T>: Line {
    /// All lanes from `p`.
    unsafe fn widen(p: *const T) -> Self;
    /// The masked lanes from `p`, zero in the rest.
    unsafe fn widen_masked(p: *const T, mask: Self::Mask) -> Self;
}

/// The [`Line`] an instruction set uses for values of type `T`.
pub(crate) trait LineFor<T: Scalar> {
    /// That line.
    type Line: Widen<T> + Widen<T::Acc> + Line<Acc = T::Acc>;
    /// Lines of the register tile of a dense strip: 4 where 32 wide registers exist, else 1.
    const STRIP_LINES: usize;
}
