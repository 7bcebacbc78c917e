//! The numbers of a product on which its price depends.

use girih_formats::stats::{FormatStats, SharedStats};
use girih_formats::{DType, FormatSpec, RowLayout};

use super::Footprint;
use crate::precision::Precision;

/// What the estimate needs to know of a product besides the counts of a format.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
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
    /// How far products in f32 round their operands.
    pub precision: Precision,
    /// Rows of B that stretches of A touch.
    pub footprint: Footprint,
    /// Rows of C that are not stored right behind the one before.
    pub scattered_rows: usize,
    /// Bytes that other products touch between two of this one: those of a plan's other part.
    pub beside_bytes: f64,
}

impl Workload {
    /// Measures a pattern in an order of rows, for products in the default precision. O(nnz), in parallel;
    /// what is counted is shared.
    #[must_use]
    pub fn of(shared: &SharedStats<'_>, n: usize, dtype: DType) -> Self {
        let pattern = shared.pattern();
        Self {
            nrows: pattern.nrows(),
            ncols: pattern.ncols(),
            nnz: pattern.nnz(),
            n,
            dtype,
            precision: Precision::default(),
            footprint: Footprint::of(shared),
            scattered_rows: scattered_rows(shared.layout()),
            beside_bytes: 0.0,
        }
    }

    /// The real columns that `cols` columns of B consist of: two each where values are complex.
    pub(crate) fn real_cols(&self, cols: usize) -> usize {
        cols * if self.dtype.is_complex() { 2 } else { 1 }
    }

    /// The real values that kernels multiply by each real column of B, in a format of these counts: real and
    /// imaginary parts where values are complex.
    pub(crate) fn real_values(&self, stats: &FormatStats) -> f64 {
        multiplied(self.nnz, stats) as f64 * if self.dtype.is_complex() { 2.0 } else { 1.0 }
    }

    /// The same in another precision.
    #[must_use]
    pub fn in_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }
}

/// Rows that do not follow the one before them in a layout.
fn scattered_rows(layout: &RowLayout) -> usize {
    if layout.is_natural() {
        return 0;
    }
    let rows = || (0..layout.n_slots()).filter_map(|slot| layout.row(slot));
    rows().zip(rows().skip(1)).filter(|(row, next)| *next != row + 1).count()
}

/// Values that kernels multiply: the entries, and the zeros inside tiles. Padded columns are skipped.
pub(crate) fn multiplied(nnz: usize, stats: &FormatStats) -> u64 {
    match stats.spec {
        FormatSpec::Csr | FormatSpec::BMat { .. } => nnz as u64,
        spec => stats.stored - stats.padding_cols * spec.window_rows() as u64,
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::PAD_ROW;

    use super::*;

    #[test]
    fn rows_that_follow_one_another_are_not_scattered() {
        let layout = |slots: &[u32]| RowLayout::explicit(5, 2, slots.to_vec()).unwrap();
        assert_eq!(scattered_rows(&RowLayout::natural(5, 2).unwrap()), 0);
        assert_eq!(scattered_rows(&layout(&[4, 3, 2, 1, 0, PAD_ROW])), 4);
        // An empty slot parts no rows.
        assert_eq!(scattered_rows(&layout(&[0, PAD_ROW, 1, 2, 4, 3])), 2);
    }
}
