//! A borrowed sparsity pattern: CSR without its values.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::csr::{transpose, try_transpose};
use crate::error::FormatError;

/// The pattern of a [`Csr`](crate::Csr), borrowed.
///
/// Statistics, orderings and the planner work on patterns, so their code exists once for all value
/// types. Obtained from a validated matrix only: rows are sorted, without duplicates, in range.
#[derive(Clone, Copy, Debug)]
pub struct CsrPattern<'a> {
    nrows: usize,
    ncols: usize,
    row_ptr: &'a [u64],
    col_idx: &'a [u32],
}

impl<'a> CsrPattern<'a> {
    pub(crate) fn new_unchecked(
        nrows: usize,
        ncols: usize,
        row_ptr: &'a [u64],
        col_idx: &'a [u32],
    ) -> Self {
        Self { nrows, ncols, row_ptr, col_idx }
    }

    /// Number of rows (m).
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Number of columns (k).
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// Number of stored entries, explicit zeros included.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.col_idx.len()
    }

    /// Offsets of the rows in [`col_idx`](Self::col_idx), `nrows + 1` of them.
    #[must_use]
    pub fn row_ptr(&self) -> &'a [u64] {
        self.row_ptr
    }

    /// Column of every entry, row by row, increasing within a row.
    #[must_use]
    pub fn col_idx(&self) -> &'a [u32] {
        self.col_idx
    }

    /// Positions of row `i`'s entries.
    ///
    /// # Panics
    /// If `i >= nrows`.
    #[inline]
    #[must_use]
    pub fn row_range(&self, i: usize) -> Range<usize> {
        self.row_ptr[i] as usize..self.row_ptr[i + 1] as usize
    }

    /// Columns of row `i`.
    ///
    /// # Panics
    /// If `i >= nrows`.
    #[inline]
    #[must_use]
    pub fn row(&self, i: usize) -> &'a [u32] {
        &self.col_idx[self.row_range(i)]
    }

    /// `row_ptr` and `col_idx` of the transposed pattern: which rows hold column `j`.
    ///
    /// O(nrows + ncols + nnz), in parallel; cost and determinism as
    /// [`Csr::transpose`](crate::Csr::transpose), without values.
    ///
    /// ```
    /// let a = girih_formats::Csr::try_new(2, 2, vec![0, 1, 3], vec![1, 0, 1], vec![1.0f32; 3])?;
    /// let (col_ptr, row_idx) = a.pattern().transpose();
    /// assert_eq!((&col_ptr[..], &row_idx[..]), (&[0, 1, 3][..], &[1, 0, 1][..]));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[must_use]
    pub fn transpose(&self) -> (Buffer<u64>, Buffer<u32>) {
        let (row_ptr, col_idx, _) = transpose(*self, &vec![(); self.nnz()]);
        (row_ptr, col_idx)
    }

    /// As [`transpose`](Self::transpose), with an error if there is no memory.
    ///
    /// # Errors
    /// [`FormatError::OutOfMemory`] if the system refuses an array.
    pub fn try_transpose(&self) -> Result<(Buffer<u64>, Buffer<u32>), FormatError> {
        let (row_ptr, col_idx, _) = try_transpose(*self, &vec![(); self.nnz()])?;
        Ok((row_ptr, col_idx))
    }
}
