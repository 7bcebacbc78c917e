//! The vector interface that kernels are written against.

use girih_formats::{RealAccumulator, Scalar};

use super::four::Four;
use super::halves;
use super::hints;
use crate::kernels::Activate;

/// 64 bytes of accumulators, in as many registers as the instruction set needs; or a half or a quarter of
/// that, for panels no wider.
///
/// The order in which kernels add does not depend on the width, so all instruction sets that fuse multiply
/// and add give the same bits.
///
/// # Safety
/// Methods name the points that they require:
///
/// 1. The machine has the instruction set of the implementing type.
/// 2. The pointer is valid for [`LANES`](Self::LANES) elements, to be read or written. It need not be
///    aligned.
/// 3. The pointer is valid for the lanes of the mask. It need not be aligned.
/// 4. The pointer is a multiple of the vector's size in bytes.
pub(crate) trait Vector: Copy {
    /// The accumulation type.
    type Acc: Activate;
    /// Which lanes a partial vector has.
    type Mask: Copy;
    /// Four sums of single elements.
    type Four: Four<Acc = Self::Acc>;
    /// The instruction set.
    type Isa: Compile;
    /// Accumulators in the vector.
    const LANES: usize;
    /// Whether kernels sum several vectors at once and have code of their own for each short row length. Not
    /// where a vector takes many registers.
    const WIDE: bool = true;
    /// Whether multiply-adds round once.
    const FUSES: bool = true;
    /// Whether one instruction loads a part of a vector of 16-bit values.
    const MASKS_HALVES: bool = false;
    /// Whether there are instructions that prefetch cache lines and write past the caches.
    const PREFETCHES: bool = false;
    /// Whether panels may begin within a vector: partial vectors are loaded and stored as fast as whole ones.
    const HEADS: bool = false;

    /// Lanes `0..len`, `len ≤ LANES`.
    ///
    /// # Safety
    /// Point 1 of the trait.
    unsafe fn mask(len: usize) -> Self::Mask;

    /// Lanes `from..LANES`, where panels [may begin within a vector](Self::HEADS).
    ///
    /// # Safety
    /// Point 1 of the trait.
    unsafe fn mask_from(_from: usize) -> Self::Mask {
        unreachable!("no panel begins within a vector")
    }

    /// `x` in every lane.
    ///
    /// # Safety
    /// Point 1 of the trait.
    unsafe fn splat(x: Self::Acc) -> Self;

    /// All lanes from `p`.
    ///
    /// # Safety
    /// Points 1 and 2 of the trait.
    unsafe fn load(p: *const Self::Acc) -> Self;

    /// The masked lanes from `p`, zero in the rest.
    ///
    /// # Safety
    /// Points 1 and 3 of the trait.
    unsafe fn load_masked(p: *const Self::Acc, mask: Self::Mask) -> Self;

    /// All lanes to `p`.
    ///
    /// # Safety
    /// Points 1 and 2 of the trait.
    unsafe fn store(self, p: *mut Self::Acc);

    /// The masked lanes to `p`.
    ///
    /// # Safety
    /// Points 1 and 3 of the trait.
    unsafe fn store_masked(self, p: *mut Self::Acc, mask: Self::Mask);

    /// All lanes to `p`, past the caches where that is possible. Other threads see them after
    /// [`fence`](Self::fence).
    ///
    /// # Safety
    /// Points 1, 2 and 4 of the trait.
    unsafe fn stream(self, p: *mut Self::Acc);

    /// `self · b + c`.
    ///
    /// # Safety
    /// Point 1 of the trait.
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;

    /// `self + b`.
    ///
    /// # Safety
    /// Point 1 of the trait.
    unsafe fn add(self, b: Self) -> Self;

    /// `self · b`.
    ///
    /// # Safety
    /// Point 1 of the trait.
    unsafe fn mul(self, b: Self) -> Self;

    /// The greater lane of each pair: `self` where they are equal, NaN where either is.
    ///
    /// # Safety
    /// Point 1 of the trait.
    unsafe fn greater(self, b: Self) -> Self;

    /// The sum of the lanes of each vector, by halves: the second half of the lanes is added to the first, and
    /// so on until one is left.
    ///
    /// # Safety
    /// Point 1 of the trait.
    unsafe fn totals(of: [Self; 4]) -> [Self::Acc; 4];

