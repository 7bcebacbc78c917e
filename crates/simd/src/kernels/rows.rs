//! Sparse rows as stored: every entry with a row of B of its own.

use girih_formats::Scalar;

use super::each_row::{RowKernel, Rows, each_row};
use super::panel::Dot;
use super::prefetch::Prefetch;
use super::sum::{Entries, is_own_accumulator};
use crate::isa::{Vector, VectorsFor};
use crate::operands::{Input, Output, RowMap};

/// Some consecutive sparse rows, values already in the accumulation type.
#[derive(Clone, Copy, Debug)]
pub struct RowBlock<'a, A> {
    /// Offsets of the rows, one more than there are rows.
    pub row_ptr: &'a [u64],
    /// The entries to multiply. Others of these rows belong to other tasks.
    pub entries: (u64, u64),
    /// The entry that `col_idx[0]` and `values[0]` belong to.
    pub first: u64,
    /// Columns from `first` up to the end of `entries`, below B's number of rows.
    pub col_idx: &'a [u32],
    /// Values, as many as columns.
    pub values: &'a [A],
}

/// Multiplies a block of rows by `width` columns of B.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. The block has a column and a value for each of its `entries`; `row_ptr` ascends. Each column is a row
///    of B, and B has `width` columns.
/// 3. The rows of C in `map` are valid for `width` columns, and no other thread accesses them.
/// 4. `map` is shorter than `row_ptr`.
pub(crate) unsafe fn rows<I: VectorsFor<T>, T: Scalar>(
    block: &RowBlock<'_, T::Acc>,
    b: Input<T>,
    out: &Output<T::Acc>,
    map: RowMap<'_>,
    width: usize,
) {
    let (rows, out) = (BlockRows { block: *block, map }, *out);
    let prefetches = const { I::Vector::PREFETCHES } && b.prefetch_a;
    let prefetch = if prefetches { Prefetch::Entries } else { Prefetch::Nothing };
    b.ran("rows", prefetch, out.streams());
    // SAFETY: the instruction set by point 1, rows and B by points 2 and 4, C by point 3. No kernel here
    // prefetches rows of B.
    unsafe {
        if b.is_column && const { is_own_accumulator::<T>() } {
            // T is its own accumulator here, so the pointer is of the right type.
            let x = b.ptr.cast::<T::Acc>();
            I::call(
                #[inline(always)]
                move || {
                    if prefetches {
                        rows.each(Dot::<I::Vector, true> { x, out });
                    } else {
                        rows.each(Dot::<I::Vector, false> { x, out });
                    }
                },
            );
        } else {
            each_row::<I, T>(rows, b, out, width, prefetch);
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
    const C_LEADS: bool = false;

    #[inline(always)]
    unsafe fn each(self, kernel: impl RowKernel<Acc = Self::Acc>) {
        let Self { block, map } = self;
        assert!(map.len() < block.row_ptr.len());
        let mut start = position(&block, block.row_ptr[0]);
        for i in 0..map.len() {
            // SAFETY: there are more offsets than rows, as asserted above.
            let end = position(&block, unsafe { *block.row_ptr.get_unchecked(i + 1) });
            if let Some(row) = map.row(i) {
                // SAFETY: the instruction set by point 1, entries by point 2, since offsets ascend within the
                // block; the row of C by point 3.
                unsafe {
                    let len = end - start;
                    let entries = Entries::consecutive(block.col_idx, block.values, start, len);
                    kernel.row(entries, row);
                }
            }
            start = end;
        }
    }

    // Neighbouring rows differ in length, so to tell lengths apart costs as much as it saves.
    #[inline(always)]
    unsafe fn each_by_length<K: RowKernel<Acc = Self::Acc>>(self, kernel: K) {
        // SAFETY: points 1 to 3 are those of `each`.
        unsafe { self.each(kernel) }
    }
}
