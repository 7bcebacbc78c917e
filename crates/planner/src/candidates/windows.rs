//! The windows a format would have, from counts.

use girih_formats::stats::{FormatStats, SharedStats};
use girih_formats::tilings::TileShape;
use girih_formats::{FormatError, FormatKind};

use crate::schedule::{TilePtr, Windows};

/// Tiles of every window of a format that was not built.
pub(crate) enum CountedWindows<'a> {
    /// Rows of a CSR matrix in their own order: the matrix's offsets, borrowed.
    Rows(&'a [u64]),
    /// Offsets that were counted: O(windows) memory.
    Counted(TilePtr),
    /// The same number of tiles in every window: no memory.
    Even {
        /// Number of windows.
        windows: usize,
        /// Tiles of each.
        tiles: u64,
    },
}

impl Windows for CountedWindows<'_> {
    fn n_windows(&self) -> usize {
        match self {
            Self::Rows(row_ptr) => row_ptr.n_windows(),
            Self::Counted(tile_ptr) => tile_ptr.n_windows(),
            Self::Even { windows, .. } => *windows,
        }
    }

    fn tile_ptr(&self, w: usize) -> u64 {
        match self {
            Self::Rows(row_ptr) => row_ptr.tile_ptr(w),
            Self::Counted(tile_ptr) => tile_ptr.tile_ptr(w),
            Self::Even { tiles, .. } => (w as u64).saturating_mul(*tiles),
        }
    }
}

/// The windows that a format would have, with the tiles of each: O(windows), nothing is built.
///
/// # Errors
/// If the row layout cannot be cut into windows of the format's height.
pub(crate) fn counted_windows<'a>(
    shared: &SharedStats<'a>,
    stats: &FormatStats,
) -> Result<CountedWindows<'a>, FormatError> {
    let spec = stats.spec;
    let pattern = shared.pattern();
    let rows = spec.window_rows();
    let windows = usize::try_from(stats.windows).unwrap_or(usize::MAX);
    match (spec.kind(), spec.tile()) {
        (FormatKind::Csr, _) if shared.layout().is_natural() => {
            Ok(CountedWindows::Rows(pattern.row_ptr()))
        }
        (FormatKind::Csr, _) => {
            let layout = shared.layout().with_window_rows(1)?;
            let length = |slot| layout.row(slot).map_or(0, |row| pattern.row(row).len() as u64);
            Ok(CountedWindows::Counted(TilePtr::of_counts((0..layout.n_slots()).map(length))))
        }
        // Every window has as many tiles as the fullest needs, or as there are groups of columns.
        (FormatKind::BlockedEll | FormatKind::TwoFour, _)
        | (_, TileShape { union_width: None, .. }) => {
            let tiles = stats.tiles.checked_div(stats.windows).unwrap_or(0);
            Ok(CountedWindows::Even { windows, tiles })
        }
        (_, TileShape { cols, union_width: Some(width), .. }) => {
            let counts = shared.unions(rows, width as u32)?;
            let tiles =
                counts.iter().map(|&count| u64::from(count).div_ceil((cols / width) as u64));
            Ok(CountedWindows::Counted(TilePtr::of_counts(tiles)))
        }
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::{AnyTiling, DType, FormatSpec, RowLayout, Tiling};
    use girih_generate::two_four;

    use super::*;

    #[test]
    fn counted_windows_are_those_that_are_built() {
        let a = two_four::<f32>(37, 43, 1).unwrap();
        let reversed: Vec<u32> = (0..37).rev().collect();
        let orders =
            [RowLayout::natural(37, 1).unwrap(), RowLayout::explicit(37, 1, reversed).unwrap()];
        for rows in &orders {
            let shared = SharedStats::new(a.pattern(), rows);
            for spec in [
                FormatSpec::Csr,
                FormatSpec::Bcsr { block_rows: 4, block_cols: 8 },
                FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 },
                FormatSpec::BMat { pattern_only: false },
                FormatSpec::BlockedEll { block_size: 16 },
                FormatSpec::TwoFour,
            ] {
                let stats = shared.format(spec, DType::F32).unwrap();
                let counted = counted_windows(&shared, &stats).unwrap();
                let layout = rows.with_window_rows(spec.window_rows()).unwrap();
                let built = AnyTiling::from(Tiling::from_csr(&a, spec, layout).unwrap());
                assert_eq!(counted.n_windows(), built.n_windows(), "{spec}");
                for w in 0..=counted.n_windows() {
                    assert_eq!(Windows::tile_ptr(&counted, w), built.tile_ptr(w), "{spec}, {w}");
                }
            }
        }
    }
}
