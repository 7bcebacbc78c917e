//! Reading entries: one, a diagonal, rows, triplets.

use std::iter::FusedIterator;
use std::ops::{Bound, RangeBounds};

use super::Csr;
use crate::scalar::Scalar;

impl<T: Scalar> Csr<T> {
    /// The value at row `i`, column `j`; `None` if there is no entry, or no such place.
    /// O(log(entries of the row)).
    ///
    /// ```
    /// let a = girih_formats::Csr::from_triplets(2, 3, [(0, 2, 5.0f32)])?;
    /// assert_eq!((a.get(0, 2), a.get(0, 1), a.get(7, 0)), (Some(5.0), None, None));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> Option<T> {
        if i >= self.nrows {
            return None;
        }
        let (cols, values) = self.row(i);
        let j = u32::try_from(j).ok()?;
        cols.binary_search(&j).ok().map(|at| values[at])
    }

    /// The values on the diagonal, zero where there is no entry: `min(nrows, ncols)` of them.
    /// O(nrows · log(longest row)).
    ///
    /// ```
    /// let a = girih_formats::Csr::from_triplets(2, 3, [(1, 1, 5.0f32), (0, 2, 1.0)])?;
    /// assert_eq!(a.diagonal(), [0.0, 5.0]);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[must_use]
    pub fn diagonal(&self) -> Vec<T> {
        (0..self.nrows.min(self.ncols)).map(|i| self.get(i, i).unwrap_or(T::ZERO)).collect()
    }

    /// The rows in order, each as columns and values.
    ///
    /// ```
    /// let a = girih_formats::Csr::from_triplets(3, 3, [(0, 2, 5.0f32), (2, 1, 1.0), (2, 2, 3.0)])?;
    /// let largest: Vec<_> = a.rows().map(|(_, values)| values.iter().copied().reduce(f32::max)).collect();
    /// assert_eq!(largest, [Some(5.0), None, Some(3.0)]);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    pub fn rows(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&[u32], &[T])> + ExactSizeIterator + Clone {
        (0..self.nrows).map(|i| self.row(i))
    }

    /// The entries as triplets (row, column, value), row by row: what [`Csr::from_triplets`] takes.
    ///
    /// ```
    /// let a = girih_formats::Csr::from_triplets(2, 3, [(1, 0, 1.0f32), (0, 2, 5.0)])?;
    /// assert_eq!(a.iter().collect::<Vec<_>>(), [(0, 2, 5.0), (1, 0, 1.0)]);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[must_use]
    pub fn iter(&self) -> Triplets<'_, T> {
        Triplets { matrix: self, row: 0, next: 0 }
    }

    /// Some of the rows, as a matrix with as many columns: O(rows and entries of the result), a copy.
    ///
    /// ```
    /// let a = girih_formats::Csr::from_triplets(3, 2, [(0, 0, 1.0f32), (1, 1, 2.0), (2, 0, 3.0)])?;
    /// let last = a.slice_rows(1..);
    /// assert_eq!((last.nrows(), last.get(0, 1), last.get(1, 0)), (2, Some(2.0), Some(3.0)));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    ///
    /// # Panics
    /// If the range ends before it starts, or after the last row.
    #[must_use]
    pub fn slice_rows(&self, rows: impl RangeBounds<usize>) -> Self {
        let start = match rows.start_bound() {
            Bound::Included(&i) => i,
            Bound::Excluded(&i) => i + 1,
            Bound::Unbounded => 0,
        };
        let end = match rows.end_bound() {
            Bound::Included(&i) => i + 1,
            Bound::Excluded(&i) => i,
            Bound::Unbounded => self.nrows,
        };
        let ptr = &self.row_ptr[start..=end];
        let (first, last) = (ptr[0] as usize, ptr[ptr.len() - 1] as usize);
        let row_ptr: Vec<u64> = ptr.iter().map(|&p| p - first as u64).collect();
        let (cols, values) = (&self.col_idx[first..last], &self.values[first..last]);
        Self::from_parts(end - start, self.ncols, row_ptr, cols.to_vec(), values.to_vec())
    }

    /// The transpose: short for [`transpose`](Self::transpose), which computes it.
    #[must_use]
    pub fn t(&self) -> Self {
        self.transpose()
    }

    /// Whether the matrix is square and equal to its transpose, pattern and values. NaN equals nothing.
    ///
    /// O(nnz). Stops at the first entry without a partner.
    ///
    /// ```
    /// use girih_formats::Csr;
    ///
    /// let a = Csr::from_triplets(2, 2, [(0, 1, 3.0f32), (1, 0, 3.0)])?;
    /// assert!(a.is_symmetric() && !a.slice_rows(..1).is_symmetric());
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[must_use]
    pub fn is_symmetric(&self) -> bool {
        if self.nrows != self.ncols {
            return false;
        }
        // Rows come in order, so the entries of a column are met in the order in which its row has them.
        let mut next = self.row_ptr[..self.nrows].to_vec();
        self.rows().enumerate().all(|(i, (cols, values))| {
            cols.iter().zip(values).all(|(&j, value)| {
                let place = &mut next[j as usize];
                let at = *place as usize;
                *place += 1;
                // Past the end of its row, another row's entry could be meant.
                at < self.row_ptr[j as usize + 1] as usize
                    && self.col_idx[at] as usize == i
                    && self.values[at] == *value
            })
        })
    }
}

/// The entries of a matrix as triplets, row by row: what [`Csr::iter`] gives.
#[derive(Clone, Debug)]
pub struct Triplets<'a, T: Scalar> {
    matrix: &'a Csr<T>,
    row: usize,
    next: usize,
}

impl<T: Scalar> Iterator for Triplets<'_, T> {
    type Item = (usize, usize, T);

    fn next(&mut self) -> Option<Self::Item> {
        let a = self.matrix;
        let (&col, &value) = (a.col_idx.get(self.next)?, a.values.get(self.next)?);
        while a.row_ptr[self.row + 1] as usize <= self.next {
            self.row += 1;
        }
        self.next += 1;
        Some((self.row, col as usize, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.matrix.nnz() - self.next;
        (left, Some(left))
    }
}

impl<T: Scalar> ExactSizeIterator for Triplets<'_, T> {}
impl<T: Scalar> FusedIterator for Triplets<'_, T> {}

impl<'a, T: Scalar> IntoIterator for &'a Csr<T> {
    type Item = (usize, usize, T);
    type IntoIter = Triplets<'a, T>;

    fn into_iter(self) -> Triplets<'a, T> {
        self.iter()
    }
}
