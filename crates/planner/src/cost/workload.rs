//! A product, as far as its price depends on it.

use girih_formats::stats::{FormatStats, SharedStats};
use girih_formats::{CsrPattern, DType, FormatError, FormatSpec};
use rayon::prelude::*;

/// Rows of A whose rows of B the nearest cache keeps.
const NEAR_ROWS: usize = 16;

/// What the estimate needs to know of a product besides the counts of a format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// Rows of A and C (m).
    pub nrows: usize,
    /// Columns of A and rows of B (k).
    pub ncols: usize,
    /// Entries of A.
    pub nnz: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Value type of A and B.
    pub dtype: DType,
    /// Columns of A from the first to the last of a row, both included, averaged over the entries: as
    /// many rows of B are live while rows of A go by.
    pub span: f64,
    /// Rows of B that windows of 16 rows fetch: the nearest cache keeps what so close neighbours
    /// share.
    pub near_rows: u64,
}

impl Workload {
    /// Measures a pattern in an order of rows. O(nnz), in parallel; what is counted is shared.
    ///
    /// # Errors
    /// If the layout cannot be cut into windows of 16 rows.
    pub fn of(shared: &SharedStats<'_>, n: usize, dtype: DType) -> Result<Self, FormatError> {
        let pattern = shared.pattern();
        let near = shared.unions(NEAR_ROWS, 1)?;
        Ok(Self {
            nrows: pattern.nrows(),
            ncols: pattern.ncols(),
            nnz: pattern.nnz(),
            n,
            dtype,
            span: mean_span(pattern),
            near_rows: near.iter().map(|&cols| u64::from(cols)).sum(),
        })
    }
}

/// Columns between the first and the last of a row, both included, averaged over the entries. O(nrows).
fn mean_span(pattern: CsrPattern<'_>) -> f64 {
    // Integers, so that the sum does not depend on how threads group it.
    let sum: u128 = (0..pattern.nrows())
        .into_par_iter()
        .with_min_len(1 << 12)
        .map(|i| match pattern.row(i) {
            [] => 0,
            cols => u128::from(cols[cols.len() - 1] - cols[0] + 1) * cols.len() as u128,
        })
        .sum();
    if sum == 0 { 0.0 } else { sum as f64 / pattern.nnz() as f64 }
}

/// Values that kernels multiply: the entries, and the zeros inside tiles. Padded columns are skipped.
pub(crate) fn multiplied(nnz: usize, stats: &FormatStats) -> u64 {
    match stats.spec {
        FormatSpec::Csr | FormatSpec::BMat { .. } => nnz as u64,
        spec => stats.stored - stats.padding_cols * spec.window_rows() as u64,
    }
}
