//! Sparse rows as they stand in CSR: every entry with a row of B of its own.

use girih_formats::Scalar;

use super::each_row::{RowKernel, Rows, each_row};
use super::panel::Dot;
use super::prefetch::{ENTRIES, NOTHING};
use super::sum::{Entries, is_own_accumulator};
use crate::isa::{Vector, VectorsFor};
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
pub(crate) unsafe fn rows<I: VectorsFor<T>, T: Scalar>(
    block: &RowBlock<'_, T::Acc>,
    b: Input<T>,
    out: &Output<T::Acc>,
    map: RowMap<'_>,
    width: usize,
) {
    let (rows, out) = (BlockRows { block: *block, map }, *out);
    // SAFETY: the caller's contract, for every call below.
    unsafe {
        if b.is_column && const { is_own_accumulator::<T>() } {
            // T is its own accumulator here, so the pointer is of the right type.
            let x = b.ptr.cast::<T::Acc>();
            let prefetch_a = b.prefetch_a;
            let asks = const { I::Vector::PREFETCHES } && prefetch_a;
            b.ran("rows", if asks { ENTRIES } else { NOTHING }, out.streams());
            I::call(
                #[inline(always)]
                move || {
                    if prefetch_a {
                        rows.each(Dot::<I::Vector, ENTRIES> { x, out });
                    } else {
                        rows.each(Dot::<I::Vector, NOTHING> { x, out });
                    }
                },
            );
        } else if const { I::Vector::PREFETCHES } && b.prefetch_a {
            b.ran("rows", ENTRIES, out.streams());
            each_row::<I, T, ENTRIES>(rows, b, out, width);
        } else {
            b.ran("rows", NOTHING, out.streams());
            each_row::<I, T, NOTHING>(rows, b, out, width);
        }
    }
}

/// The rows of a block that are stored.
struct BlockRows<'a, A> {
    block: RowBlock<'a, A>,
    map: RowMap<'a>,
}

/// Where an offset lies in the block's arrays.
#[inline(always)]
fn position<A>(block: &RowBlock<'_, A>, offset: u64) -> usize {
    let (start, end) = block.entries;
    (offset.clamp(start, end) - block.first) as usize
}

impl<A> Rows for BlockRows<'_, A> {
    type Acc = A;

    #[inline(always)]
    unsafe fn each(self, what: impl RowKernel<Acc = Self::Acc>) {
        let Self { block, map } = self;
        assert!(map.len() < block.row_ptr.len());
        let mut start = position(&block, block.row_ptr[0]);
        for i in 0..map.len() {
            // SAFETY: there are more offsets than rows.
            let end = position(&block, unsafe { *block.row_ptr.get_unchecked(i + 1) });
            if let Some(row) = map.row(i) {
                // SAFETY: the caller's contract, and offsets ascend within the block.
                unsafe {
                    let entries = Entries::at(block.col_idx, block.values, start, end - start);
                    what.row(entries, row);
                }
            }
            start = end;
        }
    }

    // Neighbouring rows differ in length, so to tell lengths apart costs as much as it saves.
    #[inline(always)]
    unsafe fn each_by_length<W: RowKernel<Acc = Self::Acc>>(self, what: W) {
        // SAFETY: the caller's contract.
        unsafe { self.each(what) }
    }
}
