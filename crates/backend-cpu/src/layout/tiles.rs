//! CSR for wide products: tiles of neighbouring rows, which load the rows of B that they share once.

use std::ops::Range;

use girih_formats::{Buffer, Csr, RowCsr, Scalar};
use girih_parallel::prelude::*;
use girih_simd::{PREFETCH_AHEAD, Tile};

use super::fill::{TaskSlab, TileWriter};
use super::join::joined;
use super::pieces::to_parts;
use crate::analyze::RowSharing;
use crate::analyze::row_tiles::tiles;
use crate::kernels::CpuScalar;
use crate::lowering::{TileConfig, TileCounts};

/// A copy of a matrix in tiles of up to four rows. Their columns are grouped by which of the rows hold them;
/// all columns together, or one slab of columns after the other.
#[derive(Debug)]
pub(crate) struct TiledCsr<T: Scalar> {
    /// Whether the rows of B that columns use are prefetched.
    pub(crate) prefetches_b: bool,
    /// Columns of each slab but the last, if there are several.
    pub(crate) slab_cols: Option<usize>,
    /// The tiles of all slabs.
    pub(crate) tiles: Buffer<Tile>,
    /// The slabs of each task: one or several.
    pub(crate) tasks: Vec<Vec<TaskSlab>>,
    /// A task's columns begin where its entries begin in the matrix. There are fewer columns than entries.
    pub(crate) col_idx: Buffer<u32>,
    /// Widened, so that one kernel multiplies them all.
    pub(crate) values: Buffer<T::Acc>,
}

impl<T: CpuScalar> TiledCsr<T> {
    /// Lays out the rows of tasks, each a range of slots: O(nnz) in parallel, and a copy of the matrix with
    /// one column index for all rows of a tile that hold it. Neighbouring tasks are [joined]; tiles and slabs
    /// are the same on any number of threads and any processor.
    ///
    /// `None` if there is no memory for it.
    pub(crate) fn new(a: &RowCsr<T>, tasks: &[Range<usize>], config: &TileConfig) -> Option<Self> {
        let (csr, &TileConfig { slab_cols, joined_rows, parts, .. }) = (a.csr(), config);
        let joined = joined(csr.row_ptr(), tasks, joined_rows, parts);
        let entries = |slots: &Range<usize>| {
            csr.row_ptr()[slots.start] as usize..csr.row_ptr()[slots.end] as usize
        };
        let mut col_idx = Buffer::zeroed(csr.nnz() + PREFETCH_AHEAD).ok()?;
        let mut values = Buffer::zeroed(csr.nnz()).ok()?;
        let cols = to_parts(col_idx.make_mut(), joined.iter().map(entries));
        let vals = to_parts(values.make_mut(), joined.iter().map(entries));
        let to_fill: Vec<_> = joined.iter().enumerate().zip(cols.into_iter().zip(vals)).collect();
        let written: Vec<(Vec<Tile>, Vec<TaskSlab>)> = to_fill
            .into_par_iter()
            .map(|((i, slots), (cols, values))| {
                let writer = TileWriter::new(cols, values, entries(slots).start);
                // Nothing is left of a task that was joined to the one before.
                let own = tasks[i..].iter().filter(|_| !slots.is_empty());
                let own = own.take_while(|own| own.start < slots.end);
                let tiles = own.flat_map(|own| tiles(csr.pattern(), own.clone()));
                writer.slabs(a, &tiles.collect::<Vec<_>>(), slab_cols.unwrap_or(usize::MAX))
            })
            .collect();
        let (tiles, tasks) = concatenated(written)?;
        let tiled = Self { prefetches_b: false, slab_cols, tiles, tasks, col_idx, values };
        // In every build: kernels rest on it, and it costs a pass over tiles.
        assert!(
            tiled.sums_hold(),
            "tiles of a copy do not have the columns and values of its slabs"
        );
        Some(tiled)
    }

    /// Whether the tiles of every slab have as many columns and values as the slab, and slabs lie in the arrays:
    /// point 2 of [`patterns`](girih_simd::PatternBlock), but for the columns themselves. O(tiles).
    fn sums_hold(&self) -> bool {
        let n_cols = self.col_idx.len().checked_sub(PREFETCH_AHEAD);
        let holds = |slab: &TaskSlab| {
            let tiles = self.tiles.get(slab.tiles.clone());
            tiles.is_some_and(|tiles| slab.holds(tiles))
                && Some(slab.cols.end) <= n_cols
                && slab.values.end <= self.values.len()
        };
        self.tasks.par_iter().all(|slabs| slabs.iter().all(holds))
    }

    /// The number of tiles and of their columns.
    pub(crate) fn counts(&self) -> TileCounts {
        // The first slab has all tiles.
        let tiles = self.tasks.iter().filter_map(|slabs| slabs.first());
        let tiles = tiles.map(|slab| slab.tiles.len()).sum();
        let loads = self.tasks.iter().flatten().map(|slab| slab.cols.len()).sum();
        TileCounts { tiles, loads }
    }

