//! Permuting the rows and columns of a sparse matrix.

use girih_formats::{Csr, Scalar};

use super::Permutation;
use crate::error::ReorderError;

impl Permutation {
    /// The matrix whose row `new(i)` is row `i` of `csr`. O(nrows + nnz), in parallel.
    ///
    /// # Errors
    /// If the permutation is not one of `nrows` indices.
    pub fn apply_rows<T: Scalar>(&self, csr: &Csr<T>) -> Result<Csr<T>, ReorderError> {
        self.check_applies("rows", csr.nrows())?;
        let order = self.order();
        let old = |new: usize| csr.row(order[new] as usize);
        let permuted = Csr::from_rows(
            csr.nrows(),
            csr.ncols(),
            |new| old(new).0.len(),
            |new, cols, values| {
                let (old_cols, old_values) = old(new);
                cols.copy_from_slice(old_cols);
                values.copy_from_slice(old_values);
            },
        )?;
        Ok(permuted)
    }

    /// The matrix whose column `new(j)` is column `j` of `csr`. Rows are sorted again:
    /// O(nrows + nnz · log(longest row)), in parallel.
    ///
    /// # Errors
    /// If the permutation is not one of `ncols` indices.
    pub fn apply_cols<T: Scalar>(&self, csr: &Csr<T>) -> Result<Csr<T>, ReorderError> {
        self.check_applies("columns", csr.ncols())?;
        self.relabel(csr, |row| row)
    }

    /// The matrix whose entry (`new(i)`, `new(j)`) is entry (i, j) of `csr`: P·A·Pᵀ. Cost as
    /// [`apply_cols`](Self::apply_cols).
    ///
    /// # Errors
    /// If the matrix is not square, or the permutation is not one of `nrows` indices.
    ///
    /// ```
    /// use girih_formats::Csr;
    /// use girih_reorder::Permutation;
    ///
    /// let a = Csr::try_new(2, 2, vec![0, 2, 2], vec![0, 1], vec![1.0f32, 2.0])?;
    /// let swapped = Permutation::try_new(vec![1, 0])?.apply_symmetric(&a)?;
    /// assert_eq!(swapped.row(1), (&[0, 1][..], &[2.0, 1.0][..]));
    /// # Ok::<(), girih_reorder::ReorderError>(())
    /// ```
    pub fn apply_symmetric<T: Scalar>(&self, csr: &Csr<T>) -> Result<Csr<T>, ReorderError> {
        let (nrows, ncols) = (csr.nrows(), csr.ncols());
        if nrows != ncols {
            return Err(ReorderError::NotSquare { nrows, ncols });
        }
        self.check_applies("rows and columns", nrows)?;
        let order = self.order();
        self.relabel(csr, |new| order[new] as usize)
    }

    /// Row `old_row(i)` of `csr` becomes row `i`, with new columns.
    fn relabel<T: Scalar>(
        &self,
        csr: &Csr<T>,
        old_row: impl Fn(usize) -> usize + Sync,
    ) -> Result<Csr<T>, ReorderError> {
        let permuted = Csr::from_rows(
            csr.nrows(),
            csr.ncols(),
            |row| csr.row_range(old_row(row)).len(),
            |row, cols, values| {
                let (old_cols, old_values) = csr.row(old_row(row));
                let mut entries: Vec<(u32, T)> = old_cols
                    .iter()
                    .zip(old_values)
                    .map(|(&j, &v)| (self.new_of_old[j as usize], v))
                    .collect();
                entries.sort_unstable_by_key(|&(j, _)| j);
                for ((col, value), (j, v)) in cols.iter_mut().zip(values).zip(entries) {
                    (*col, *value) = (j, v);
                }
            },
        )?;
        Ok(permuted)
    }
}
