//! What packed windows beside windows of rows would hold of a pattern.

use super::is_packed;
use crate::error::FormatError;
use crate::stats::measure::{Measure, Sizes, ptr_bytes};
use crate::tilings::shared::windows::window_entries;
use crate::tilings::spec::{check_size, checked_elements};

/// Counts what the format would hold, without building it.
pub(crate) fn sizes(
    measure: &Measure<'_>,
    (pad_cols, tile_entries): (usize, usize),
) -> Result<Sizes, FormatError> {
    check_size("pad_cols", pad_cols)?;
    check_size("tile_entries", tile_entries)?;
    let Measure { pattern, layout, .. } = *measure;
    let counts = measure.counts(1);
    let mut sizes = Sizes::default();
    // Packed columns, padding included.
    let mut packed = 0u128;
    for (w, &columns) in counts.iter().enumerate() {
        let columns = columns as usize;
        let entries = window_entries(layout, pattern.row_ptr(), w);
        let tiles = if is_packed(entries, columns, (pad_cols, tile_entries)) {
            let tiles = columns.div_ceil(pad_cols);
            packed += tiles as u128 * pad_cols as u128;
            sizes.gathered_cols += columns as u64;
            tiles
        } else {
            sizes.row_windows += 1;
            sizes.row_entries += entries as u64;
            entries.div_ceil(tile_entries)
        } as u64;
        sizes.tiles += tiles;
        sizes.max_tiles_per_window = sizes.max_tiles_per_window.max(tiles);
    }
    let packed =
        usize::try_from(packed).map_err(|_| FormatError::TooManyElements { found: packed })?;
    let dense = checked_elements(&[packed, layout.window_rows()])?;
    sizes.stored = checked_elements(&[dense.saturating_add(sizes.row_entries as usize)])?;
    sizes.multiplied = sizes.stored;
    sizes.padding_cols = packed as u64 - sizes.gathered_cols;
    sizes.gathered_cols += sizes.row_entries;
    sizes.index_bytes = ptr_bytes(counts.len())
        + 4 * packed as u64
        + ptr_bytes(layout.n_slots())
        + 4 * sizes.row_entries;
    Ok(sizes)
}
