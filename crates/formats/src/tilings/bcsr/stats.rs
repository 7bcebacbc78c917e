//! What BCSR would hold of a pattern.

use crate::error::FormatError;
use crate::stats::measure::{Measure, Sizes, max, ptr_bytes, sum};
use crate::tilings::spec::{check_size, checked_elements};

/// Counts what BCSR would hold, without building it.
pub(crate) fn sizes(measure: &Measure<'_>, block_cols: usize) -> Result<Sizes, FormatError> {
    check_size("block_cols", block_cols)?;
    let counts = measure.counts(block_cols);
    let nnzb = sum(&counts);
    let stored = checked_elements(&[nnzb as usize, measure.layout.window_rows(), block_cols])?;
    Ok(Sizes {
        index_bytes: ptr_bytes(counts.len()) + 4 * nnzb,
        stored,
        multiplied: stored,
        tiles: nnzb,
        max_tiles_per_window: max(&counts),
        gathered_cols: nnzb * block_cols as u64,
        ..Sizes::default()
    })
}