    /// The counts of such a copy, without making it: O(nnz) in parallel.
    pub(crate) fn count(csr: &Csr<T>, tasks: &[Range<usize>]) -> TileCounts {
        let count = |slots: &Range<usize>| {
            let sum = RowSharing::count(csr.pattern(), slots);
            TileCounts { tiles: sum.tiles, loads: sum.cols }
        };
        let none = || TileCounts { tiles: 0, loads: 0 };
        let add = |a: TileCounts, b: TileCounts| TileCounts {
            tiles: a.tiles + b.tiles,
            loads: a.loads + b.loads,
        };
        tasks.par_iter().map(count).reduce(none, add)
    }
}

/// The tiles of all tasks in one array, and where those of each slab lie in it. `None` if there is no memory
/// for it.
fn concatenated(
    written: Vec<(Vec<Tile>, Vec<TaskSlab>)>,
) -> Option<(Buffer<Tile>, Vec<Vec<TaskSlab>>)> {
    let mut end = 0;
    let ranges: Vec<Range<usize>> = written
        .iter()
        .map(|(tiles, _)| {
            end += tiles.len();
            end - tiles.len()..end
        })
        .collect();
    let mut all = Buffer::zeroed(end).ok()?;
    let parts = to_parts(all.make_mut(), ranges.iter().cloned());
    let to_move: Vec<_> = written.into_iter().zip(parts.into_iter().zip(ranges)).collect();
    let tasks = to_move
        .into_par_iter()
        .map(|((tiles, mut slabs), (to, Range { start, .. }))| {
            to.copy_from_slice(&tiles);
            for slab in &mut slabs {
                slab.tiles = start + slab.tiles.start..start + slab.tiles.end;
            }
            slabs
        })
        .collect();
    Some((all, tasks))
}

#[cfg(test)]
mod tests {
    use girih_generate::uniform;

    use super::super::natural;
    use super::*;

    fn tiles(slab_cols: Option<usize>, parts: usize, joined_rows: usize) -> TileConfig {
        TileConfig { slab_cols, joined_rows, parts, spared: 0 }
    }

    #[test]
    fn slabs_have_all_columns_and_the_first_all_tiles() {
        let a = natural(&uniform(21, 1000, 200, 1).unwrap());
        // The third task is run in parts.
        let tasks = [0..4, 4..9, 0..0, 9..20];
        let tiled = |parts, slabs| TiledCsr::new(&a, &tasks, &tiles(slabs, parts, 1024)).unwrap();
        let [whole, alone] = [None, Some(256)].map(|slabs| tiled(1, slabs));
        assert_eq!([whole.slab_cols, alone.slab_cols], [None, Some(256)]);
        let counts = alone.counts();
        assert_eq!((counts.tiles, counts.loads / 1000), (6, 3));
        assert_eq!([whole.counts(), TiledCsr::count(a.csr(), &tasks)], [counts; 2]);
        let n_tiles: Vec<_> = alone.tasks.iter().map(|slabs| slabs[0].tiles.len()).collect();
        assert_eq!(n_tiles, [3, 0, 0, 3]);
        let (mut n_values, mut all) = (0, Vec::new());
        for slabs in &alone.tasks {
            for (s, slab) in slabs.iter().enumerate() {
                let cols = &alone.col_idx[slab.cols.clone()];
                assert!(cols.iter().all(|&col| col as usize / 256 == s));
                let counts = alone.tiles[slab.tiles.clone()].iter().flat_map(|tile| tile.counts);
                assert_eq!(counts.sum::<u32>() as usize, cols.len());
                n_values += slab.values.len();
            }
            all.extend(slabs.iter().flat_map(|slab| &alone.tiles[slab.tiles.clone()]));
        }
        assert_eq!(n_values, 20 * 200);
        let of_four = tiled(16, Some(256));
        let mut others: Vec<_> = of_four.tiles.iter().collect();
        let key = |tile: &&Tile| (tile.rows, tile.counts);
        all.sort_unstable_by_key(key);
        others.sort_unstable_by_key(key);
        assert_eq!(all, others);
    }

    #[test]
    fn sums_that_do_not_hold_are_found() {
        let a = natural(&uniform(21, 1000, 200, 1).unwrap());
        let tiled = || TiledCsr::new(&a, &[0..9, 9..21], &tiles(Some(256), 1, 1024)).unwrap();
        assert!(tiled().sums_hold());
        type Change = fn(&mut TiledCsr<f32>);
        let changes: [Change; 6] = [
            |t| {
                let first = t.tasks[0][1].tiles.start;
                t.tiles.make_mut()[first].counts[3] += 1;
            },
            |t| t.tasks[0][0].cols.end += 1,
            |t| t.tasks[0][0].values.start += 1,
            |t| t.col_idx = Buffer::zeroed(PREFETCH_AHEAD - 1).unwrap(),
            |t| t.values = Buffer::default(),
            |t| t.tiles = Buffer::default(),
        ];
        for (i, change) in changes.into_iter().enumerate() {
            let mut changed = tiled();
            change(&mut changed);
            assert!(!changed.sums_hold(), "change {i}");
        }
    }

    #[test]
    fn tasks_are_joined_up_to_so_many_rows() {
        let a = natural(&uniform(20, 1000, 200, 1).unwrap());
        let joined = |rows| {
            let tiled = TiledCsr::new(&a, &[0..4, 4..20], &tiles(None, 1, rows)).unwrap();
            tiled.tasks.iter().map(|slabs| slabs[0].tiles.len()).collect::<Vec<_>>()
        };
        assert_eq!([joined(1024), joined(0)], [[5, 0], [1, 4]]);
    }
}
