//! A product, as far as its price depends on it.

use girih_formats::stats::{FormatStats, SharedStats};
use girih_formats::{DType, FormatError, FormatSpec};

use super::Footprint;

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
    /// Rows of B that stretches of A touch.
    pub footprint: Footprint,
}

impl Workload {
    /// Measures a pattern in an order of rows. O(nnz), in parallel; what is counted is shared.
    ///
    /// # Errors
    /// If the layout cannot be cut into windows of 16 rows.
    pub fn of(shared: &SharedStats<'_>, n: usize, dtype: DType) -> Result<Self, FormatError> {
        let pattern = shared.pattern();
        Ok(Self {
            nrows: pattern.nrows(),
            ncols: pattern.ncols(),
            nnz: pattern.nnz(),
            n,
            dtype,
            footprint: Footprint::of(shared)?,
        })
    }
}

/// Values that kernels multiply: the entries, and the zeros inside tiles. Padded columns are skipped.
pub(crate) fn multiplied(nnz: usize, stats: &FormatStats) -> u64 {
    match stats.spec {
        FormatSpec::Csr | FormatSpec::BMat { .. } => nnz as u64,
        spec => stats.stored - stats.padding_cols * spec.window_rows() as u64,
    }
}
