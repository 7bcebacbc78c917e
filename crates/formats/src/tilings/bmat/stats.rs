//! What BMat would hold of a pattern.

use crate::stats::measure::{Measure, Sizes, max, ptr_bytes, sum};
use crate::tilings::BMat;

/// Counts what BMat would hold, without building it.
pub(crate) fn sizes(measure: &Measure<'_>, pattern_only: bool) -> Sizes {
    const TILE_COLS: usize = BMat::<f32>::TILE_COLS;
    const TILE_WORDS: usize = BMat::<f32>::TILE_WORDS;
    let counts = measure.counts(1);
    let cols = TILE_COLS as u64;
    let tiles: u64 = counts.iter().map(|&count| u64::from(count).div_ceil(cols)).sum();
    let nnz = measure.pattern.nnz();
    let gathered_cols = sum(&counts);
    Sizes {
        index_bytes: ptr_bytes(counts.len())
            + ptr_bytes(tiles as usize)
            + 4 * (TILE_COLS + TILE_WORDS) as u64 * tiles,
        stored: if pattern_only { 0 } else { nnz },
        multiplied: tiles as usize * BMat::<f32>::WINDOW_ROWS * TILE_COLS,
        tiles,
        max_tiles_per_window: max(&counts).div_ceil(cols),
        gathered_cols,
        padding_cols: tiles * cols - gathered_cols,
        ..Sizes::default()
    }
}
