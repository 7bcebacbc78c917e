//! Reading a copy in tiles.

use std::ops::Range;

use girih_formats::{PAD_ROW, RowCsr, Scalar};
use girih_parallel::prelude::*;
use girih_planner::file::Attachment;
use girih_simd::{PREFETCH_AHEAD, Tile};

use super::checks::{are_within, array, must, records};
use super::{COL_IDX, SLABS, TILES, VALUES};
use crate::kernels::CpuScalar;
use crate::layout::fill::TaskSlab;
use crate::layout::join::joined;
use crate::layout::row_of;
use crate::layout::tiles::TiledCsr;
use crate::lowering::TileConfig;

impl<T: CpuScalar> TiledCsr<T> {
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
        let tiles = array::<u32>(from, TILES)?.clone().cast::<Tile>();
        let tiles = tiles.ok_or("the last of its tiles is not whole")?;
        let (col_idx, values) = (array::<u32>(from, COL_IDX)?, array::<T::Acc>(from, VALUES)?);
        let n_cols = a.csr().nnz();
        let as_new = col_idx.len() == n_cols + PREFETCH_AHEAD && values.len() == n_cols;
        must(as_new, "its columns and values are not as many as A's")?;
        must(are_within(&col_idx[n_cols..], &(0..k.max(1))), "its last columns are not in A")?;
        let mut next = 0usize;
        let slab = |&[n_tiles, c0, c1, v0, v1]: &[u64; 5]| {
            let [c0, c1, v0, v1] = [c0, c1, v0, v1].map(|n| n as usize);
            let lies = c0 <= c1 && c1 <= n_cols && v0 <= v1 && v1 <= values.len();
            must(lies, "its slabs leave its arrays")?;
            let start = next;
            next = usize::try_from(n_tiles).map_or(usize::MAX, |n| next.saturating_add(n));
            must(next <= tiles.len(), "it does not have as many tiles as its slabs say")?;
            Ok(TaskSlab { tiles: start..next, cols: c0..c1, values: v0..v1 })
        };
        let slabs = slabs.iter().map(slab).collect::<Result<Vec<_>, String>>()?;
        must(next == tiles.len(), "it does not have as many tiles as its slabs say")?;
        let of_tasks: Vec<Vec<TaskSlab>> = slabs.chunks(n_slabs).map(<[_]>::to_vec).collect();
        // The rows of a task are those of the tasks that are joined to it.
        let joined = joined(a.csr().row_ptr(), tasks, config.joined_rows, config.parts);
        let check = |(slabs, slots): (&Vec<TaskSlab>, &Range<usize>)| {
            let tiles_of = |slab: &TaskSlab| &tiles[slab.tiles.clone()];
            let (first, last) = (tiles_of(&slabs[0]), tiles_of(&slabs[n_slabs - 1]));
            must(have_rows(first, a, slots), "its tiles do not have each row once")?;
            must(first.len() == last.len(), "a last slab does not have all tiles")?;
            slabs.iter().enumerate().try_for_each(|(s, slab)| {
                let cols = s * slab_cols..k.min(slab_cols.saturating_mul(s + 1));
                let rows_are = s == 0 || are_among(tiles_of(slab), first);
                must(rows_are, "a slab has other tiles than the first")?;
                must(
                    slab.holds(tiles_of(slab)),
                    "its tiles do not have as many columns and values as its slabs",
                )?;
                must(
                    are_within(&col_idx[slab.cols.clone()], &cols),
                    "a slab's columns lie in another",
                )
            })
        };
        of_tasks
            .par_iter()
            .zip(joined.par_iter())
            .map(check)
            .collect::<Result<Vec<()>, String>>()?;
        let (col_idx, values) = (col_idx.clone(), values.clone());
        let slab_cols = config.slab_cols;
        Ok(Self { prefetches_b: false, slab_cols, tiles, tasks: of_tasks, col_idx, values })
    }
}

/// Whether tiles have the rows of slots in their order, each once. So no two threads write to one row.
fn have_rows<T: Scalar>(tiles: &[Tile], a: &RowCsr<T>, slots: &Range<usize>) -> bool {
    let mut slots = slots.clone();
    let in_order = |&row: &u32| {
        slots.find_map(|slot| Some(row_of(a, slot)).filter(|&r| r != PAD_ROW)) == Some(row)
    };
    let mut rows = tiles.iter().flat_map(|tile| &tile.rows).filter(|&&row| row != PAD_ROW);
    rows.all(in_order) && slots.all(|slot| row_of(a, slot) == PAD_ROW)
}

/// Whether tiles are among others, in the same order: by their rows.
fn are_among(tiles: &[Tile], others: &[Tile]) -> bool {
    let mut others = others.iter();
    tiles.iter().all(|Tile { rows, .. }| others.any(|other| other.rows == *rows))
}