    /// `a · b + c` of single elements, rounded as [`mul_add`](Self::mul_add) rounds.
    #[inline(always)]
    fn mul_add_one(a: Self::Acc, b: Self::Acc, c: Self::Acc) -> Self::Acc {
        if const { Self::FUSES } { a.mul_add(b, c) } else { a * b + c }
    }

    /// Prefetches the cache line at `p`, which need not be valid, into the first-level cache.
    #[inline(always)]
    fn prefetch<T>(p: *const T) {
        if const { Self::PREFETCHES } {
            hints::prefetch(p);
        }
    }

    /// Prefetches the cache line at `p`, which need not be valid, into the second-level cache.
    #[inline(always)]
    fn prefetch_l2<T>(p: *const T) {
        if const { Self::PREFETCHES } {
            hints::prefetch_l2(p);
        }
    }

    /// Makes what [`stream`](Self::stream) wrote visible like ordinary writes.
    #[inline(always)]
    fn fence() {
        if const { Self::PREFETCHES } {
            hints::fence();
        }
    }
}

/// A [`Vector`] that can be loaded from values of type `T`, widened exactly.
pub(crate) trait Widen<T>: Vector {
    /// All lanes from `p`.
    ///
    /// # Safety
    /// Points 1 and 2 of [`Vector`].
    unsafe fn widen(p: *const T) -> Self;

    /// The masked lanes from `p`, zero in the rest.
    ///
    /// # Safety
    /// Points 1 and 3 of [`Vector`].
    unsafe fn widen_masked(p: *const T, mask: Self::Mask) -> Self;
}

/// An instruction set as the compiler knows it.
pub(crate) trait Compile {
    /// Runs `code`, compiled for the instruction set, as a function of its own.
    ///
    /// `code` and what it calls must be `#[inline(always)]`: only what is inlined into the function is
    /// compiled for its instruction set. `code` must own what it reads often, or stores to C could be taken
    /// to change it.
    ///
    /// # Safety
    /// 1. The machine has the instruction set.
    unsafe fn call<R>(code: impl FnOnce() -> R) -> R;

    /// Rounds `len` numbers to nearest even: to bf16, or to f16. With `PAST` they are written past the caches where that is
    /// possible; other threads see them after [`fence`](Vector::fence).
    ///
    /// # Safety
    /// 1. The machine has the instruction set, and this is part of a function that is [compiled](Self::call) for it.
    /// 2. Both pointers are valid for as many elements, which do not overlap.
    /// 3. With `PAST`, `to` is a multiple of 32 bytes, and so is what is written.
    #[inline(always)]
    unsafe fn narrow<const PAST: bool>(from: *const f32, to: *mut u16, len: usize, is_bf16: bool) {
        // SAFETY: point 2.
        unsafe {
            if is_bf16 {
                halves::narrow_bf16(from, to, len);
            } else {
                halves::narrow_f16(from, to, len);
            }
        }
    }
}

/// The [`Vector`]s that an instruction set uses for values of type `T`.
pub(crate) trait VectorsFor<T: Scalar>: Compile {
    /// A whole vector: 64 bytes.
    type Vector: Widen<T> + Widen<T::Acc> + Vector<Acc = T::Acc>;
    /// The vector for panels of at most 32 bytes.
    type Half: Widen<T> + Vector<Acc = T::Acc>;
    /// The vector for panels of at most 16 bytes.
    type Quarter: Widen<T> + Vector<Acc = T::Acc>;
    /// Whether a half is less than a whole vector.
    const HAS_HALF: bool = Self::Half::LANES < Self::Vector::LANES;
    /// Whether a quarter is less than a whole vector.
    const HAS_QUARTER: bool = Self::Quarter::LANES < Self::Vector::LANES;
    /// Vectors in a row of a dense strip: 4 with 32 registers of 64 bytes, else 1.
    const STRIP_VECTORS: usize;
    /// Rows of a dense strip, up to 6: as many as registers can hold sums of.
    const STRIP_ROWS: usize = 4;
}

