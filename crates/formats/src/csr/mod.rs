//! Compressed sparse rows: the format every other one is built from.

mod access;
mod any;
mod arithmetic;
pub(crate) mod assemble;
mod cast;
mod construct;
mod coo;
mod display;
mod prune;
mod rows;
mod softmax;
mod transpose;

use std::ops::Range;

use girih_parallel::prelude::*;
use girih_parallel::{Par, Source};

use crate::MAX_DIM;
use crate::buffer::Buffer;
use crate::error::FormatError;
use crate::pattern::CsrPattern;
use crate::scalar::Scalar;

pub use access::Triplets;
pub use any::AnyCsr;
pub(crate) use arithmetic::check_shape;
pub use coo::{Coo, Duplicates};
pub(crate) use rows::fill_rows;
pub(crate) use transpose::{transpose, try_transpose};

/// A sparse matrix in compressed sparse rows.
///
/// Rows are sorted by column and hold no duplicates; offsets are 64-bit and column indices `u32`.
/// Explicit zeros are entries like any other. The arrays are immutable and shared: `clone` is O(1).
///
/// ```
/// use girih_formats::Csr;
///
/// // [ 1 0 2 ]
/// // [ 0 3 0 ]
/// let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0f32, 2.0, 3.0])?;
/// assert_eq!(a.nnz(), 3);
/// assert_eq!(a.row(0), (&[0, 2][..], &[1.0, 2.0][..]));
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Csr<T: Scalar> {
    nrows: usize,
    ncols: usize,
    row_ptr: Buffer<u64>,
    col_idx: Buffer<u32>,
    values: Buffer<T>,
}

impl<T: Scalar> Csr<T> {
    /// Takes ownership of CSR arrays and validates them: O(nrows + nnz), in parallel.
    ///
    /// # Errors
    /// If a dimension is above [`MAX_DIM`], an array has the wrong length, `row_ptr` is not an
    /// offset array, or a row's columns are out of range or not strictly increasing. Unsorted rows
    /// and duplicates are what [`Coo`] is for.
    pub fn try_new(
        nrows: usize,
        ncols: usize,
        row_ptr: impl Into<Buffer<u64>>,
        col_idx: impl Into<Buffer<u32>>,
        values: impl Into<Buffer<T>>,
    ) -> Result<Self, FormatError> {
        let (row_ptr, col_idx, values) = (row_ptr.into(), col_idx.into(), values.into());
        check_dims(nrows, ncols)?;
        check_len("values", values.len(), col_idx.len())?;
        check_offsets("row_ptr", &row_ptr, nrows, col_idx.len())?;
        check_index_lists("col_idx", &row_ptr, &col_idx, ncols)?;
        Ok(Self { nrows, ncols, row_ptr, col_idx, values })
    }

    /// Takes ownership of arrays that are valid by construction.
    pub(crate) fn from_parts(
        nrows: usize,
        ncols: usize,
        row_ptr: impl Into<Buffer<u64>>,
        col_idx: impl Into<Buffer<u32>>,
        values: impl Into<Buffer<T>>,
    ) -> Self {
        let (row_ptr, col_idx, values) = (row_ptr.into(), col_idx.into(), values.into());
        debug_assert_eq!(row_ptr.len(), nrows + 1);
        debug_assert_eq!(check_index_lists("col_idx", &row_ptr, &col_idx, ncols), Ok(()));
        debug_assert_eq!(col_idx.len(), values.len());
        Self { nrows, ncols, row_ptr, col_idx, values }
    }

    /// A matrix without entries.
    ///
    /// # Errors
    /// If a dimension is above [`MAX_DIM`].
    pub fn empty(nrows: usize, ncols: usize) -> Result<Self, FormatError> {
        check_dims(nrows, ncols)?;
        Ok(Self::from_parts(nrows, ncols, vec![0; nrows + 1], vec![], vec![]))
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

    /// Offsets of the rows, `nrows + 1` of them.
    #[must_use]
    pub fn row_ptr(&self) -> &Buffer<u64> {
        &self.row_ptr
    }

    /// Column of every entry, row by row, increasing within a row.
    #[must_use]
    pub fn col_idx(&self) -> &Buffer<u32> {
        &self.col_idx
    }

    /// Value of every entry.
    #[must_use]
    pub fn values(&self) -> &Buffer<T> {
        &self.values
    }

    pub(crate) fn value_buffer_mut(&mut self) -> &mut Buffer<T> {
        &mut self.values
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

    /// Columns and values of row `i`.
    ///
    /// # Panics
    /// If `i >= nrows`.
    #[inline]
    #[must_use]
    pub fn row(&self, i: usize) -> (&[u32], &[T]) {
        let range = self.row_range(i);
        (&self.col_idx[range.clone()], &self.values[range])
    }

    /// Takes the matrix apart: `row_ptr`, `col_idx` and `values`.
    ///
    /// [`Buffer::into_vec`] of each is free of a copy if it came as a vector and no clone of the
    /// matrix is alive.
    #[must_use]
    pub fn into_arrays(self) -> (Buffer<u64>, Buffer<u32>, Buffer<T>) {
        (self.row_ptr, self.col_idx, self.values)
    }

    /// The pattern, borrowed.
    #[must_use]
    pub fn pattern(&self) -> CsrPattern<'_> {
        CsrPattern::new_unchecked(self.nrows, self.ncols, &self.row_ptr, &self.col_idx)
    }

    /// The same pattern with other values; the pattern is shared, not copied.
    ///
    /// # Errors
    /// If the number of values is not `nnz`.
    pub fn with_values<U: Scalar>(
        &self,
        values: impl Into<Buffer<U>>,
    ) -> Result<Csr<U>, FormatError> {
        let values = values.into();
        check_len("values", values.len(), self.nnz())?;
        Ok(Csr {
            nrows: self.nrows,
            ncols: self.ncols,
            row_ptr: self.row_ptr.clone(),
            col_idx: self.col_idx.clone(),
            values,
        })
    }

    /// Bytes of the three arrays.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (size_of_val(&self.row_ptr[..])
            + size_of_val(&self.col_idx[..])
            + size_of_val(&self.values[..])) as u64
    }
}

