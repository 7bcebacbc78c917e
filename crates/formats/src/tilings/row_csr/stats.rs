//! What CSR would hold of a pattern.

use crate::stats::measure::{Measure, Sizes, ptr_bytes};

/// Counts what CSR would hold, without building it.
pub(crate) fn sizes(measure: &Measure<'_>) -> Sizes {
    let nnz = measure.pattern.nnz();
    let longest = measure.pattern.row_ptr().windows(2).map(|p| p[1] - p[0]).max();
    Sizes {
        index_bytes: ptr_bytes(measure.layout.n_slots()) + 4 * nnz as u64,
        stored: nnz,
        multiplied: nnz,
        tiles: nnz as u64,
        max_tiles_per_window: longest.unwrap_or(0),
        gathered_cols: nnz as u64,
        ..Sizes::default()
    }
}
