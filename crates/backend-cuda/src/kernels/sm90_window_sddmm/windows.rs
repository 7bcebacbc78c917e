//! A pattern in windows of packed columns, with the place of every entry in CSR.

use girih_formats::{CsrPattern, RowLayout};
use girih_parallel::prelude::*;

use super::params::{TILE_COLS, Task, Tile, WINDOW_ROWS};

/// Tiles of a task, at most: a window's rows of X are loaded once for each, so they are a small part of what is read.
const MOST_TILES: usize = 64;

/// The tiles of all windows, and the tasks that they are dealt into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Windows {
    /// Window by window, each in the order of its columns.
    pub(super) tiles: Vec<Tile>,
    /// Of windows that have entries.
    pub(super) tasks: Vec<Task>,
}

impl Windows {
    /// Packs the columns of windows of [`WINDOW_ROWS`] slots: O(nnz · log), in parallel over windows.
    pub(super) fn of(pattern: CsrPattern<'_>, layout: &RowLayout) -> Self {
        debug_assert_eq!(layout.window_rows(), WINDOW_ROWS, "windows have 16 rows");
        let of_windows: Vec<Vec<Tile>> =
            (0..layout.n_windows()).into_par_iter().map(|w| tiles(pattern, layout, w)).collect();
        let mut this = Self::default();
        for (window, tiles) in of_windows.into_iter().enumerate() {
            // Parts of a window are even.
            let n_tasks = tiles.len().div_ceil(MOST_TILES);
            let first = this.tiles.len() as u64;
            for part in 0..n_tasks {
                let [begin, end] = [part, part + 1].map(|part| tiles.len() * part / n_tasks);
                let (first_tile, n_tiles) = (first + begin as u64, (end - begin) as u32);
                this.tasks.push(Task { first_tile, n_tiles, window: window as u32 });
            }
            this.tiles.extend(tiles);
        }
        this
    }
}

/// The tiles of a window.
fn tiles(pattern: CsrPattern<'_>, layout: &RowLayout, window: usize) -> Vec<Tile> {
    // A column, and a slot of the window that has an entry there.
    let mut entries: Vec<(u32, u8)> = Vec::new();
    for (slot, row) in layout.rows(window).enumerate() {
        let cols = row.map_or(&[][..], |row| pattern.row(row));
        entries.extend(cols.iter().map(|&col| (col, slot as u8)));
    }
    entries.sort_unstable();
    let mut tiles = Vec::new();
    let mut counts = [0u32; WINDOW_ROWS];
    let mut rest = &entries[..];
    while !rest.is_empty() {
        let mut tile = Tile { before: counts, ..Tile::default() };
        for at in 0..TILE_COLS {
            let Some(&(col, _)) = rest.first() else {
                tile.col[at] = tile.col[at - 1];
                continue;
            };
            tile.col[at] = col;
            let (of_col, others) = rest.split_at(rest.partition_point(|&(other, _)| other == col));
            for &(_, slot) in of_col {
                tile.mask[slot as usize] |= 1 << at;
                counts[slot as usize] += 1;
            }
            rest = others;
        }
        tiles.push(tile);
    }
    tiles
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use girih_formats::{Csr, PAD_ROW};
    use girih_testkit::matrices;

    use super::*;

    /// The entry of each row and column, read back as the kernel finds it.
    fn entries(a: &Csr<f64>, layout: &RowLayout, windows: &Windows) -> BTreeMap<u64, (usize, u32)> {
        let mut found = BTreeMap::new();
        for task in &windows.tasks {
            let tiles = &windows.tiles[task.first_tile as usize..][..task.n_tiles as usize];
            for tile in tiles {
                for (slot, row) in layout.rows(task.window as usize).enumerate() {
                    for at in (0..TILE_COLS).filter(|at| tile.mask[slot] >> at & 1 == 1) {
                        let row = row.unwrap();
                        let before = u64::from((tile.mask[slot] & ((1 << at) - 1)).count_ones());
                        let entry = a.row_ptr()[row] + u64::from(tile.before[slot]) + before;
                        assert_eq!(found.insert(entry, (row, tile.col[at])), None);
                    }
                }
            }
        }
        found
    }

    fn every_entry_has_its_place(a: &Csr<f64>, layout: &RowLayout) -> Windows {
        let windows = Windows::of(a.pattern(), layout);
        let found = entries(a, layout, &windows);
        let expected: Vec<(usize, u32)> = (0..a.nrows())
            .flat_map(|i| a.pattern().row(i).iter().map(move |&col| (i, col)))
            .collect();
        assert!(found.keys().copied().eq(0..a.nnz() as u64));
        assert!(found.into_values().eq(expected));
        windows
    }

    #[test]
    fn every_entry_is_found_at_its_place_in_csr() {
        let a = matrices::where_(43, 90, |i, j| i % 7 != 3 && (i * 3 + j) % (4 + i % 5) == 1);
        let a = a.unwrap();
        let natural = RowLayout::natural(43, WINDOW_ROWS).unwrap();
        every_entry_has_its_place(&a, &natural);
        let slots: Vec<u32> = std::iter::repeat_n(PAD_ROW, 5).chain((0..43).rev()).collect();
        let reversed = RowLayout::explicit(43, WINDOW_ROWS, slots).unwrap();
        every_entry_has_its_place(&a, &reversed);
    }

    #[test]
    fn columns_are_packed_and_long_windows_cut_into_even_tasks() {
        // A row of 1030 entries, an empty window, and two rows that share a column.
        let a = matrices::where_(50, 1100, |i, j| match i {
            3 => j < 1030,
            40 => j == 7 || j == 900,
            49 => j == 900,
            _ => false,
        });
        let a = a.unwrap();
        let natural = RowLayout::natural(50, WINDOW_ROWS).unwrap();
        let windows = every_entry_has_its_place(&a, &natural);
        let tasks: Vec<_> = windows.tasks.iter().map(|t| (t.window, t.n_tiles)).collect();
        assert_eq!(tasks, [(0, 43), (0, 43), (0, 43), (2, 1), (3, 1)]);
        let last = &windows.tiles[windows.tiles.len() - 2];
        assert_eq!((last.col, last.mask[8]), ([7, 900, 900, 900, 900, 900, 900, 900], 3));
        let none = matrices::where_(20, 20, |_, _| false).unwrap();
        let natural = RowLayout::natural(20, WINDOW_ROWS).unwrap();
        assert_eq!(Windows::of(none.pattern(), &natural), Windows::default());
    }
}