/// Implements [`Vector`] for a type around one register, and [`Widen`] from the accumulation type.
///
/// Each function named is unsafe, and requires what the method does that calls it.
#[cfg(any(all(target_arch = "x86_64", feature = "avx2"), target_arch = "aarch64"))]
macro_rules! vector {
    (
        $name:ident($register:ty) of $isa:ty: $lanes:literal of $acc:ty, $mask:ty, $four:ty,
        [$($constant:ident: $value:expr),*] $($mask_from:ident)?;
        $mask_fn:ident $splat:ident $load:ident $load_masked:ident $store:ident $store_masked:ident
        $stream:ident $mul_add:ident $add:ident $mul:ident $greater:ident $totals:ident
    ) => {
        #[derive(Clone, Copy)]
        pub(crate) struct $name($register);

        impl Vector for $name {
            type Acc = $acc;
            type Mask = $mask;
            type Four = $four;
            type Isa = $isa;
            const LANES: usize = $lanes;
            $(const $constant: bool = $value;)*

            #[inline(always)]
            unsafe fn mask(len: usize) -> $mask {
                // SAFETY: the instruction set by point 1.
                unsafe { $mask_fn(len) }
            }
            $(
                #[inline(always)]
                unsafe fn mask_from(from: usize) -> $mask {
                    // SAFETY: the instruction set by point 1.
                    unsafe { $mask_from(from) }
                }
            )?
            #[inline(always)]
            unsafe fn splat(x: $acc) -> Self {
                // SAFETY: the instruction set by point 1.
                Self(unsafe { $splat(x) })
            }
            #[inline(always)]
            unsafe fn load(p: *const $acc) -> Self {
                // SAFETY: the instruction set by point 1, all lanes by point 2.
                Self(unsafe { $load(p) })
            }
            #[inline(always)]
            unsafe fn load_masked(p: *const $acc, mask: $mask) -> Self {
                // SAFETY: the instruction set by point 1, the lanes of the mask by point 3.
                Self(unsafe { $load_masked(mask, p) })
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $acc) {
                // SAFETY: the instruction set by point 1, all lanes by point 2.
                unsafe { $store(p, self.0) }
            }
            #[inline(always)]
            unsafe fn store_masked(self, p: *mut $acc, mask: $mask) {
                // SAFETY: the instruction set by point 1, the lanes of the mask by point 3.
                unsafe { $store_masked(p, mask, self.0) }
            }
            #[inline(always)]
            unsafe fn stream(self, p: *mut $acc) {
                // SAFETY: the instruction set by point 1, all lanes by point 2, the alignment by point 4.
                unsafe { $stream(p, self.0) }
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: the instruction set by point 1.
                Self(unsafe { $mul_add(self.0, b.0, c.0) })
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                // SAFETY: the instruction set by point 1.
                Self(unsafe { $add(self.0, b.0) })
            }
            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                // SAFETY: the instruction set by point 1.
                Self(unsafe { $mul(self.0, b.0) })
            }
            #[inline(always)]
            unsafe fn greater(self, b: Self) -> Self {
                // SAFETY: the instruction set by point 1.
                Self(unsafe { $greater(self.0, b.0) })
            }
            #[inline(always)]
            unsafe fn totals([a, b, c, d]: [Self; 4]) -> [$acc; 4] {
                // SAFETY: the instruction set by point 1.
                unsafe { $totals([a.0, b.0, c.0, d.0]) }
            }
        }

        impl Widen<$acc> for $name {
            #[inline(always)]
            unsafe fn widen(p: *const $acc) -> Self {
                // SAFETY: points 1 and 2 are those of `load`.
                unsafe { Self::load(p) }
            }
            #[inline(always)]
            unsafe fn widen_masked(p: *const $acc, mask: $mask) -> Self {
                // SAFETY: points 1 and 3 are those of `load_masked`.
                unsafe { Self::load_masked(p, mask) }
            }
        }
    };
}

/// Says which vectors an instruction set uses for each type of values.
macro_rules! vectors_for {
    (
        $isa:ty, $strip_vectors:literal by $strip_rows:literal:
        $($t:ty => $vector:ty, $half:ty, $quarter:ty;)*
    ) => {$(
        impl VectorsFor<$t> for $isa {
            type Vector = $vector;
            type Half = $half;
            type Quarter = $quarter;
            const STRIP_VECTORS: usize = $strip_vectors;
            const STRIP_ROWS: usize = $strip_rows;
        }
    )*};
}

#[cfg(any(all(target_arch = "x86_64", feature = "avx2"), target_arch = "aarch64"))]
pub(super) use vector;
pub(super) use vectors_for;
