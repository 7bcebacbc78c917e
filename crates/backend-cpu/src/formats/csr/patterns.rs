//! CSR for wide products: neighbouring rows in tiles that load the rows of B they share once.

use std::ops::Range;

use girih_formats::{Buffer, PAD_ROW, RowCsr, Scalar};
use rayon::prelude::*;

use super::fill::{Fill, Slab};
use super::join::{joined, parts};
use super::sharing::Sharing;
use super::tiles::tiles;
use super::to_parts;
use crate::formats::Panel;
use crate::isa::KernelScalar;
use crate::kernels::ahead::AHEAD;
use crate::kernels::patterns::{PatternBlock, TILE_ROWS};
use crate::packing::lanes;
use crate::room::Room;

/// Loads of rows of B that a tile has to spare on average to make up for walking its patterns.
const WORTH: usize = 24;

/// The same for one or two groups of [`LINES`] lines: a pattern's way takes as long as fewer loads do there.
const WORTH_OF_GROUPS: usize = 6;

/// The same for more of them, of which rows alone would read their rows of B whole, while a thousand rows of tiles go
/// through one group before the next. A stencil's tiles of 20 entries spare six.
const WORTH_WIDE: usize = 8;

/// Lines of columns that patterns are multiplied by together.
const LINES: usize = 4;

/// Rows that go through a group of columns together, and through a slab after the other: a core's own caches hold
/// what they sum up to.
const ROWS: usize = 1024;

/// Parts of all tiles that each of several threads has at the least.
const EACH: usize = 16;

/// The same where there are slabs, which more tiles should go through together.
const EACH_IN_SLABS: usize = 4;

/// A copy of a matrix in tiles of up to four rows, columns grouped by which of the rows hold them; all of them, or
/// those of a slab of columns after the other.
#[derive(Debug)]
pub(crate) struct Patterns<T: Scalar> {
    /// Whether the rows of B that columns meet are asked for ahead.
    ahead: bool,
    /// If there are several.
    slabs: Option<Slabs>,
    /// The slabs of each task: one or several.
    tasks: Vec<Vec<Slab>>,
    /// A task's columns begin where its entries begin in the matrix, and are fewer.
    col_idx: Buffer<u32>,
    /// Widened, so that one kernel multiplies them all.
    values: Buffer<T::Acc>,
}

impl<T: KernelScalar> Patterns<T> {
    /// Lays out the rows of tasks, each a range of slots: O(nnz) in parallel, and a copy of the
    /// matrix with one column index for all rows of a tile that hold it.
    ///
    /// `None` where it does not pay for `n` columns, since neighbouring rows share too few of theirs, or where
    /// there is no memory for it. Slabs where they [pay](Sharing::slab_cols) and are `wanted`. Tasks that are
    /// neighbours are [joined] where `threads` have enough of them and rows of B need not be read whole at a time;
    /// tiles and slabs are the same on any number of threads and any processor.
    pub(crate) fn new(
        a: &RowCsr<T>,
        tasks: &[Range<usize>],
        n: usize,
        threads: usize,
        wanted: bool,
        caches: Room,
    ) -> Option<Self> {
        let (csr, lines) = (a.csr(), n / lanes::<T>());
        let worth = worth(lines);
        // Even rows that are all alike spare no more than three quarters of their loads.
        let hopeless = csr.nnz() * TILE_ROWS < csr.nrows() * worth;
        if a.layout().nrows() >= PAD_ROW as usize || hopeless {
            return None;
        }
        let sharing = Sharing::of(csr, tasks);
        if !sharing.spares(worth) {
            return None;
        }
        let slab_cols =
            sharing.slab_cols(csr.nrows(), csr.ncols()).filter(|_| wanted && lines >= LINES);
        let (each, rows) = match slab_cols {
            Some(_) => (EACH_IN_SLABS, ROWS),
            None => (EACH, if caches.follows_rows { 0 } else { ROWS }),
        };
        let joined = joined(csr.row_ptr(), tasks, rows, parts(threads, each));
        let entries = |slots: &Range<usize>| {
            csr.row_ptr()[slots.start] as usize..csr.row_ptr()[slots.end] as usize
        };
        let mut col_idx = Buffer::zeroed(csr.nnz() + AHEAD).ok()?;
        let mut values = Buffer::zeroed(csr.nnz()).ok()?;
        let cols = to_parts(col_idx.make_mut(), joined.iter().map(entries));
        let vals = to_parts(values.make_mut(), joined.iter().map(entries));
        let to_fill: Vec<_> = joined.iter().enumerate().zip(cols.into_iter().zip(vals)).collect();
        let tasks: Vec<Vec<Slab>> = to_fill
            .into_par_iter()
            .map(|((i, slots), (cols, values))| {
                let fill = Fill::new(cols, values, entries(slots).start);
                // Nothing is left of a task that was joined to the one before.
                let own = tasks[i..].iter().filter(|_| !slots.is_empty());
                let own = own.take_while(|own| own.start < slots.end);
                let tiles = own.flat_map(|own| tiles(csr, own.clone()));
                fill.slabs(a, &tiles.collect::<Vec<_>>(), slab_cols.unwrap_or(usize::MAX))
            })
            .collect();
        let cols = tasks.iter().flatten().map(|slab| slab.cols.len()).sum::<usize>();
        let slabs = slab_cols.map(|of_slab| Slabs { cols: of_slab, loads: cols / csr.ncols() });
        Some(Self { ahead: false, slabs, tasks, col_idx, values })
    }

