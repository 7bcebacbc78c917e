//! CSR written row by row, in parallel.

use std::ops::Range;

use girih_parallel::prelude::*;

use super::{Csr, check_dims};
use crate::buffer::Buffer;
use crate::compiled::{FillRow, RowLen};
use crate::error::FormatError;
use crate::scalar::Scalar;
use crate::tilings::shared::windows::{accumulate, row_chunks, split_at_ends};

/// Rows that one task counts: enough to amortize the task.
const CHUNK_ROWS: usize = 256;

impl<T: Scalar> Csr<T> {
    /// Builds a matrix row by row, in parallel, each row written once and in place.
    ///
    /// `len(i)` is the number of entries of row `i`; `fill(i, columns, values)` then writes exactly
    /// that number of them, columns increasing. Both may be called from any thread, in any order, so the result
    /// is the same on any number of threads. No memory is used besides the matrix.
    ///
    /// ```
    /// use girih_formats::Csr;
    ///
    /// let identity = Csr::<f32>::from_rows(3, 3, |_| 1, |i, cols, values| {
    ///     cols[0] = i as u32;
    ///     values[0] = 1.0;
    /// })?;
    /// assert_eq!(identity.row_ptr()[..], [0, 1, 2, 3]);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// If a dimension is above [`MAX_DIM`](crate::MAX_DIM), the entries are more than memory can
    /// address, or the columns written are out of range or not increasing.
    pub fn from_rows(
        nrows: usize,
        ncols: usize,
        len: impl Fn(usize) -> usize + Sync,
        fill: impl Fn(usize, &mut [u32], &mut [T]) + Sync,
    ) -> Result<Self, FormatError> {
        T::csr_from_rows(nrows, ncols, &len, &fill)
    }

    /// [`from_rows`](Self::from_rows), [compiled once](crate::compiled).
    pub(crate) fn from_rows_with(
        nrows: usize,
        ncols: usize,
        len: RowLen<'_>,
        fill: FillRow<'_, T>,
    ) -> Result<Self, FormatError> {
        check_dims(nrows, ncols)?;
        let mut row_ptr = Buffer::<u64>::zeroed(nrows + 1)?;
        row_ptr.make_mut()[1..]
            .par_iter_mut()
            .with_min_len(CHUNK_ROWS)
            .enumerate()
            .for_each(|(i, slot)| *slot = len(i) as u64);
        let nnz = row_ptr.iter().map(|&n| u128::from(n)).sum::<u128>();
        let too_many = FormatError::TooManyElements { found: nnz };
        let nnz = usize::try_from(nnz).map_err(|_| too_many.clone())?;
        if nnz > isize::MAX as usize / size_of::<u64>() {
            return Err(too_many);
        }
        accumulate(row_ptr.make_mut());
        let into = (Buffer::zeroed(nnz)?, Buffer::zeroed(nnz)?);
        let (col_idx, values) = fill_rows_of(&row_ptr, fill, into);
        Self::try_new(nrows, ncols, row_ptr, col_idx, values)
    }
}

/// Columns and values of rows whose offsets are known; `fill(i, columns, values)` writes row `i`.
/// In parallel over runs of rows that hold about as many entries each.
pub(crate) fn fill_rows<T: Scalar>(
    row_ptr: &[u64],
    fill: impl Fn(usize, &mut [u32], &mut [T]) + Sync,
) -> (Buffer<u32>, Buffer<T>) {
    let nnz = row_ptr.last().map_or(0, |&end| end as usize);
    fill_rows_of(row_ptr, fill, (Buffer::zeroed_or_abort(nnz), Buffer::zeroed_or_abort(nnz)))
}

/// The same into arrays that are there.
fn fill_rows_of<T: Scalar>(
    row_ptr: &[u64],
    fill: impl Fn(usize, &mut [u32], &mut [T]) + Sync,
    (mut col_idx, mut values): (Buffer<u32>, Buffer<T>),
) -> (Buffer<u32>, Buffer<T>) {
    let chunk = |rows: Range<usize>, mut cols: &mut [u32], mut vals: &mut [T]| {
        for i in rows {
            let n = (row_ptr[i + 1] - row_ptr[i]) as usize;
            let (row_cols, row_vals);
            (row_cols, cols) = cols.split_at_mut(n);
            (row_vals, vals) = vals.split_at_mut(n);
            fill(i, row_cols, row_vals);
        }
    };
    for_each_chunk(row_ptr, col_idx.make_mut(), values.make_mut(), &chunk);
    (col_idx, values)
}

/// Writes the columns and values of a run of rows.
type FillRows<'a, T> = dyn Fn(Range<usize>, &mut [u32], &mut [T]) + Sync + 'a;

/// Calls `fill` with runs of rows that hold about as many entries each, and with their columns and values.
fn for_each_chunk<T: Scalar>(
    row_ptr: &[u64],
    col_idx: &mut [u32],
    values: &mut [T],
    fill: &FillRows<'_, T>,
) {
    let chunks = row_chunks(row_ptr);
    let ends = || chunks.iter().map(|rows| row_ptr[rows.end] as usize);
    let cols = split_at_ends(col_idx, ends());
    let vals = split_at_ends(values, ends());
    chunks
        .par_iter()
        .with_max_len(1)
        .zip(cols)
        .zip(vals)
        .for_each(|((rows, cols), vals)| fill(rows.clone(), cols, vals));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_row_writes_is_checked() {
        let build =
            |cols: [u32; 2]| Csr::<f32>::from_rows(1, 3, |_| 2, |_, c, _| c.copy_from_slice(&cols));
        assert!(build([0, 2]).is_ok());
        assert!(matches!(build([2, 0]), Err(FormatError::NotIncreasing { row: 0, .. })));
        assert!(matches!(build([2, 3]), Err(FormatError::IndexOutOfRange { found: 3, .. })));
    }

    #[test]
    fn impossible_lengths_are_refused_before_memory_is_taken() {
        let huge = |n: usize| Csr::<f32>::from_rows(4, 1, |_| n, |_, _, _| unreachable!());
        assert!(matches!(huge(usize::MAX), Err(FormatError::TooManyElements { .. })));
        assert!(matches!(huge(1 << 60), Err(FormatError::TooManyElements { .. })));
    }
}
