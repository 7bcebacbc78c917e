//! Triplets in any order, assembled into CSR.

use serde::{Deserialize, Serialize};

use super::{Csr, check_dims, check_len};
use crate::{FormatError, Scalar};

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
    nrows: usize,
    ncols: usize,
    row_idx: Vec<u32>,
    col_idx: Vec<u32>,
    values: Vec<T>,
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
            if let Some(position) = idx.iter().position(|&i| i as usize >= limit) {
                return Err(FormatError::IndexOutOfRange {
                    what,
                    row: row_idx[position] as usize,
                    position,
                    found: idx[position].into(),
                    limit: limit as u64,
                });
            }
        }
        Ok(Self { nrows, ncols, row_idx, col_idx, values })
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

    /// Sorts the triplets into CSR.
    ///
    /// # Errors
    /// [`FormatError::Duplicate`] if an entry is given twice and `duplicates` refuses that.
    pub fn into_csr(self, duplicates: Duplicates) -> Result<Csr<T>, FormatError> {
        let _ = duplicates;
        todo!()
    }
}
