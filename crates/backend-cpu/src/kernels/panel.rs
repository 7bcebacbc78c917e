//! One row by one column, by a few vectors of columns, or by a panel of any width.

use girih_formats::Scalar;

use super::each_row::RowKernel;
use super::prefetch::NOTHING;
use super::store::{store, store_one};
use super::sum::{Entries, dot, sum};
use super::whole::{WHOLE_ENTRIES, WHOLE_VECTORS, whole};
use crate::isa::{Vector, Widen};
use crate::operands::{Input, Output};

/// Rows by one column, whose elements are next to each other.
pub(crate) struct Dot<V: Vector, const PREFETCH: u8> {
    pub(crate) x: *const V::Acc,
    pub(crate) out: Output<V::Acc>,
}

impl<V: Vector, const PREFETCH: u8> RowKernel for Dot<V, PREFETCH> {
    type Acc = V::Acc;
    const SHORT: usize = 16;

    #[inline(always)]
    unsafe fn row(&self, entries: Entries<Self::Acc>, row: usize) {
        // SAFETY: the caller's contract.
        unsafe {
            let sum = dot::<V, V::Acc, PREFETCH>(entries, self.x);
            store_one::<V>(sum, &self.out, self.out.row(row));
        }
    }
}

/// What rows are multiplied by, where their products go, and how wide the last vector is.
pub(super) struct By<V: Vector, T: Scalar> {
    b: Input<T>,
    out: Output<T::Acc>,
    mask: V::Mask,
    last: usize,
}

impl<V, T> By<V, T>
where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    /// # Safety
    /// The instruction set of `V`.
    #[inline(always)]
    pub(super) unsafe fn new(b: Input<T>, out: Output<T::Acc>, width: usize) -> Self {
        let last = if width.is_multiple_of(V::LANES) { V::LANES } else { width % V::LANES };
        // SAFETY: the caller's contract.
        Self { b, out, mask: unsafe { V::mask(last) }, last }
    }

    /// A row by `K` vectors of columns from column `j` on.
    ///
    /// # Safety
    /// As for [`RowKernel::row`]; those columns must exist.
    #[inline(always)]
    unsafe fn group<const K: usize, const CHAINS: usize, const TAIL: bool, const PREFETCH: u8>(
        &self,
        entries: Entries<T::Acc>,
        dst: *mut T::Acc,
        j: usize,
    ) {
        let &Self { ref out, mask, last, .. } = self;
        let (b, dst) = (self.b.at_col(j), dst.wrapping_offset(j as isize * out.col_stride));
        // SAFETY: the caller's contract.
        unsafe { group::<V, T, K, CHAINS, TAIL, PREFETCH>(entries, b, out, dst, mask, last) }
    }
}

/// Rows by a panel of `K` vectors.
pub(super) struct FewVectors<
    V: Vector,
    T: Scalar,
    const K: usize,
    const CHAINS: usize,
    const TAIL: bool,
    const PREFETCH: u8,
>(pub(super) By<V, T>);

impl<V, T, const K: usize, const CHAINS: usize, const TAIL: bool, const PREFETCH: u8> RowKernel
    for FewVectors<V, T, K, CHAINS, TAIL, PREFETCH>
where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    type Acc = T::Acc;
    const SHORT: usize = 8;

    #[inline(always)]
    unsafe fn row(&self, entries: Entries<Self::Acc>, row: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.0.group::<K, CHAINS, TAIL, PREFETCH>(entries, self.0.out.row(row), 0) }
    }
}

/// Rows by a panel of any width, up to `AT_ONCE` vectors at a time, which must be 4 or 8. The more of a
/// row of B is read at once, the sooner the processor sees a stream in it.
pub(super) struct ManyVectors<V: Vector, T: Scalar, const AT_ONCE: usize, const PREFETCH: u8> {
    pub(super) by: By<V, T>,
    pub(super) width: usize,
}

impl<V, T, const AT_ONCE: usize, const PREFETCH: u8> RowKernel
    for ManyVectors<V, T, AT_ONCE, PREFETCH>
