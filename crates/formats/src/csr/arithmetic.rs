//! Sums and multiples of matrices, and sums of rows and columns.

use std::cmp::Ordering;

use girih_parallel::prelude::*;

use super::rows::fill_rows;
use super::{Csr, check_len};
use crate::error::FormatError;
use crate::scalar::Scalar;
use crate::tilings::shared::windows::{accumulate, row_chunks, split_at_ends};

impl<T: Scalar> Csr<T> {
    /// A + B, for matrices of one shape: an entry wherever one of them has one, also where the sum is zero.
    /// Sums are rounded once. O(nrows + entries of both), in parallel.
    ///
    /// ```
    /// use girih_formats::Csr;
    ///
    /// let a = Csr::from_triplets(2, 2, [(0, 1, 2.0f32)])?;
    /// let sum = a.add(&Csr::identity(2)?)?;
    /// assert_eq!((sum.row(0), sum.get(1, 1)), ((&[0, 1][..], &[1.0, 2.0][..]), Some(1.0)));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError::Shape`] if the shapes differ.
    pub fn add(&self, other: &Self) -> Result<Self, FormatError> {
        self.add_scaled(1.0, other)
    }

    /// A + factor · B, as [`add`](Self::add): with −1 the difference. Computed in f64 and rounded once.
    ///
    /// ```
    /// use girih_formats::Csr;
    ///
    /// let a = Csr::from_triplets(2, 2, [(0, 1, 2.0f32)])?;
    /// assert_eq!(a.add_scaled(-1.0, &a)?.get(0, 1), Some(0.0));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError::Shape`] if the shapes differ.
    pub fn add_scaled(&self, factor: f64, other: &Self) -> Result<Self, FormatError> {
        check_shape(other, self.nrows, self.ncols)?;
        let mut row_ptr = vec![0u64; self.nrows + 1];
        row_ptr[1..].par_iter_mut().with_min_len(64).enumerate().for_each(|(i, count)| {
            merge(self.row(i).0, other.row(i).0, |_, _, _| *count += 1);
        });
        accumulate(&mut row_ptr);
        let (col_idx, values) = fill_rows(&row_ptr, |i, to_cols, to_values| {
            let ((a_cols, a), (b_cols, b)) = (self.row(i), other.row(i));
            let mut to = to_cols.iter_mut().zip(to_values);
            merge(a_cols, b_cols, |col, at_a, at_b| {
                let value = match (at_a, at_b) {
                    (Some(p), None) => a[p],
                    (None, Some(q)) => T::from_c64(b[q].to_c64() * factor),
                    (Some(p), Some(q)) => T::from_c64(a[p].to_c64() + b[q].to_c64() * factor),
                    (None, None) => T::ZERO,
                };
                if let Some((to_col, to_value)) = to.next() {
                    (*to_col, *to_value) = (col, value);
                }
            });
        });
        Ok(Self::from_parts(self.nrows, self.ncols, row_ptr, col_idx, values))
    }

