//! One row by one column, by a few lines of columns, or by a panel of any width.

use girih_formats::Scalar;

use super::ahead::NOTHING;
use super::each_row::OnRow;
use super::store::{store, store_one};
use super::sum::{Entries, dot, sum};
use super::whole::{WHOLE_ENTRIES, WHOLE_LINES, whole};
use crate::isa::{Line, Widen};
use crate::operands::{Input, Output};

/// Rows by one column, whose elements are next to each other.
pub(crate) struct Dot<V: Line, const ASK: u8> {
    pub(crate) x: *const V::Acc,
    pub(crate) out: Output<V::Acc>,
}

impl<V: Line, const ASK: u8> OnRow for Dot<V, ASK> {
    type Acc = V::Acc;
    const SHORT: usize = 16;

    #[inline(always)]
    unsafe fn row(&self, entries: Entries<Self::Acc>, row: usize) {
        // SAFETY: the caller's contract.
        unsafe {
            let sum = dot::<V, V::Acc, ASK>(entries, self.x);
            store_one::<V>(sum, &self.out, self.out.row(row));
        }
    }
}

/// What rows are multiplied by, where their products go, and how wide the last line is.
pub(super) struct By<V: Line, T: Scalar> {
    b: Input<T>,
    out: Output<T::Acc>,
    mask: V::Mask,
    last: usize,
}

impl<V, T> By<V, T>
where
    V: Widen<T> + Line<Acc = T::Acc>,
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

    /// A row by `K` lines of columns from column `j` on.
    ///
    /// # Safety
    /// As for [`OnRow::row`]; those columns must exist.
    #[inline(always)]
    unsafe fn group<const K: usize, const CHAINS: usize, const TAIL: bool, const ASK: u8>(
        &self,
        entries: Entries<T::Acc>,
        dst: *mut T::Acc,
        j: usize,
    ) {
        let &Self { ref out, mask, last, .. } = self;
        let (b, dst) = (self.b.at_col(j), dst.wrapping_offset(j as isize * out.col_stride));
        // SAFETY: the caller's contract.
        unsafe { group::<V, T, K, CHAINS, TAIL, ASK>(entries, b, out, dst, mask, last) }
    }
}

/// Rows by a panel of `K` lines.
pub(super) struct Few<
    V: Line,
    T: Scalar,
    const K: usize,
    const CHAINS: usize,
    const TAIL: bool,
    const ASK: u8,
>(pub(super) By<V, T>);

impl<V, T, const K: usize, const CHAINS: usize, const TAIL: bool, const ASK: u8> OnRow
    for Few<V, T, K, CHAINS, TAIL, ASK>
where
    V: Widen<T> + Line<Acc = T::Acc>,
    T: Scalar,
{
    type Acc = T::Acc;
    const SHORT: usize = 8;

    #[inline(always)]
    unsafe fn row(&self, entries: Entries<Self::Acc>, row: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.0.group::<K, CHAINS, TAIL, ASK>(entries, self.0.out.row(row), 0) }
    }
}

/// Rows by a panel of any width, up to `AT_ONCE` lines at a time, which must be 4 or 8. The more of a
/// row of B is read at once, the sooner the processor sees a stream in it.
pub(super) struct Many<V: Line, T: Scalar, const AT_ONCE: usize, const ASK: u8> {
    pub(super) by: By<V, T>,
    pub(super) width: usize,
}

impl<V, T, const AT_ONCE: usize, const ASK: u8> OnRow for Many<V, T, AT_ONCE, ASK>
where
    V: Widen<T> + Line<Acc = T::Acc>,
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
                    by.group::<$k, $chains, $tail, ASK>(entries, dst, j)
                };
            }
            if const { !V::WIDE } {
                while j < *width {
                    // Lines of the group of four that this one belongs to, if that is no whole one.
                    let of =
                        if width - j <= tail && !by.b.of_group { tail.div_ceil(lanes) } else { 4 };
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
                while j + WHOLE_LINES * lanes <= *width {
                    let dst = dst.wrapping_offset(j as isize * by.out.col_stride);
                    #[cfg(test)]
                    if let Some(recorder) = by.b.recorder {
                        recorder.whole_rows();
                    }
                    whole::<V, T, ASK>(entries, by.b.at_col(j), &by.out, dst);
                    j += WHOLE_LINES * lanes;
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
                (1, 0) if by.b.of_group => group!(1, 1, false),
                (1, _) if by.b.of_group => group!(1, 1, true),
                (2, 0) if by.b.of_group => group!(2, 1, false),
                (2, _) if by.b.of_group => group!(2, 1, true),
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

/// One row by `K` lines of columns, together or, where that does not pay, one after the other.
///
/// # Safety
/// As for [`OnRow::row`].
#[inline(always)]
unsafe fn group<V, T, const K: usize, const CHAINS: usize, const TAIL: bool, const ASK: u8>(
    entries: Entries<T::Acc>,
    b: Input<T>,
    out: &Output<T::Acc>,
    dst: *mut T::Acc,
    mask: V::Mask,
    len: usize,
) where
    V: Widen<T> + Line<Acc = T::Acc>,
    T: Scalar,
{
    // SAFETY: the caller's contract.
    unsafe {
        if const { V::WIDE } {
            let sums = sum::<V, T, K, CHAINS, TAIL, ASK>(entries, b, mask);
            store::<V, K, TAIL>(sums, out, dst, mask, len);
            return;
        }
        for line in 0..K {
            let j = line * V::LANES;
            let (b, dst) = (b.at_col(j), dst.offset(j as isize * out.col_stride));
            if TAIL && line + 1 == K {
                let sums = sum::<V, T, 1, CHAINS, true, NOTHING>(entries, b, mask);
                store::<V, 1, true>(sums, out, dst, mask, len);
            } else {
                let sums = sum::<V, T, 1, CHAINS, false, NOTHING>(entries, b, mask);
                store::<V, 1, false>(sums, out, dst, mask, len);
            }
        }
    }
}
