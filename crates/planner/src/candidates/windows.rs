//! The windows a format would have, from counts.

use girih_formats::stats::{FormatStats, SharedStats};
use girih_formats::tilings::TileShape;
use girih_formats::{CsrPattern, FormatError, FormatKind, FormatSpec, RowLayout};

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
        (FormatKind::Hybrid, _) => {
            let windows = HybridWindows::of(shared, spec)?;
            Ok(CountedWindows::Counted(TilePtr::of_counts(windows.tiles())))
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

/// The windows of a hybrid: which are packed, and what they hold.
pub(crate) struct HybridWindows<'a> {
    pattern: CsrPattern<'a>,
    layout: RowLayout,
    spec: FormatSpec,
    pad_cols: usize,
    tile_entries: usize,
    /// Of each window, columns of its union and entries.
    windows: Vec<(usize, usize)>,
}

impl<'a> HybridWindows<'a> {
    /// Counted, not built: O(rows), beside the unions.
    ///
    /// # Errors
    /// If the row layout cannot be cut into windows of the format's height.
    pub(crate) fn of(shared: &SharedStats<'a>, spec: FormatSpec) -> Result<Self, FormatError> {
        let (pad_cols, tile_entries) = match spec {
            FormatSpec::Hybrid { pad_cols, tile_entries, .. } => (pad_cols, tile_entries),
            _ => (spec.tile().cols, usize::MAX),
        };
        let layout = shared.layout().with_window_rows(spec.window_rows())?;
        let (counts, pattern) = (shared.unions(spec.window_rows(), 1)?, shared.pattern());
        let entries = |w| {
            if layout.is_natural() {
                let slots = layout.window(w);
                let at = |slot: usize| pattern.row_ptr()[slot.min(layout.nrows())];
                return (at(slots.end) - at(slots.start)) as usize;
            }
            let rows = layout.rows(w).flatten();
            rows.map(|row| pattern.row(row).len()).sum::<usize>()
        };
        let windows = counts.iter().enumerate().map(|(w, &columns)| (columns as usize, entries(w)));
        let windows = windows.collect();
        Ok(Self { pattern, layout, spec, pad_cols, tile_entries, windows })
    }

    fn is_packed(&self, (columns, entries): (usize, usize)) -> bool {
        self.spec.packs(entries, columns)
    }

    /// Tiles of every window.
    pub(crate) fn tiles(&self) -> impl Iterator<Item = u64> + '_ {
        self.windows.iter().map(|&window| match self.is_packed(window) {
            true => window.0.div_ceil(self.pad_cols) as u64,
            false => window.1.div_ceil(self.tile_entries) as u64,
        })
    }

    /// Tiles of the packed windows alone.
    pub(crate) fn packed(&self) -> TilePtr {
        let packed = self.windows.iter().filter(|&&window| self.is_packed(window));
        TilePtr::of_counts(packed.map(|&(columns, _)| columns.div_ceil(self.pad_cols) as u64))
    }

    /// Entries of each row of the other windows.
    pub(crate) fn rows(&self) -> TilePtr {
        let others = (0..self.windows.len()).filter(|&w| !self.is_packed(self.windows[w]));
        let rows = others.flat_map(|w| self.layout.rows(w).flatten());
        TilePtr::of_counts(rows.map(|row| self.pattern.row(row).len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::{AnyTiling, DType, Tiling};
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
                FormatSpec::Hybrid { window_rows: 8, pad_cols: 8, tile_entries: 17 },
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
