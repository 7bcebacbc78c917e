//! What the families share: entries from patterns and values from positions.

use girih_parallel::prelude::*;

use crate::rng::SplitMix64;
use girih_formats::{Complex, Csr, FormatError, MAX_DIM, Scalar};

/// Keeps the values' stream apart from the ones that draw the pattern.
const VALUES: u64 = 0x76_616c_7565;

/// A matrix given row by row.
///
/// `len(i)` says how many columns row `i` has; `fill(i, columns)` writes them, increasing; both run
/// in parallel. `value(i, j)` gives the entry at (i, j).
pub(super) fn from_rows<T: Scalar>(
    nrows: usize,
    ncols: usize,
    len: impl Fn(usize) -> usize + Sync,
    fill: impl Fn(usize, &mut [u32]) + Sync,
    value: impl Fn(usize, usize) -> T + Sync,
) -> Result<Csr<T>, FormatError> {
    Csr::from_rows(nrows, ncols, len, |i, cols, values| {
        fill(i, cols);
        for (v, &j) in values.iter_mut().zip(&*cols) {
            *v = value(i, j as usize);
        }
    })
}

/// A matrix whose entries are given as sorted, distinct `row << 32 | column` keys.
pub(super) fn from_keys<T: Scalar>(
    nrows: usize,
    ncols: usize,
    keys: &[u64],
    value: impl Fn(usize, usize) -> T + Sync,
) -> Result<Csr<T>, FormatError> {
    check_dims(nrows, ncols)?;
    let start = |row: usize| keys.partition_point(|&key| ((key >> 32) as usize) < row);
    let row_ptr: Vec<u64> =
        (0..nrows + 1).into_par_iter().with_min_len(256).map(|i| start(i) as u64).collect();
    let parts = keys.par_iter().with_min_len(1 << 12);
    let (mut col_idx, mut values) = (vec![0; keys.len()], vec![T::ZERO; keys.len()]);
    parts.clone().map(|&key| key as u32).write_to(&mut col_idx);
    let value = |&key: &u64| value((key >> 32) as usize, key as u32 as usize);
    parts.map(value).write_to(&mut values);
    Csr::try_new(nrows, ncols, row_ptr, col_idx, values)
}

/// The random value at (i, j): each of its parts nearly standard normal, never zero.
#[inline]
pub(super) fn value_at<T: Scalar>(seed: u64, i: usize, j: usize) -> T {
    let mut rng = SplitMix64::new(seed ^ VALUES, (i as u64) << 32 | j as u64);
    let re = rng.normal();
    T::from_c64(Complex::new(re, if T::DTYPE.is_complex() { rng.normal() } else { 0.0 }))
}

/// Refuses dimensions that no matrix has.
pub(super) fn check_dims(nrows: usize, ncols: usize) -> Result<(), FormatError> {
    for (what, found) in [("nrows", nrows), ("ncols", ncols)] {
        if found > MAX_DIM {
            return Err(FormatError::TooLarge { what, found: found as u64 });
        }
    }
    Ok(())
}

/// Refuses a fraction outside 0..=1, NaN included.
pub(super) fn check_fraction(what: &'static str, found: f64) -> Result<(), FormatError> {
    if (0.0..=1.0).contains(&found) {
        Ok(())
    } else {
        Err(FormatError::Fraction { what, found: found.to_string() })
    }
}

/// Refuses more entries in a row than the row has columns.
pub(super) fn check_per_row(per_row: usize, ncols: usize) -> Result<(), FormatError> {
    if per_row <= ncols {
        Ok(())
    } else {
        Err(FormatError::Parameter {
            what: "per_row",
            found: per_row,
            expected: "a row holds at most ncols entries",
        })
    }
}
