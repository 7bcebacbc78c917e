//! Windows of packed columns, as the kernel's work is made of them: all of a matrix in WCSR, or those of a hybrid.

use std::borrow::Cow;

use girih_formats::{Buffer, Hybrid, PAD_ROW, Scalar, Wcsr};

/// Windows of `window_rows` rows of C each, none of which anyone else computes.
pub(crate) struct Windows<'a, T: Scalar> {
    /// Rows and columns of the matrix.
    pub(super) shape: (usize, usize),
    /// Bytes of the matrix's arrays.
    pub(super) bytes: u64,
    pub(super) window_rows: usize,
    pub(super) pad_cols: usize,
    /// Offsets of the windows in `window_col_idx`.
    pub(super) window_ptr: Cow<'a, [u64]>,
    pub(super) window_col_idx: &'a [u32],
    pub(super) values: &'a [T],
    /// Where each window's strip begins, if it lies dense; else all windows' rows lie side by side.
    strips: Option<Vec<usize>>,
    /// The row of C of each slot; none if they have the slots' numbers.
    pub(super) rows: Buffer<u32>,
}

impl<'a, T: Scalar> Windows<'a, T> {
    /// All windows of a matrix.
    pub(crate) fn of(a: &'a Wcsr<T>) -> Self {
        Self {
            shape: (a.nrows(), a.ncols()),
            bytes: a.bytes(),
            window_rows: a.window_rows(),
            pad_cols: a.pad_cols(),
            window_ptr: Cow::Borrowed(a.window_ptr()),
            window_col_idx: a.window_col_idx(),
            values: a.values(),
            strips: None,
            rows: a.layout().slots().cloned().unwrap_or_else(|| Buffer::from(Vec::new())),
        }
    }

    /// The packed windows of a hybrid, in their order: O(packed slots).
    pub(crate) fn packed(a: &'a Hybrid<T>) -> Self {
        let packed = || (0..a.layout().n_windows()).filter(|&w| a.is_packed(w));
        // Others have no packed columns, so each packed window begins where the one before ends.
        let ends = packed().map(|w| a.window_ptr()[w + 1]);
        let window_ptr: Vec<u64> = std::iter::once(0).chain(ends).collect();
        let rows = packed().flat_map(|w| a.layout().rows(w));
        let rows: Vec<u32> = rows.map(|row| row.map_or(PAD_ROW, |row| row as u32)).collect();
        Self {
            shape: (a.nrows(), a.ncols()),
            bytes: a.bytes(),
            window_rows: a.window_rows(),
            pad_cols: a.pad_cols(),
            window_ptr: Cow::Owned(window_ptr),
            window_col_idx: a.window_col_idx(),
            values: a.values(),
            strips: Some(packed().map(|w| a.window_values(w).start).collect()),
            rows: rows.into(),
        }
    }

    /// The row of C of each slot, where they are listed.
    #[cfg(test)]
    pub(crate) fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Where in the values those of row `r` of window `w` stand, from its packed column at `position` of
    /// `window_col_idx` on.
    pub(super) fn place(&self, w: usize, r: usize, position: usize) -> usize {
        match &self.strips {
            None => r * self.window_col_idx.len() + position,
            Some(strips) => {
                let (begin, end) = (self.window_ptr[w] as usize, self.window_ptr[w + 1] as usize);
                strips[w] + r * (end - begin) + position - begin
            }
        }
    }
}
