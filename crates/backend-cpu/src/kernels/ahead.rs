//! Asking for rows of B before they are multiplied.

use std::marker::PhantomData;

use super::each_row::{OnRow, Rows};
use super::sum::Entries;
use crate::isa::Line;
use crate::operands::Input;

/// How many entries ahead rows of B are asked for where that pays. So many column indices more than
/// there are entries must be readable.
pub(crate) const AHEAD: usize = 32;

/// Rows whose entries are next to each other, each preceded by asking for the rows of B that entries
/// further on name.
pub(super) struct AskingAhead<R, V> {
    pub(super) rows: R,
    pub(super) b: OfB<V>,
}

impl<R: Rows, V: Line> Rows for AskingAhead<R, V> {
    type Acc = R::Acc;

    #[inline(always)]
    unsafe fn each(self, what: impl OnRow<Acc = Self::Acc>) {
        // SAFETY: the caller's contract.
        unsafe { self.rows.each(AskFirst { b: self.b, what }) }
    }

    // Who waits for B does not wait for the end of a row.
    #[inline(always)]
    unsafe fn each_by_length<W: OnRow<Acc = Self::Acc>>(self, what: W) {
        // SAFETY: the caller's contract.
        unsafe { self.each(what) }
    }
}

/// Asks ahead, then does something.
struct AskFirst<V, W> {
    b: OfB<V>,
    what: W,
}

impl<V: Line, W: OnRow> OnRow for AskFirst<V, W> {
    type Acc = W::Acc;
    const SHORT: usize = 0;

    #[inline(always)]
    unsafe fn row(&self, entries: Entries<W::Acc>, row: usize) {
        // SAFETY: the caller's contract; there are so many more columns.
        unsafe {
            self.b.ask(entries.col_idx.add(AHEAD), entries.len);
            self.what.row(entries, row);
        }
    }
}

/// What of a row of B is asked for.
pub(super) struct OfB<V> {
    ptr: *const u8,
    /// Bytes from a row to the next.
    stride: isize,
    /// Bytes of a row.
    width: usize,
    line: PhantomData<V>,
}

impl<V: Line> OfB<V> {
    /// The first `width` columns.
    #[inline(always)]
    pub(super) fn new<T>(b: &Input<T>, width: usize) -> Self {
        let size = size_of::<T>();
        let stride = b.row_stride.wrapping_mul(size as isize);
        Self { ptr: b.ptr.cast(), stride, width: width * size, line: PhantomData }
    }

    /// Asks for the rows that `count` columns name.
    ///
    /// # Safety
    /// So many columns must be readable.
    #[inline(always)]
    unsafe fn ask(&self, col_idx: *const u32, count: usize) {
        for p in 0..count {
            // SAFETY: the caller's contract.
            let col = unsafe { *col_idx.add(p) } as isize;
            let row = self.ptr.wrapping_offset(col.wrapping_mul(self.stride));
            for at in (0..self.width).step_by(64) {
                V::prefetch_l2(row.wrapping_add(at));
            }
        }
    }
}
