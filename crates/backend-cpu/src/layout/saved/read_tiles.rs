//! Reading a copy in tiles.

use std::ops::Range;

use girih_formats::{PAD_ROW, RowCsr};
use girih_parallel::prelude::*;
use girih_planner::file::Attachment;

use super::checks::{UnwrittenRows, are_within, array, must, records};
use super::{COL_IDX, SLABS, TILES, VALUES};
use crate::isa::KernelScalar;
use crate::kernels::patterns::{PATTERNS, TILE_ROWS, Tile};
use crate::kernels::prefetch::PREFETCH_AHEAD;
use crate::layout::fill::TaskSlab;
use crate::layout::tiles::TiledCsr;
use crate::lowering::TileConfig;

impl<T: KernelScalar> TiledCsr<T> {
    /// Reads the copy of an attachment and checks all of it, for tasks as [`new`](Self::new) takes them.
    ///
    /// # Errors
    /// The first thing that does not hold.
    pub(crate) fn load(
        a: &RowCsr<T>,
        tasks: &[Range<usize>],
        config: &TileConfig,
        from: &Attachment,
    ) -> Result<Self, String> {
        let k = a.csr().ncols();
        let slab_cols = config.slab_cols.unwrap_or(usize::MAX);
        let n_slabs = k.div_ceil(slab_cols).max(1);
        let slabs = records::<u64, 5>(from, SLABS)?;
        must(slabs.len() == tasks.len() * n_slabs, "its slabs are not those of the tasks")?;
        let flat = records::<u32, { TILE_ROWS + PATTERNS }>(from, TILES)?;
        let (col_idx, values) = (array::<u32>(from, COL_IDX)?, array::<T::Acc>(from, VALUES)?);
        let n_cols = a.csr().nnz();
        let as_new = col_idx.len() == n_cols + PREFETCH_AHEAD && values.len() == n_cols;
        must(as_new, "its columns and values are not as many as A's")?;
        must(are_within(&col_idx[n_cols..], &(0..k.max(1))), "its last columns are not in A")?;
        // Where the tiles of each slab begin, and the end of the last ones.
        let mut next = 0usize;
        let mut starts = Vec::with_capacity(slabs.len());
        for &[n_tiles, ..] in slabs {
            starts.push(next);
            next = usize::try_from(n_tiles).map_or(usize::MAX, |n| next.saturating_add(n));
        }
        must(next == flat.len(), "it does not have as many tiles as its slabs say")?;
        let slab = |(&[n_tiles, c0, c1, v0, v1], &start): (&[u64; 5], &usize)| {
            let [n_tiles, c0, c1, v0, v1] = [n_tiles, c0, c1, v0, v1].map(|n| n as usize);
            let lies = c0 <= c1 && c1 <= n_cols && v0 <= v1 && v1 <= values.len();
            must(lies, "its slabs leave its arrays")?;
            let tiles = flat[start..start + n_tiles].iter().map(tile_of).collect();
            Ok(TaskSlab { tiles, cols: c0..c1, values: v0..v1 })
        };
        let of_tasks = slabs.par_chunks(n_slabs).zip(starts.par_chunks(n_slabs));
        let read = of_tasks.map(|(slabs, starts)| slabs.iter().zip(starts).map(slab).collect());
        let read = read.collect::<Result<Vec<Vec<_>>, String>>()?;
        let is_run = |(slots, slabs): (&Range<usize>, &Vec<TaskSlab>)| {
            !slots.is_empty() || slabs.iter().all(|slab| slab.tiles.is_empty())
        };
        must(tasks.iter().zip(&read).all(is_run), "a task without whole windows has tiles")?;
        let unwritten = UnwrittenRows::from_tasks(a, tasks);
        let taken = read.par_iter().map(|slabs| {
            let rows = slabs[0].tiles.iter().flat_map(|tile| tile.rows);
            unwritten.take(rows.filter(|&row| row != PAD_ROW))
        });
        let taken: Option<usize> = taken.sum();
        must(taken == Some(unwritten.count), "its tiles do not have each row once")?;
        let is_whole = |slabs: &Vec<TaskSlab>| {
            slabs.last().map(|last| last.tiles.len())
                == slabs.first().map(|first| first.tiles.len())
        };
        must(read.par_iter().all(is_whole), "a last slab does not have all tiles")?;
        read.par_iter().try_for_each(|slabs| {
            slabs.iter().enumerate().try_for_each(|(s, slab)| {
                let cols = s * slab_cols..k.min(slab_cols.saturating_mul(s + 1));
                check_slab(slab, &slabs[0], &col_idx[slab.cols.clone()], &cols)
            })
        })?;
        let (col_idx, values) = (col_idx.clone(), values.clone());
        Ok(Self { prefetches_b: false, slab_cols: config.slab_cols, tasks: read, col_idx, values })
    }
}

/// A tile from its numbers.
fn tile_of(numbers: &[u32; TILE_ROWS + PATTERNS]) -> Tile {
    let (rows, counts) = numbers.split_at(TILE_ROWS);
    let mut tile = Tile { rows: [0; TILE_ROWS], counts: [0; PATTERNS] };
    tile.rows.copy_from_slice(rows);
    tile.counts.copy_from_slice(counts);
    tile
}

/// Checks a slab of a task: its columns must lie in `cols`, and its tiles must be among those of the first
/// slab.
fn check_slab(
    slab: &TaskSlab,
    first: &TaskSlab,
    col_idx: &[u32],
    cols: &Range<usize>,
) -> Result<(), String> {
    let mut others = first.tiles.iter();
    for Tile { rows, .. } in &slab.tiles {
        must(others.any(|other| other.rows == *rows), "a slab has other tiles than the first")?;
    }
    must(slab.holds(), "its tiles do not have as many columns and values as its slabs")?;
    must(are_within(col_idx, cols), "a slab's columns lie in another")
}
