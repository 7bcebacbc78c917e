//! Rows of slots, and pieces of arrays.

use std::ops::Range;

use girih_formats::{PAD_ROW, RowCsr, Scalar};

/// The row of C that a slot goes to. Only for rows that 32 bits can number.
pub(crate) fn row_of<T: Scalar>(a: &RowCsr<T>, slot: usize) -> u32 {
    a.layout().row(slot).map_or(PAD_ROW, |row| row as u32)
}

/// Cuts an array into the given ranges, which ascend without overlap.
pub(super) fn to_parts<T>(
    mut all: &mut [T],
    ranges: impl Iterator<Item = Range<usize>>,
) -> Vec<&mut [T]> {
    let mut begin = 0;
    ranges
        .map(|range| {
            let (_, rest) = std::mem::take(&mut all).split_at_mut(range.start.max(begin) - begin);
            let (part, rest) = rest.split_at_mut(range.len());
            (all, begin) = (rest, range.end.max(begin));
            part
        })
        .collect()
}
