//! What WCSR would hold of a pattern.

use crate::error::FormatError;
use crate::stats::measure::{Measure, Sizes, max, ptr_bytes, sum};
use crate::tilings::spec::{check_size, checked_elements};

/// Counts what WCSR would hold, without building it.
pub(crate) fn sizes(measure: &Measure<'_>, pad_cols: usize) -> Result<Sizes, FormatError> {
    check_size("pad_cols", pad_cols)?;
    let counts = measure.counts(1);
    let pad = pad_cols as u64;
    let packed: u128 =
        counts.iter().map(|&count| u128::from(u64::from(count).next_multiple_of(pad))).sum();
    let packed =
        usize::try_from(packed).map_err(|_| FormatError::TooManyElements { found: packed })?;
    let stored = checked_elements(&[packed, measure.layout.window_rows()])?;
    let gathered_cols = sum(&counts);
    Ok(Sizes {
        index_bytes: ptr_bytes(counts.len()) + 4 * packed as u64,
        stored,
        multiplied: stored,
        tiles: packed as u64 / pad,
        max_tiles_per_window: max(&counts).div_ceil(pad),
        gathered_cols,
        padding_cols: packed as u64 - gathered_cols,
        ..Sizes::default()
    })
}
