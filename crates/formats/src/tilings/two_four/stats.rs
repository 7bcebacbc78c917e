//! What 2:4 would hold of a pattern.

use super::convert::check_two_four;
use crate::error::FormatError;
use crate::stats::measure::{Measure, Sizes};
use crate::tilings::TwoFour;
use crate::tilings::spec::{ScalesPer, checked_elements};

/// Counts what 2:4 would hold, without building it.
pub(crate) fn sizes(measure: &Measure<'_>) -> Result<Sizes, FormatError> {
    check_two_four(measure.pattern)?;
    let (slots, ncols) = (measure.layout.n_slots(), measure.pattern.ncols());
    let groups = TwoFour::<f32>::groups_of(ncols);
    let words = checked_elements(&[slots, TwoFour::<f32>::words_of(ncols)])?;
    let stored = checked_elements(&[slots, groups, 2])?;
    Ok(Sizes {
        index_bytes: 2 * words as u64,
        stored,
        multiplied: stored,
        tiles: (slots * groups) as u64,
        max_tiles_per_window: if slots == 0 { 0 } else { groups as u64 },
        gathered_cols: stored as u64,
        ..Sizes::default()
    })
}

/// [`sizes`] with values in e4m3: scales count as indices.
pub(crate) fn sizes_e4m3(measure: &Measure<'_>, scales: ScalesPer) -> Result<Sizes, FormatError> {
    let mut sizes = sizes(measure)?;
    sizes.index_bytes += 4 * scales.count(measure.layout.n_slots()) as u64;
    Ok(sizes)
}
