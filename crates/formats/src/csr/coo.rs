//! Triplets in any order, assembled into CSR.

use girih_parallel::prelude::*;
use serde::{Deserialize, Serialize};

use super::assemble::{Assembly, Mirror};
use super::{Csr, check_dims, check_len};
use crate::buffer::Buffer;
use crate::error::FormatError;
use crate::scalar::Scalar;

/// What to do with an entry that is given more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Duplicates {
    /// Add the values up, in the order they were given.
    #[default]
    Sum,
    /// Refuse the matrix, naming the entry.
    Refuse,
}

/// A matrix as triplets (row, column, value), in any order, duplicates allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Coo<T: Scalar> {
    pub(super) nrows: usize,
    pub(super) ncols: usize,
    pub(super) row_idx: Buffer<u32>,
    pub(super) col_idx: Buffer<u32>,
    pub(super) values: Buffer<T>,
}

impl<T: Scalar> Coo<T> {
    /// Takes ownership of triplets and checks that every index is in range.
    ///
    /// # Errors
    /// If a dimension is above [`MAX_DIM`](crate::MAX_DIM), the arrays differ in length, or an
    /// index is out of range.
    pub fn try_new(
        nrows: usize,
        ncols: usize,
        row_idx: Vec<u32>,
        col_idx: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, FormatError> {
        check_dims(nrows, ncols)?;
        check_len("col_idx", col_idx.len(), row_idx.len())?;
        check_len("values", values.len(), row_idx.len())?;
        for (what, idx, limit) in [("row_idx", &row_idx, nrows), ("col_idx", &col_idx, ncols)] {
            if let Some(position) =
                idx.par_iter().with_min_len(1 << 14).position_first(|&i| i as usize >= limit)
            {
                return Err(FormatError::IndexOutOfRange {
                    what,
                    row: row_idx[position] as usize,
                    position,
                    found: idx[position].into(),
                    limit: limit as u64,
                });
            }
        }
        Ok(Self::from_parts(nrows, ncols, row_idx, col_idx, values))
    }

    /// Takes ownership of triplets that are in range by construction.
    pub(crate) fn from_parts(
        nrows: usize,
        ncols: usize,
        row_idx: impl Into<Buffer<u32>>,
        col_idx: impl Into<Buffer<u32>>,
        values: impl Into<Buffer<T>>,
    ) -> Self {
        let (row_idx, col_idx, values) = (row_idx.into(), col_idx.into(), values.into());
        debug_assert!(row_idx.iter().all(|&i| (i as usize) < nrows));
        debug_assert!(col_idx.iter().all(|&j| (j as usize) < ncols));
        debug_assert!(row_idx.len() == col_idx.len() && row_idx.len() == values.len());
        Self { nrows, ncols, row_idx, col_idx, values }
    }

    /// Number of rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.nrows, self.ncols)
    }

    /// The triplets, in the order they were given.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, u32, T)> + '_ {
        let indices = self.row_idx.iter().zip(&self.col_idx[..]);
        indices.zip(&self.values[..]).map(|((&i, &j), &v)| (i, j, v))
    }

    /// Number of triplets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no triplets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Sorts the triplets into CSR, in parallel and with the same result on any number of threads.
    ///
    /// Duplicates are added up in the order they were given, in the accumulator of `T`. Explicit
    /// zeros stay. O(nrows + len) if the entries of every row come in order of column, whatever the
    /// order of the rows; rows that do not are sorted. Triplets that already stand in the order of
    /// CSR are taken over without a copy. Where rows alone are in order, entries stay in place, and move
    /// up behind duplicates once. Otherwise the peak is the triplets, the result and two bytes per entry.
    ///
    /// ```
    /// use girih_formats::{Coo, Duplicates};
    ///
    /// let coo = Coo::try_new(2, 3, vec![1, 0, 1], vec![2, 1, 2], vec![1.0f32, 2.0, 3.0])?;
    /// let a = coo.clone().into_csr(Duplicates::Sum)?;
    /// assert_eq!(a.row(1), (&[2][..], &[4.0][..]));
    /// assert!(coo.into_csr(Duplicates::Refuse).is_err());
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError::Duplicate`] if an entry is given twice and `duplicates` refuses that.
    pub fn into_csr(self, duplicates: Duplicates) -> Result<Csr<T>, FormatError> {
        self.assemble(Assembly { mirror: Mirror::None, duplicates, prune_zeros: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Triplets in order of row, some twice: in order of column, and in another.
    fn by_row(nrows: u32, reverse: bool) -> Vec<(u32, u32, f32)> {
        let row = |i: u32| {
            let cols = (0..i % 40).flat_map(move |j| vec![j * 3; 1 + (i + j) as usize % 7 / 5]);
            let mut cols: Vec<u32> = cols.collect();
            if reverse {
                cols.reverse();
            }
            cols.into_iter()
                .enumerate()
                .map(move |(p, j)| (i, j, (p as f32 + 0.1) / (i + 1) as f32))
        };
        (0..nrows).flat_map(row).collect()
    }

    fn coo(nrows: u32, triplets: &[(u32, u32, f32)]) -> Coo<f32> {
        let (rows, cols) = triplets.iter().map(|&(i, j, _)| (i, j)).unzip();
        let values = triplets.iter().map(|&(.., v)| v).collect();
        Coo::try_new(nrows as usize, 120, rows, cols, values).unwrap()
    }

    #[test]
    fn rows_in_order_come_to_what_others_do_and_leave_other_owners_alone() {
        for (nrows, reverse) in [(0, false), (1, false), (70_000, false), (5000, true)] {
            let triplets = by_row(nrows, reverse);
            // Rows the other way round; within each, entries stay in the order they were given.
            let mut turned = triplets.clone();
            turned.sort_by_key(|&(i, ..)| std::cmp::Reverse(i));
            let expected = coo(nrows, &turned).into_csr(Duplicates::Sum).unwrap();

            let given = coo(nrows, &triplets);
            assert_eq!(given.clone().into_csr(Duplicates::Sum).unwrap(), expected);
            assert_eq!(given, coo(nrows, &triplets));
            assert_eq!(given.into_csr(Duplicates::Sum).unwrap(), expected);
            assert_eq!(expected.nnz() < triplets.len(), nrows > 1);
        }
    }

    #[test]
    fn a_duplicate_among_rows_in_order_is_named() {
        let mut triplets = by_row(5000, false);
        triplets.dedup_by_key(|&mut (i, j, _)| (i, j));
        let entry = triplets[triplets.len() - 100];
        triplets.insert(triplets.len() - 100, entry);
        let error = coo(5000, &triplets).into_csr(Duplicates::Refuse).unwrap_err();
        assert!(
            matches!(error, FormatError::Duplicate { row, col } if (row, col) == (entry.0, entry.1)),
            "{error}"
        );
    }
}
