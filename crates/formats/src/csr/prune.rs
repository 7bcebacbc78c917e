//! Dropping entries: explicit zeros, and all but the two largest of four.

use std::cmp::Ordering;

use girih_parallel::prelude::*;

use super::Csr;
use super::rows::fill_rows;
use crate::scalar::{Real, Scalar};
use crate::tilings::shared::windows::accumulate;

impl<T: Scalar> Csr<T> {
    /// The matrix without its explicit zeros, of either sign. NaN stays.
    ///
    /// O(nrows + nnz), in parallel. A matrix without explicit zeros is returned shared.
    #[must_use]
    pub fn prune_zeros(&self) -> Self {
        if !self.values.par_iter().with_min_len(1 << 14).any(|v| v.is_zero()) {
            return self.clone();
        }
        self.retain(|_, values, i| !values[i].is_zero())
    }

    /// The entries `i` of each row for which `keep(cols, values, i)`.
    fn retain(&self, keep: impl Fn(&[u32], &[T], usize) -> bool + Sync) -> Self {
        let mut row_ptr = vec![0u64; self.nrows + 1];
        row_ptr[1..].par_iter_mut().with_min_len(64).enumerate().for_each(|(i, count)| {
            let (cols, values) = self.row(i);
            *count = (0..cols.len()).filter(|&i| keep(cols, values, i)).count() as u64;
        });
        accumulate(&mut row_ptr);
        let (col_idx, values) = fill_rows(&row_ptr, |i, to_cols, to_values| {
            let (cols, values) = self.row(i);
            let kept = (0..cols.len()).filter(|&i| keep(cols, values, i));
            for ((i, col), value) in kept.zip(to_cols).zip(to_values) {
                (*col, *value) = (cols[i], values[i]);
            }
        });
        Self::from_parts(self.nrows, self.ncols, row_ptr, col_idx, values)
    }
}

impl<T: Real> Csr<T> {
    /// The matrix pruned to 2:4 by magnitude: of every group of four columns (0–3, 4–7, …), each
    /// row keeps the two entries of largest absolute value.
    ///
    /// Of equal ones the lower columns stay, and NaN counts as larger than everything. Groups that
    /// hold no more than two entries stay as they are, explicit zeros included. O(nrows + nnz), in
    /// parallel.
    ///
    /// ```
    /// use girih_formats::Csr;
    ///
    /// let a = Csr::try_new(1, 5, vec![0, 5], vec![0, 1, 2, 3, 4], vec![1.0f32, -3.0, 2.0, -2.0, 0.5])?;
    /// assert_eq!(a.prune_two_four().row(0), (&[1, 2, 4][..], &[-3.0, 2.0, 0.5][..]));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[must_use]
    pub fn prune_two_four(&self) -> Self {
        self.retain(|cols, values, i| {
            let same_group = |&j: &usize| cols[j] / 4 == cols[i] / 4;
            let before = (0..i).rev().take_while(same_group);
            let after = (i + 1..cols.len()).take_while(same_group);
            let magnitude = |j: usize| values[j].to_f64().abs();
            // `total_cmp` puts NaN, its sign removed, above infinity.
            let against = |j: usize| magnitude(j).total_cmp(&magnitude(i));
            let stronger = before.filter(|&j| against(j) != Ordering::Less).count()
                + after.filter(|&j| against(j) == Ordering::Greater).count();
            stronger < 2
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pruned(values: Vec<f32>) -> Vec<u32> {
        let n = values.len() as u32;
        let a = Csr::try_new(1, 8, vec![0, n.into()], (0..n).collect::<Vec<_>>(), values).unwrap();
        a.prune_two_four().col_idx().to_vec()
    }

    #[test]
    fn two_of_four_stay_ties_to_the_lower_column_nan_first() {
        assert_eq!(pruned(vec![1.0, 4.0, -3.0, 2.0]), [1, 2]);
        assert_eq!(pruned(vec![1.0, -1.0, 1.0, -1.0]), [0, 1]);
        assert_eq!(pruned(vec![f32::INFINITY, 7.0, f32::NAN, -f32::NAN]), [2, 3]);
        assert_eq!(pruned(vec![-0.0, 0.0, 0.0, 1.0]), [0, 3]);
        assert_eq!(pruned(vec![3.0, 2.0, 1.0, 0.0, 0.0, 5.0, 1.0]), [0, 1, 5, 6]);
        assert_eq!(pruned(vec![0.0, 0.0]), [0, 1]);
    }

    #[test]
    fn explicit_zeros_of_either_sign_go_and_nan_stays() {
        let values = vec![0.0f32, f32::NAN, -0.0, 1.0];
        let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], values).unwrap();
        let b = a.prune_zeros();
        assert_eq!((&b.row_ptr()[..], &b.col_idx()[..]), (&[0, 1, 2][..], &[1, 1][..]));
        assert_eq!(b.prune_zeros().col_idx().as_ptr(), b.col_idx().as_ptr());
    }
}
