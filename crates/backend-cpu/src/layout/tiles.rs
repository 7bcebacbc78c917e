//! CSR for wide products: neighbouring rows in tiles that load the rows of B they share once.

use std::ops::Range;

use girih_formats::{Buffer, Csr, RowCsr, Scalar};
use rayon::prelude::*;

use super::fill::{Fill, Slab};
use super::join::joined;
use super::to_parts;
use crate::analyze::Sharing;
use crate::analyze::patterns::tiles;
use crate::exec::formats::Panel;
use crate::isa::KernelScalar;
use crate::kernels::ahead::AHEAD;
use crate::kernels::patterns::PatternBlock;
use crate::lowering::{Tiles, TilesMade};
use crate::operands::{GROUP_LINES, lanes};

/// A copy of a matrix in tiles of up to four rows, columns grouped by which of the rows hold them; all of them, or
/// those of a slab of columns after the other.
#[derive(Debug)]
pub(crate) struct Patterns<T: Scalar> {
    /// Whether the rows of B that columns meet are asked for ahead.
    pub(super) ahead: bool,
    /// Columns of each slab but the last, if there are several.
    pub(super) slab_cols: Option<usize>,
    /// The slabs of each task: one or several.
    pub(super) tasks: Vec<Vec<Slab>>,
    /// A task's columns begin where its entries begin in the matrix, and are fewer.
    pub(super) col_idx: Buffer<u32>,
    /// Widened, so that one kernel multiplies them all.
    pub(super) values: Buffer<T::Acc>,
}

impl<T: KernelScalar> Patterns<T> {
    /// Lays out the rows of tasks, each a range of slots: O(nnz) in parallel, and a copy of the
    /// matrix with one column index for all rows of a tile that hold it. Tasks that are neighbours are
    /// [joined]; tiles and slabs are the same on any number of threads and any processor.
    ///
    /// `None` where there is no memory for it.
    pub(crate) fn new(a: &RowCsr<T>, tasks: &[Range<usize>], how: &Tiles) -> Option<Self> {
        let (csr, &Tiles { slab_cols, joined_rows, parts, .. }) = (a.csr(), how);
        let joined = joined(csr.row_ptr(), tasks, joined_rows, parts);
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
        Some(Self { ahead: false, slab_cols, tasks, col_idx, values })
    }

    /// How many tiles there are, and how many columns they have.
    pub(crate) fn made(&self) -> TilesMade {
        // The first slab has all tiles.
        let tiles = self.tasks.iter().filter_map(|slabs| slabs.first());
        let tiles = tiles.map(|slab| slab.tiles.len()).sum();
        let loads = self.tasks.iter().flatten().map(|slab| slab.cols.len()).sum();
        TilesMade { tiles, loads }
    }

    /// The same, without laying anything out: O(nnz) in parallel.
    pub(crate) fn count(csr: &Csr<T>, tasks: &[Range<usize>]) -> TilesMade {
        let of_task = |slots: &Range<usize>| {
            let sum = Sharing::of_task(csr, slots);
            TilesMade { tiles: sum.tiles, loads: sum.cols }
        };
        let none = || TilesMade { tiles: 0, loads: 0 };
        let add = |a: TilesMade, b: TilesMade| TilesMade {
            tiles: a.tiles + b.tiles,
            loads: a.loads + b.loads,
        };
        tasks.par_iter().map(of_task).reduce(none, add)
    }

    /// Whether rows of B are to be prefetched.
    pub(crate) fn prefetch(&mut self, ahead: bool) {
        self.ahead = ahead;
    }

    /// Columns of each slab but the last, if there are several.
    pub(crate) fn slab_cols(&self) -> Option<usize> {
        self.slab_cols
    }

    /// Multiplies the rows of a task, by the panel's slab or by all of them: what the first gives is stored, what
    /// others give is added to it, a group of columns after the other.
    pub(crate) fn multiply(&self, task: usize, on: &Panel<'_, T>) {
        let slabs = &self.tasks[task];
        let at_once = if slabs.len() == 1 { on.width } else { GROUP_LINES * lanes::<T>() };
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

#[cfg(test)]
mod tests {
    use girih_formats::generate::uniform;

    use super::super::natural;
    use super::*;
    use crate::kernels::patterns::Tile;

    fn tiles(slab_cols: Option<usize>, parts: usize, joined_rows: usize) -> Tiles {
        Tiles { slab_cols, joined_rows, parts, spared: 0 }
    }

    #[test]
    fn slabs_have_all_columns_and_the_first_all_tiles() {
        let a = natural(&uniform(21, 1000, 200, 1).unwrap());
        // The third task is run in parts.
        let tasks = [0..4, 4..9, 0..0, 9..20];
        let patterns =
            |parts, slabs| Patterns::new(&a, &tasks, &tiles(slabs, parts, 1024)).unwrap();
        let [whole, alone] = [None, Some(256)].map(|slabs| patterns(1, slabs));
        assert_eq!([whole.slab_cols(), alone.slab_cols()], [None, Some(256)]);
        let made = alone.made();
        assert_eq!((made.tiles, made.loads / 1000), (6, 3));
        assert_eq!([whole.made(), Patterns::count(a.csr(), &tasks)], [made; 2]);
        let n_tiles: Vec<_> = alone.tasks.iter().map(|slabs| slabs[0].tiles.len()).collect();
        assert_eq!(n_tiles, [3, 0, 0, 3]);
        let (mut n_values, mut all) = (0, Vec::new());
        for slabs in &alone.tasks {
            for (s, slab) in slabs.iter().enumerate() {
                let cols = &alone.col_idx[slab.cols.clone()];
                assert!(cols.iter().all(|&col| col as usize / 256 == s));
                let counts = slab.tiles.iter().flat_map(|tile| tile.counts);
                assert_eq!(counts.sum::<u32>() as usize, cols.len());
                n_values += slab.values.len();
            }
            all.extend(slabs.iter().flat_map(|slab| &slab.tiles));
        }
        assert_eq!(n_values, 20 * 200);
        let of_four = patterns(16, Some(256));
        let mut others: Vec<_> = of_four.tasks.iter().flatten().flat_map(|s| &s.tiles).collect();
        let key = |tile: &&Tile| (tile.rows, tile.counts);
        all.sort_unstable_by_key(key);
        others.sort_unstable_by_key(key);
        assert_eq!(all, others);
    }

    #[test]
    fn tasks_are_joined_up_to_so_many_rows() {
        let a = natural(&uniform(20, 1000, 200, 1).unwrap());
        let joined = |rows| {
            let patterns = Patterns::new(&a, &[0..4, 4..20], &tiles(None, 1, rows)).unwrap();
            patterns.tasks.iter().map(|slabs| slabs[0].tiles.len()).collect::<Vec<_>>()
        };
        assert_eq!([joined(1024), joined(0)], [[5, 0], [1, 4]]);
    }
}
