//! The vector interface that kernels are written against.

use girih_formats::{Accumulator, Scalar};

use super::four::Four;

/// 64 bytes of accumulators, in as many registers as the instruction set needs; or a half or a
/// quarter of that, for panels no wider.
///
/// The order in which kernels add does not depend on the width, so all instruction sets that fuse
/// multiply and add give the same bits.
///
/// # Safety
/// Every method requires the instruction set of the implementing type; the pointers of the loads
/// and stores must be valid for the lanes they touch. No alignment is required.
pub(crate) trait Vector: Copy {
    /// The accumulation type.
    type Acc: Accumulator;
    /// Which lanes a partial vector has.
    type Mask: Copy;
    /// Four sums of single elements.
    type Four: Four<Acc = Self::Acc>;
    /// Accumulators in the vector.
    const LANES: usize;
    /// Whether several vectors at once, and code of their own for rows of each short length, pay. Where
    /// a vector takes many registers they don't.
    const WIDE: bool = true;
    /// Whether there is a way to ask for cache lines.
    const PREFETCHES: bool = false;

    /// Lanes `0..len`, `len ≤ LANES`.
    unsafe fn mask(len: usize) -> Self::Mask;
    /// `x` in every lane.
    unsafe fn splat(x: Self::Acc) -> Self;
    /// All lanes from `p`.
    unsafe fn load(p: *const Self::Acc) -> Self;
    /// The masked lanes from `p`, zero in the rest.
    unsafe fn load_masked(p: *const Self::Acc, mask: Self::Mask) -> Self;
    /// All lanes to `p`.
    unsafe fn store(self, p: *mut Self::Acc);
    /// All lanes to `p`, past the caches where that is possible; `p` must be aligned to the vector's
    /// size.
    /// Others see it after [`fence`](Self::fence).
    unsafe fn stream(self, p: *mut Self::Acc);
    /// Asks for the cache line at `p`, which need not be valid.
    #[inline(always)]
    fn prefetch<T>(_p: *const T) {}
    /// Asks for the cache line at `p`, which need not be valid, no closer than the second-level cache.
    #[inline(always)]
    fn prefetch_l2<T>(_p: *const T) {}
    /// Makes what [`stream`](Self::stream) wrote visible like ordinary writes.
    unsafe fn fence();
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

/// A [`Vector`] that can be loaded from values of type `T`, widened exactly.
///
/// # Safety
/// As for [`Vector`].
pub(crate) trait Widen<T>: Vector {
    /// All lanes from `p`.
    unsafe fn widen(p: *const T) -> Self;
    /// The masked lanes from `p`, zero in the rest.
    unsafe fn widen_masked(p: *const T, mask: Self::Mask) -> Self;
}

/// An instruction set as the compiler knows it.
pub(crate) trait Compile {
    /// Runs `code`, compiled for the instruction set, as a function of its own: compilers take more
    /// than linear time in what is in one.
    ///
    /// `code` and what it calls must be `#[inline(always)]`, since only what is inlined into the
    /// function is compiled for its instruction set; and `code` must own what it reads often, or
    /// stores to C could be taken to change it.
    ///
    /// # Safety
    /// The machine must have the instruction set, and what `code` requires must hold.
    unsafe fn call<R>(code: impl FnOnce() -> R) -> R;
}

/// The [`Vector`] an instruction set uses for values of type `T`.
pub(crate) trait VectorsFor<T: Scalar>: Compile {
    /// A whole vector: 64 bytes.
    type Vector: Widen<T> + Widen<T::Acc> + Vector<Acc = T::Acc>;
    /// The vector for panels of at most 32 bytes.
    type Half: Widen<T> + Vector<Acc = T::Acc>;
    /// The vector for panels of at most 16 bytes.
    type Quarter: Widen<T> + Vector<Acc = T::Acc>;
    /// Whether half a vector is less than one.
    const HAS_HALF: bool = Self::Half::LANES < Self::Vector::LANES;
    /// Whether a quarter of a vector is less than one.
    const HAS_QUARTER: bool = Self::Quarter::LANES < Self::Vector::LANES;
    /// Vectors of the register tile of a dense strip: 4 where 32 wide registers exist, else 1.
    const STRIP_VECTORS: usize;
    /// Rows of it, up to 6: as many as registers have room for.
    const STRIP_ROWS: usize = 4;
}