/// Checks that both dimensions can be addressed by `u32` indices.
pub(crate) fn check_dims(nrows: usize, ncols: usize) -> Result<(), FormatError> {
    for (what, found) in [("nrows", nrows), ("ncols", ncols)] {
        if found > MAX_DIM {
            return Err(FormatError::TooLarge { what, found: found as u64 });
        }
    }
    Ok(())
}

/// Checks an array's length.
pub(crate) fn check_len(
    what: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), FormatError> {
    if found == expected { Ok(()) } else { Err(FormatError::Length { what, found, expected }) }
}

/// Checks that `ptr` holds `lists + 1` offsets from 0 to `len`, none below the one before.
pub(crate) fn check_offsets(
    what: &'static str,
    ptr: &[u64],
    lists: usize,
    len: usize,
) -> Result<(), FormatError> {
    check_len(what, ptr.len(), lists + 1)?;
    let bad = |position: usize, reason| {
        Err(FormatError::Offsets { what, position, found: ptr[position], reason })
    };
    if ptr[0] != 0 {
        return bad(0, "not 0, as a first offset must be");
    }
    if let Some(i) = ptr.par_windows(2).with_min_len(1 << 14).position_first(|w| w[0] > w[1]) {
        return bad(i + 1, "below the offset before it");
    }
    if ptr[lists] != len as u64 {
        return bad(lists, "not the number of elements it should end at");
    }
    Ok(())
}

/// Checks that every list of `idx` is strictly increasing and below `limit`. The offsets are valid.
pub(crate) fn check_index_lists(
    what: &'static str,
    ptr: &[u64],
    idx: &[u32],
    limit: usize,
) -> Result<(), FormatError> {
    first_error(ptr.par_windows(2).with_min_len(1 << 10).enumerate(), |(row, w)| {
        let start = w[0] as usize;
        check_index_list(what, row, start, &idx[start..w[1] as usize], limit)
    })
}

/// Runs a check over all items in parallel; of several failures, returns the first in order.
pub(crate) fn first_error<S: Source>(
    items: Par<S>,
    check: impl Fn(S::Item) -> Result<(), FormatError> + Sync,
) -> Result<(), FormatError> {
    items.find_map_first(|item| check(item).err()).map_or(Ok(()), Err)
}

/// Checks that one list, at `start` of its array, is strictly increasing and below `limit`.
pub(crate) fn check_index_list(
    what: &'static str,
    row: usize,
    start: usize,
    list: &[u32],
    limit: usize,
) -> Result<(), FormatError> {
    // Branch-free over the list first: this runs over every index of every matrix.
    let increasing = list.windows(2).fold(true, |ok, p| ok & (p[0] < p[1]));
    if increasing && list.last().is_none_or(|&last| (last as usize) < limit) {
        return Ok(());
    }
    for (i, &found) in list.iter().enumerate() {
        let position = start + i;
        if found as usize >= limit {
            let (found, limit) = (found.into(), limit as u64);
            return Err(FormatError::IndexOutOfRange { what, row, position, found, limit });
        }
        if i > 0 && list[i - 1] >= found {
            let previous = list[i - 1];
            return Err(FormatError::NotIncreasing { what, row, position, previous, found });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csr(row_ptr: Vec<u64>, col_idx: Vec<u32>) -> Result<Csr<f32>, FormatError> {
        let values = vec![1.0; col_idx.len()];
        Csr::try_new(2, 3, row_ptr, col_idx, values)
    }

    #[test]
    fn faults_are_named_with_their_place() {
        assert!(csr(vec![0, 2, 3], vec![0, 2, 1]).is_ok());
        assert_eq!(
            csr(vec![0, 2, 3], vec![0, 3, 1]),
            Err(FormatError::IndexOutOfRange {
                what: "col_idx",
                row: 0,
                position: 1,
                found: 3,
                limit: 3
            })
        );
        assert_eq!(
            csr(vec![0, 1, 3], vec![0, 2, 2]),
            Err(FormatError::NotIncreasing {
                what: "col_idx",
                row: 1,
                position: 2,
                previous: 2,
                found: 2
            })
        );
        assert!(matches!(
            csr(vec![0, 4, 3], vec![0, 2, 1]),
            Err(FormatError::Offsets { position: 2, found: 3, .. })
        ));
        assert!(matches!(csr(vec![0, 3], vec![0, 2, 1]), Err(FormatError::Length { .. })));
        assert!(matches!(
            csr(vec![1, 2, 3], vec![0, 2, 1]),
            Err(FormatError::Offsets { position: 0, .. })
        ));
    }

    #[test]
    fn dimensions_beyond_u32_are_refused() {
        let big = MAX_DIM + 1;
        assert_eq!(
            Csr::<f32>::empty(1, big),
            Err(FormatError::TooLarge { what: "ncols", found: big as u64 })
        );
    }

    #[test]
    fn casting_shares_the_pattern() {
        let a = csr(vec![0, 2, 3], vec![0, 2, 1]).unwrap();
        let b = a.cast::<f64>();
        assert_eq!(a.col_idx().as_ptr(), b.col_idx().as_ptr());
    }
}
