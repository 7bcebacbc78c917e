//! What Blocked-ELL would hold of a pattern.

use crate::error::FormatError;
use crate::stats::measure::{Measure, Sizes, max, sum};
use crate::tilings::spec::checked_elements;

/// Counts what Blocked-ELL would hold, without building it.
pub(crate) fn sizes(measure: &Measure<'_>) -> Result<Sizes, FormatError> {
    let block_size = measure.layout.window_rows();
    let counts = measure.counts(block_size);
    let ell_width = max(&counts);
    let slots = checked_elements(&[counts.len(), ell_width as usize])?;
    let stored = checked_elements(&[slots, block_size, block_size])?;
    let nnzb = sum(&counts);
    Ok(Sizes {
        index_bytes: 4 * slots as u64,
        stored,
        multiplied: stored,
        tiles: slots as u64,
        max_tiles_per_window: ell_width,
        gathered_cols: nnzb * block_size as u64,
        padding_cols: (slots as u64 - nnzb) * block_size as u64,
        ell_width,
        ..Sizes::default()
    })
}
