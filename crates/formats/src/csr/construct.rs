//! Matrices from a diagonal and from triplets.

use super::{Coo, Csr, Duplicates, check_dims};
use crate::MAX_DIM;
use crate::error::FormatError;
use crate::scalar::Scalar;

impl<T: Scalar> Csr<T> {
    /// The identity of `n` rows: O(n).
    ///
    /// ```
    /// let i = girih_formats::Csr::<f32>::identity(3)?;
    /// assert_eq!((i.nnz(), i.get(2, 2)), (3, Some(1.0)));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// If `n` is above [`MAX_DIM`].
    pub fn identity(n: usize) -> Result<Self, FormatError> {
        check_dims(n, n)?;
        Ok(Self::diagonal_of(vec![T::ONE; n]))
    }

    /// The square matrix with these values on its diagonal, each an entry, zeros included: O(n).
    ///
    /// ```
    /// let d = girih_formats::Csr::from_diagonal(&[2.0f32, 0.0])?;
    /// assert_eq!((d.get(0, 0), d.get(1, 1), d.get(0, 1)), (Some(2.0), Some(0.0), None));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// If there are more than [`MAX_DIM`] values.
    pub fn from_diagonal(values: &[T]) -> Result<Self, FormatError> {
        check_dims(values.len(), values.len())?;
        Ok(Self::diagonal_of(values.to_vec()))
    }

    fn diagonal_of(values: Vec<T>) -> Self {
        let n = values.len();
        let row_ptr: Vec<u64> = (0..=n as u64).collect();
        let col_idx: Vec<u32> = (0..n as u32).collect();
        Self::from_parts(n, n, row_ptr, col_idx, values)
    }

    /// The matrix of triplets (row, column, value) in any order. Duplicates are added up in the order in
    /// which they come; [`Coo::from_triplets`] leaves a choice. Cost as of [`Coo::into_csr`].
    ///
    /// ```
    /// use girih_formats::Csr;
    ///
    /// let a = Csr::from_triplets(2, 3, [(1, 2, 1.0f32), (0, 1, 2.0), (1, 2, 3.0)])?;
    /// assert_eq!(a.row(1), (&[2][..], &[4.0][..]));
    /// assert_eq!(Csr::from_triplets(2, 3, &a)?, a);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Coo::from_triplets`].
    pub fn from_triplets(
        nrows: usize,
        ncols: usize,
        triplets: impl IntoIterator<Item = (usize, usize, T)>,
    ) -> Result<Self, FormatError> {
        Coo::from_triplets(nrows, ncols, triplets)?.into_csr(Duplicates::Sum)
    }
}

impl<T: Scalar> Coo<T> {
    /// Collects triplets (row, column, value) in any order: O(len).
    ///
    /// ```
    /// use girih_formats::{Coo, Duplicates};
    ///
    /// let twice = Coo::from_triplets(2, 2, [(0, 1, 1.0f32), (0, 1, 2.0)])?;
    /// assert!(twice.into_csr(Duplicates::Refuse).is_err());
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// If a dimension is above [`MAX_DIM`] or an index is out of range; the first such triplet is named.
    pub fn from_triplets(
        nrows: usize,
        ncols: usize,
        triplets: impl IntoIterator<Item = (usize, usize, T)>,
    ) -> Result<Self, FormatError> {
        check_dims(nrows, ncols)?;
        let triplets = triplets.into_iter();
        let expected = triplets.size_hint().0;
        let (mut row_idx, mut col_idx) = (reserved(expected), reserved(expected));
        let mut values = reserved(expected);
        for (position, (i, j, value)) in triplets.enumerate() {
            for (what, found, limit) in [("row_idx", i, nrows), ("col_idx", j, ncols)] {
                if found >= limit {
                    let (found, limit) = (found as u64, limit as u64);
                    return Err(FormatError::IndexOutOfRange {
                        what,
                        row: i,
                        position,
                        found,
                        limit,
                    });
                }
            }
            debug_assert!(i < MAX_DIM && j < MAX_DIM);
            row_idx.push(i as u32);
            col_idx.push(j as u32);
            values.push(value);
        }
        Ok(Self::from_parts(nrows, ncols, row_idx, col_idx, values))
    }
}

/// A vector for as many elements as a hint says, unless that is more than there is memory for: then it grows.
fn reserved<U>(hint: usize) -> Vec<U> {
    let mut elements = Vec::new();
    let _ = elements.try_reserve_exact(hint);
    elements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_of_any_size_are_taken() {
        /// As many triplets as there are, and a hint.
        struct Hinted(std::ops::Range<usize>, usize);
        impl Iterator for Hinted {
            type Item = (usize, usize, f32);
            fn next(&mut self) -> Option<Self::Item> {
                self.0.next().map(|i| (i, i, 1.0))
            }
            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.1, None)
            }
        }
        for hint in [0, 1, 5, usize::MAX] {
            let a = Csr::from_triplets(5, 5, Hinted(0..5, hint)).unwrap();
            assert_eq!(a, Csr::identity(5).unwrap());
        }
    }
}
