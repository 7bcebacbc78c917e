//! Sparse rows: every entry with a row of B of its own.

use girih_formats::Scalar;

use super::access::Access;
use super::store::{store, store_one};
use super::sum::{Entries, dot, is_own_accumulator, sum};
use crate::isa::{Line, LineFor, Widen};
use crate::operands::{Input, Output, RowMap};

/// Some consecutive sparse rows, values already in the accumulation type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowBlock<'a, A> {
    /// Offsets of the rows, one more than there are rows.
    pub(crate) row_ptr: &'a [u64],
    /// The entries that count; the others of these rows are someone else's.
    pub(crate) entries: (u64, u64),
    /// The entry that `col_idx[0]` and `values[0]` belong to.
    pub(crate) first: u64,
    /// Columns from `first` up to the end of `entries`, below B's number of rows.
    pub(crate) col_idx: &'a [u32],
    /// Values, as many as columns.
    pub(crate) values: &'a [A],
}

/// Multiplies a block of rows by `width` columns of B.
///
/// # Safety
/// The instruction set of `I`. B must have `width` columns and a row for every column index; the
/// rows of the output in `map` must be valid for `width` columns and accessed by no other thread;
/// `map` must not be longer than the block.
#[inline(always)]
pub(crate) unsafe fn rows<I: LineFor<T>, S: Access, T: Scalar>(
    block: &RowBlock<'_, T::Acc>,
    b: Input<T>,
    out: &Output<T::Acc>,
    map: RowMap<'_>,
    width: usize,
) {
    debug_assert!(map.len() < block.row_ptr.len());
    // Copies, so that stores to C can't be taken to change them.
    let (block, out) = (&RowBlock { ..*block }, &Output { ..*out });
    let entries = Entries { col_idx: block.col_idx, values: block.values };
    let rows = BlockRows::new(block, map);
    // SAFETY: the caller's contract, for every call below.
    unsafe {
        if width == 1 && const { is_own_accumulator::<T>() } {
            // T is its own accumulator here, so the pointer is of the right type.
            let x = b.ptr.cast::<T::Acc>();
            macro_rules! all {
                ($stride:expr) => {
                    for (range, row) in rows {
                        let sum = dot::<I::Line, T::Acc>(entries, range, x, $stride);
                        store_one::<I::Line>(sum, out, out.row(row));
                    }
                };
            }
            // A constant stride spares a multiplication for every entry.
            if b.row_stride == 1 {
                all!(1)
            } else {
                all!(b.row_stride)
            }
            return;
        }
        each_row::<I, S, T>(entries, rows, b, out, width);
    }
}

/// Multiplies rows, each the positions of its entries and where it goes, by `width` columns of B.
///
/// # Safety
/// As for [`rows`]; positions must lie in `entries`.
#[inline(always)]
pub(crate) unsafe fn each_row<I: LineFor<T>, S: Access, T: Scalar>(
    entries: Entries<'_, T::Acc>,
    rows: impl Iterator<Item = ((usize, usize), usize)>,
    b: Input<T>,
    out: &Output<T::Acc>,
    width: usize,
) {
    // SAFETY: the caller's contract, for every call below.
    unsafe {
        if S::WIDE && !b.of_group && width <= <I::Quarter as Line>::LANES {
            narrow::<I::Quarter, S, T>(entries, rows, b, out, width);
        } else if S::WIDE && !b.of_group && width <= <I::Half as Line>::LANES {
            narrow::<I::Half, S, T>(entries, rows, b, out, width);
        } else if const { I::STRIP_LINES == 4 } {
            wide::<I::Line, S, T, 8>(entries, rows, b, out, width);
        } else {
            wide::<I::Line, S, T, 4>(entries, rows, b, out, width);
        }
        if out.stream {
            I::Line::fence();
        }
    }
}

/// The rows of a block that are stored: the positions of their entries, and where they go.
struct BlockRows<'a, A> {
    block: &'a RowBlock<'a, A>,
    map: RowMap<'a>,
    next: usize,
    start: usize,
}

impl<'a, A> BlockRows<'a, A> {
    /// `map` must not be longer than the block.
    #[inline(always)]
    fn new(block: &'a RowBlock<'a, A>, map: RowMap<'a>) -> Self {
        assert!(map.len() < block.row_ptr.len());
        let start = position(block, block.row_ptr[0]);
        Self { block, map, next: 0, start }
    }
}

/// Where an offset lies in the block's arrays.
#[inline(always)]
fn position<A>(block: &RowBlock<'_, A>, offset: u64) -> usize {
    let (start, end) = block.entries;
    (offset.clamp(start, end) - block.first) as usize
}