where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    type Acc = T::Acc;
    const SHORT: usize = 0;

    #[inline(always)]
    unsafe fn row(&self, entries: Entries<Self::Acc>, row: usize) {
        let Self { by, width } = self;
        let (lanes, dst) = (V::LANES, by.out.row(row));
        let tail = width % (4 * lanes);
        let mut j = 0;
        // SAFETY: the caller's contract, for every call below.
        unsafe {
            macro_rules! group {
                ($k:literal, $chains:literal, $tail:literal) => {
                    by.group::<$k, $chains, $tail, PREFETCH>(entries, dst, j)
                };
            }
            if const { !V::WIDE } {
                while j < *width {
                    // Vectors of the group of four that this one belongs to, if that is no whole one.
                    let of = if width - j <= tail && !by.b.is_part_of_group {
                        tail.div_ceil(lanes)
                    } else {
                        4
                    };
                    match (of, width - j >= lanes) {
                        (1, true) => group!(1, 4, false),
                        (1, false) => group!(1, 4, true),
                        (2, true) => group!(1, 2, false),
                        (2, false) => group!(1, 2, true),
                        (_, true) => group!(1, 1, false),
                        (_, false) => group!(1, 1, true),
                    }
                    j += lanes;
                }
                return;
            }
            if by.b.is_far && entries.len >= WHOLE_ENTRIES && entries.step == 1 {
                while j + WHOLE_VECTORS * lanes <= *width {
                    let dst = dst.wrapping_offset(j as isize * by.out.col_stride);
                    #[cfg(test)]
                    if let Some(recorder) = by.b.recorder {
                        recorder.whole_rows();
                    }
                    whole::<V, T, PREFETCH>(entries, by.b.at_col(j), &by.out, dst);
                    j += WHOLE_VECTORS * lanes;
                }
            }
            while AT_ONCE == 8 && j + 8 * lanes <= *width {
                group!(8, 1, false);
                j += 8 * lanes;
            }
            while j + 4 * lanes <= *width {
                group!(4, 1, false);
                j += 4 * lanes;
            }
            match (tail.div_ceil(lanes), tail % lanes) {
                (0, _) => {}
                (1, 0) if by.b.is_part_of_group => group!(1, 1, false),
                (1, _) if by.b.is_part_of_group => group!(1, 1, true),
                (2, 0) if by.b.is_part_of_group => group!(2, 1, false),
                (2, _) if by.b.is_part_of_group => group!(2, 1, true),
                (1, 0) => group!(1, 4, false),
                (1, _) => group!(1, 4, true),
                (2, 0) => group!(2, 2, false),
                (2, _) => group!(2, 2, true),
                (3, _) => group!(3, 1, true),
                _ => group!(4, 1, true),
            }
        }
    }
}

/// One row by `K` vectors of columns, together or, where that does not pay, one after the other.
///
/// # Safety
/// As for [`RowKernel::row`].
#[inline(always)]
unsafe fn group<V, T, const K: usize, const CHAINS: usize, const TAIL: bool, const PREFETCH: u8>(
    entries: Entries<T::Acc>,
    b: Input<T>,
    out: &Output<T::Acc>,
    dst: *mut T::Acc,
    mask: V::Mask,
    len: usize,
) where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    // SAFETY: the caller's contract.
    unsafe {
        if const { V::WIDE } {
            let sums = sum::<V, T, K, CHAINS, TAIL, PREFETCH>(entries, b, mask);
            store::<V, K, TAIL>(sums, out, dst, mask, len);
            return;
        }
        for vector in 0..K {
            let j = vector * V::LANES;
            let (b, dst) = (b.at_col(j), dst.offset(j as isize * out.col_stride));
            if TAIL && vector + 1 == K {
                let sums = sum::<V, T, 1, CHAINS, true, NOTHING>(entries, b, mask);
                store::<V, 1, true>(sums, out, dst, mask, len);
            } else {
                let sums = sum::<V, T, 1, CHAINS, false, NOTHING>(entries, b, mask);
                store::<V, 1, false>(sums, out, dst, mask, len);
            }
        }
    }
}