    /// The values, to be written in place, in the order of [`values`](Self::values). The pattern stays.
    ///
    /// The array is copied first if it is shared with a clone or mapped from a file.
    ///
    /// ```
    /// let mut a = girih_formats::Csr::from_triplets(2, 2, [(0, 1, -2.0f32)])?;
    /// a.values_mut().iter_mut().for_each(|value| *value = value.abs());
    /// assert_eq!(a.get(0, 1), Some(2.0));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    pub fn values_mut(&mut self) -> &mut [T] {
        self.values.make_mut()
    }

    /// Multiplies every value by `factor`, in the accumulation type, and rounds once: O(nnz), in parallel.
    ///
    /// ```
    /// let mut a = girih_formats::Csr::<f32>::identity(2)?;
    /// a.scale(3.0);
    /// assert_eq!(a.diagonal(), [3.0, 3.0]);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    pub fn scale(&mut self, factor: T::Acc) {
        let values = self.values_mut().par_iter_mut().with_min_len(1 << 14);
        values.for_each(|value| *value = times(*value, factor));
    }

    /// Multiplies row `i` by `factors[i]`, as [`scale`](Self::scale) does: diag(factors) · A.
    ///
    /// ```
    /// let mut a = girih_formats::Csr::from_triplets(2, 2, [(0, 1, 2.0f32), (1, 0, 3.0)])?;
    /// a.scale_rows(&[10.0, 100.0])?;
    /// assert_eq!(a.values()[..], [20.0, 300.0]);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError::Length`] if there is not one factor for each row; nothing is changed then.
    pub fn scale_rows(&mut self, factors: &[T::Acc]) -> Result<(), FormatError> {
        check_len("factors of rows", factors.len(), self.nrows)?;
        self.update_rows(|i, _, values| {
            values.iter_mut().for_each(|value| *value = times(*value, factors[i]));
        });
        Ok(())
    }

    /// Multiplies column `j` by `factors[j]`, as [`scale`](Self::scale) does: A · diag(factors).
    ///
    /// ```
    /// let mut a = girih_formats::Csr::from_triplets(2, 2, [(0, 1, 2.0f32), (1, 0, 3.0)])?;
    /// a.scale_cols(&[10.0, 100.0])?;
    /// assert_eq!(a.values()[..], [200.0, 30.0]);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError::Length`] if there is not one factor for each column; nothing is changed then.
    pub fn scale_cols(&mut self, factors: &[T::Acc]) -> Result<(), FormatError> {
        check_len("factors of columns", factors.len(), self.ncols)?;
        self.update_rows(|_, cols, values| {
            for (value, &j) in values.iter_mut().zip(cols) {
                *value = times(*value, factors[j as usize]);
            }
        });
        Ok(())
    }

    /// The sum of each row in the accumulation type, added from left to right; zero for an empty row.
    /// O(nrows + nnz), in parallel.
    ///
    /// ```
    /// let a = girih_formats::Csr::from_triplets(2, 2, [(0, 0, 1.0f32), (0, 1, 2.0)])?;
    /// assert_eq!((a.row_sums(), a.col_sums()), (vec![3.0, 0.0], vec![1.0, 2.0]));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[must_use]
    pub fn row_sums(&self) -> Vec<T::Acc> {
        let rows = (0..self.nrows).into_par_iter().with_min_len(256);
        rows.map(|i| self.row(i).1.iter().fold(T::Acc::ZERO, |sum, v| sum + v.to_acc())).collect()
    }

    /// The sum of each column in the accumulation type, added from top to bottom; zero for an empty column.
    /// O(ncols + nnz), on one thread.
    #[must_use]
    pub fn col_sums(&self) -> Vec<T::Acc> {
        let mut sums = vec![T::Acc::ZERO; self.ncols];
        for (&j, value) in self.col_idx.iter().zip(&self.values[..]) {
            sums[j as usize] += value.to_acc();
        }
        sums
    }

    /// Hands every row's columns and values to `update(i, columns, values)`, in parallel over runs of rows
    /// that hold about as many entries each.
    pub(crate) fn update_rows(&mut self, update: impl Fn(usize, &[u32], &mut [T]) + Sync) {
        let (row_ptr, col_idx) = (&self.row_ptr[..], &self.col_idx[..]);
        let chunks = row_chunks(row_ptr);
        let ends = chunks.iter().map(|rows| row_ptr[rows.end] as usize);
        let pieces = split_at_ends(self.values.make_mut(), ends);
        chunks.into_par_iter().with_max_len(1).zip(pieces).for_each(|(rows, mut piece)| {
            for i in rows {
                let entries = row_ptr[i] as usize..row_ptr[i + 1] as usize;
                let values;
                (values, piece) = piece.split_at_mut(entries.len());
                update(i, &col_idx[entries], values);
            }
        });
    }
}

/// Checks a matrix's shape.
pub(crate) fn check_shape<T: Scalar>(
    a: &Csr<T>,
    rows: usize,
    cols: usize,
) -> Result<(), FormatError> {
    let (found_rows, found_cols) = (a.nrows, a.ncols);
    if (found_rows, found_cols) == (rows, cols) {
        return Ok(());
    }
    Err(FormatError::Shape { found_rows, found_cols, rows, cols })
}

/// A value times a factor, rounded to the value's type.
fn times<T: Scalar>(value: T, factor: T::Acc) -> T {
    T::from_c64((value.to_acc() * factor).to_c64())
}

/// Visits the union of two increasing lists in order: each column with its place in either list.
fn merge(a: &[u32], b: &[u32], mut visit: impl FnMut(u32, Option<usize>, Option<usize>)) {
    let (mut p, mut q) = (0, 0);
    while p < a.len() && q < b.len() {
        match a[p].cmp(&b[q]) {
            Ordering::Less => visit(a[p], Some(p), None),
            Ordering::Greater => visit(b[q], None, Some(q)),
            Ordering::Equal => visit(a[p], Some(p), Some(q)),
        }
        let (from_a, from_b) = (a[p] <= b[q], b[q] <= a[p]);
        p += usize::from(from_a);
        q += usize::from(from_b);
    }
    (p..a.len()).for_each(|p| visit(a[p], Some(p), None));
    (q..b.len()).for_each(|q| visit(b[q], None, Some(q)));
}