    /// The same, asking for rows of B ahead or not.
    pub(crate) fn asking(self, ahead: bool) -> Self {
        Self { ahead, ..self }
    }

    /// Its slabs, if there are several.
    pub(crate) fn slabs(&self) -> Option<Slabs> {
        self.slabs
    }

    /// Multiplies the rows of a task, by the panel's slab or by all of them: what the first gives is stored, what
    /// others give is added to it, a group of columns after the other.
    pub(crate) fn multiply(&self, task: usize, on: &Panel<'_, T>) {
        let slabs = &self.tasks[task];
        let at_once = if slabs.len() == 1 { on.width } else { LINES * lanes::<T>() };
        for j in (0..on.width).step_by(at_once.max(1)) {
            let on = on.part(&(j..on.width.min(j + at_once)));
            for s in on.slab.map_or(0..slabs.len(), |slab| slab..slab + 1) {
                let of = &slabs[s];
                let block = PatternBlock {
                    tiles: &of.tiles,
                    col_idx: &self.col_idx[of.cols.start..of.cols.end + AHEAD],
                    ahead: self.ahead,
                    values: &self.values[of.values.clone()],
                };
                let out = match s {
                    0 if slabs.len() == 1 => on.out,
                    0 => on.out.cached(),
                    _ => on.out.resumed(),
                };
                on.kernels.patterns(&block, on.b, &out, on.width);
            }
        }
    }
}

/// Slabs of columns that are multiplied one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slabs {
    /// Columns of each but the last.
    pub(crate) cols: usize,
    /// How often tiles load a row of B, on average.
    pub(crate) loads: usize,
}

/// Loads that a tile has to spare for so many whole lines of columns.
fn worth(lines: usize) -> usize {
    match lines / LINES {
        0 => WORTH,
        1 | 2 => WORTH_OF_GROUPS,
        _ => WORTH_WIDE,
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::Csr;
    use girih_formats::generate::uniform;

    use super::super::natural;
    use super::*;
    use crate::kernels::patterns::Tile;

    /// What other tests than of caches take.
    fn room() -> Room {
        Room::of(1 << 20, 1 << 14)
    }

    #[test]
    fn slabs_have_all_columns_and_the_first_all_tiles() {
        let a = natural(&uniform(21, 1000, 200, 1).unwrap());
        // The third task is run in parts.
        let tasks = [0..4, 4..9, 0..0, 9..20];
        let patterns =
            |threads, wanted| Patterns::new(&a, &tasks, 64, threads, wanted, room()).unwrap();
        assert_eq!(patterns(1, false).slabs(), None);
        let alone = patterns(1, true);
        assert_eq!(alone.slabs(), Some(Slabs { cols: 256, loads: 3 }));
        let n_tiles: Vec<_> = alone.tasks.iter().map(|slabs| slabs[0].tiles.len()).collect();
        assert_eq!(n_tiles, [3, 0, 0, 3]);
        let (mut n_values, mut tiles) = (0, Vec::new());
        for slabs in &alone.tasks {
            for (s, slab) in slabs.iter().enumerate() {
                let cols = &alone.col_idx[slab.cols.clone()];
                assert!(cols.iter().all(|&col| col as usize / 256 == s));
                let counts = slab.tiles.iter().flat_map(|tile| tile.counts);
                assert_eq!(counts.sum::<u32>() as usize, cols.len());
                n_values += slab.values.len();
            }
            tiles.extend(slabs.iter().flat_map(|slab| &slab.tiles));
        }
        assert_eq!(n_values, 20 * 200);
        let of_four = patterns(4, true);
        let mut others: Vec<_> = of_four.tasks.iter().flatten().flat_map(|s| &s.tiles).collect();
        let key = |tile: &&Tile| (tile.rows, tile.counts);
        tiles.sort_unstable_by_key(key);
        others.sort_unstable_by_key(key);
        assert_eq!(tiles, others);
    }

    #[test]
    fn tiles_have_to_spare_less_where_whole_groups_of_columns_are_multiplied() {
        assert_eq!([0, 3, 4, 11, 12, 100].map(worth), [24, 24, 6, 6, 8, 8]);
    }

    #[test]
    fn tasks_are_joined_unless_rows_of_b_are_better_read_whole() {
        let a = natural(&uniform(20, 1000, 200, 1).unwrap());
        let follows_rows = |follows_rows, wanted| {
            let caches = Room { follows_rows, ..room() };
            let patterns = Patterns::new(&a, &[0..4, 4..20], 64, 1, wanted, caches).unwrap();
            patterns.tasks.iter().map(|slabs| slabs[0].tiles.len()).collect::<Vec<_>>()
        };
        assert_eq!([follows_rows(false, false), follows_rows(true, false)], [[5, 0], [1, 4]]);
        // Slabs are for many tiles.
        assert_eq!(follows_rows(true, true), [5, 0]);
    }

    #[test]
    fn rows_that_share_nothing_are_not_tiled() {
        let dense =
            |offset: u32| (0..16u32).flat_map(move |i| (0..32).map(move |j| 32 * i * offset + j));
        let make = |offset| {
            let col_idx: Vec<u32> = dense(offset).collect();
            let row_ptr: Vec<u64> = (0..=16).map(|i| 32 * i).collect();
            natural(&Csr::try_new(16, 512, row_ptr, col_idx, vec![1.0; 512]).unwrap())
        };
        let tasks = [0..7, 7..7, 7..16];
        assert!(Patterns::new(&make(1), &tasks, 16, 1, true, room()).is_none());
        assert!(Patterns::new(&make(0), &tasks, 16, 1, true, room()).is_some());
    }
}
