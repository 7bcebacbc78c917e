//! Matrices of graphs, normalized for propagation along edges.

use girih_parallel::prelude::*;

use crate::csr::{Csr, check_shape};
use crate::error::FormatError;
use crate::scalar::Real;

/// The symmetric normalization of an adjacency matrix with self-loops: `D^(-1/2) · (A + I) · D^(-1/2)`,
/// where D holds the row sums of `A + I` (Kipf & Welling, ICLR 2017, eq. 2).
///
/// The result is symmetric, to the last bit, if A is. A node whose sum is zero keeps its entries as zeros. A negative sum has no root, and its entries are NaN.
/// Computed in f64, rounded once. O(n + nnz), in parallel.
///
/// ```
/// use girih_formats::{Csr, normalize};
///
/// let edge = Csr::from_triplets(2, 2, [(0, 1, 1.0f32), (1, 0, 1.0)])?;
/// assert_eq!(normalize::symmetric(&edge)?.values()[..], [0.5; 4]);
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
///
/// # Errors
/// [`FormatError::Shape`] if the matrix is not square.
pub fn symmetric<T: Real>(a: &Csr<T>) -> Result<Csr<T>, FormatError> {
    check_shape(a, a.nrows(), a.nrows())?;
    let mut with_loops = a.add(&Csr::identity(a.nrows())?)?;
    let root = |sum: f64| if sum == 0.0 { 0.0 } else { sum.sqrt().recip() };
    let factors: Vec<f64> = sums(&with_loops).into_par_iter().map(root).collect();
    with_loops.update_rows(|i, cols, values| {
        for (value, &j) in values.iter_mut().zip(cols) {
            *value = T::from_f64(value.to_f64() * (factors[i] * factors[j as usize]));
        }
    });
    Ok(with_loops)
}

/// The matrix with every row divided by its sum, so that rows of nonnegative values become
/// distributions: `D^(-1) · A`.
///
/// A row without entries stays empty, and one whose sum is zero stays as it is.
/// Computed in f64, rounded once. O(nrows + nnz), in parallel.
///
/// ```
/// use girih_formats::{Csr, normalize};
///
/// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0f32), (0, 1, 3.0)])?;
/// assert_eq!(normalize::row_stochastic(&a).row(0).1, [0.25, 0.75]);
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
#[must_use]
pub fn row_stochastic<T: Real>(a: &Csr<T>) -> Csr<T> {
    let sums = sums(a);
    let mut scaled = a.clone();
    scaled.update_rows(|i, _, values| {
        if sums[i] != 0.0 {
            values.iter_mut().for_each(|value| *value = T::from_f64(value.to_f64() / sums[i]));
        }
    });
    scaled
}

/// The sum of each row, in f64.
fn sums<T: Real>(a: &Csr<T>) -> Vec<f64> {
    let rows = (0..a.nrows()).into_par_iter().with_min_len(256);
    rows.map(|i| a.row(i).1.iter().map(|value| value.to_f64()).sum()).collect()
}
