//! Entries anywhere.

use super::rows::{check_dims, check_per_row, from_rows, value_at};
use super::sampling::distinct;
use crate::rng::SplitMix64;
use girih_formats::{Csr, FormatError, Scalar};

/// `per_row` entries in every row, at uniformly random distinct columns.
///
/// Stands for hashed features, sampled neighbourhoods and Erdős–Rényi graphs: no locality, nothing
/// for a tile or a cache to hold on to. O(nnz · log `per_row`).
///
/// # Errors
/// If a dimension is above [`MAX_DIM`](girih_formats::MAX_DIM) or `per_row` above `ncols`.
///
/// ```
/// let a = girih_generate::uniform::<f32>(1000, 500, 16, 1)?;
/// assert_eq!((a.nrows(), a.ncols(), a.nnz()), (1000, 500, 16_000));
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn uniform<T: Scalar>(
    nrows: usize,
    ncols: usize,
    per_row: usize,
    seed: u64,
) -> Result<Csr<T>, FormatError> {
    check_dims(nrows, ncols)?;
    check_per_row(per_row, ncols)?;
    from_rows(
        nrows,
        ncols,
        |_| per_row,
        |i, cols| distinct(&mut SplitMix64::new(seed, i as u64), ncols as u64, cols),
        |i, j| value_at(seed, i, j),
    )
}