impl<A> Iterator for BlockRows<'_, A> {
    type Item = ((usize, usize), usize);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        while self.next < self.map.len() {
            let i = self.next;
            self.next += 1;
            // SAFETY: there are more offsets than rows.
            let end = position(self.block, unsafe { *self.block.row_ptr.get_unchecked(i + 1) });
            let range = (self.start, end);
            self.start = end;
            if let Some(row) = self.map.row(i) {
                return Some((range, row));
            }
        }
        None
    }
}

/// Rows by a panel no wider than a line.
///
/// # Safety
/// As for [`rows`].
#[inline(always)]
unsafe fn narrow<V, S, T>(
    entries: Entries<'_, T::Acc>,
    rows: impl Iterator<Item = ((usize, usize), usize)>,
    b: Input<T>,
    out: &Output<T::Acc>,
    width: usize,
) where
    V: Widen<T> + Line<Acc = T::Acc>,
    S: Access,
    T: Scalar,
{
    // SAFETY: the caller's contract, for every call below.
    unsafe {
        let mask = V::mask(width);
        macro_rules! all {
            ($tail:literal) => {
                for (range, row) in rows {
                    let dst = out.row(row);
                    group::<V, S, T, 1, 4, $tail>(entries, range, b, out, dst, mask, width);
                }
            };
        }
        if width == V::LANES { all!(false) } else { all!(true) }
    }
}

/// Rows by a panel of any width, up to `AT_ONCE` lines at a time, which must be 4 or 8. The more of a
/// row of B is read at once, the sooner the processor sees a stream in it.
///
/// # Safety
/// As for [`rows`].
#[inline(always)]
unsafe fn wide<V, S, T, const AT_ONCE: usize>(
    entries: Entries<'_, T::Acc>,
    rows: impl Iterator<Item = ((usize, usize), usize)>,
    b: Input<T>,
    out: &Output<T::Acc>,
    width: usize,
) where
    V: Widen<T> + Line<Acc = T::Acc>,
    S: Access,
    T: Scalar,
{
    let lanes = V::LANES;
    let tail = width % (4 * lanes);
    let last = if tail.is_multiple_of(lanes) { lanes } else { tail % lanes };
    // SAFETY: the caller's contract, for every call below.
    unsafe {
        let mask = V::mask(last);
        for (range, row) in rows {
            let dst = out.row(row);
            let mut j = 0;
            macro_rules! group {
                ($k:literal, $chains:literal, $tail:literal) => {{
                    let b = b.at_col(j);
                    let dst = dst.offset(j as isize * out.col_stride);
                    group::<V, S, T, $k, $chains, $tail>(entries, range, b, out, dst, mask, last);
                }};
            }
            while AT_ONCE == 8 && j + 8 * lanes <= width {
                group!(8, 1, false);
                j += 8 * lanes;
            }
            while j + 4 * lanes <= width {
                group!(4, 1, false);
                j += 4 * lanes;
            }
            match (tail.div_ceil(lanes), tail % lanes) {
                (0, _) => {}
                (1, 0) if b.of_group => group!(1, 1, false),
                (1, _) if b.of_group => group!(1, 1, true),
                (2, 0) if b.of_group => group!(2, 1, false),
                (2, _) if b.of_group => group!(2, 1, true),
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

/// One row by `K` lines of columns.
///
/// # Safety
/// As for [`rows`].
#[inline(always)]
unsafe fn group<V, S, T, const K: usize, const CHAINS: usize, const TAIL: bool>(
    entries: Entries<'_, T::Acc>,
    range: (usize, usize),
    b: Input<T>,
    out: &Output<T::Acc>,
    dst: *mut T::Acc,
    mask: V::Mask,
    len: usize,
) where
    V: Widen<T> + Line<Acc = T::Acc>,
    S: Access,
    T: Scalar,
{
    // SAFETY: the caller's contract.
    unsafe {
        if S::WIDE {
            let sums = sum::<V, S, T, K, CHAINS, TAIL>(entries, range, b, mask, len);
            store::<V, K, TAIL>(sums, out, dst, mask, len);
            return;
        }
        for line in 0..K {
            let j = line * V::LANES;
            let (b, dst) = (b.at_col(j), dst.offset(j as isize * out.col_stride));
            if TAIL && line + 1 == K {
                let sums = sum::<V, S, T, 1, CHAINS, true>(entries, range, b, mask, len);
                store::<V, 1, true>(sums, out, dst, mask, len);
            } else {
                let sums = sum::<V, S, T, 1, CHAINS, false>(entries, range, b, mask, len);
                store::<V, 1, false>(sums, out, dst, mask, len);
            }
        }
    }
}
