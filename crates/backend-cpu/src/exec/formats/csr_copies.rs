//! Copies of CSR: sorted rows, and tiles slab by slab.

use girih_formats::Scalar;
use girih_simd::{GROUP_VECTORS, PREFETCH_AHEAD, PatternBlock, SortedBlock, lanes};

use super::{Panel, finished};
use crate::kernels::CpuScalar;
use crate::layout::CsrLayout;
use crate::layout::sorted::SortedCsr;
use crate::layout::tiles::TiledCsr;

impl<T: CpuScalar> CsrLayout<T> {
    /// Multiplies the rows of a part of a task.
    pub(crate) fn multiply(&self, task: usize, part: usize, on: &Panel<'_, T>) {
        match self {
            Self::Sorted(sorted) => multiply_sorted(sorted, task, part, on),
            Self::Tiles(tiled) => multiply_tiles(tiled, task, on),
        }
    }
}

/// Multiplies the rows of a part of a task.
fn multiply_sorted<T: CpuScalar>(a: &SortedCsr<T>, task: usize, part: usize, on: &Panel<'_, T>) {
    let ranges = &a.tasks[task * a.parts + part];
    let block = SortedBlock {
        slices: &a.slices[ranges.slices.clone()],
        runs: &a.runs[ranges.runs.clone()],
        rows: &a.rows[ranges.rows.clone()],
        col_idx: &a.col_idx[ranges.cols.start..ranges.cols.end + PREFETCH_AHEAD],
        prefetch_b: a.prefetches_b,
        values: &a.values[ranges.values.clone()],
    };
    if on.out.is_finished() {
        return finished::sorted(&block, on);
    }
    // Parts of a cache line written past the caches make a whole one only if they are neighbours.
    let whole_cache_lines = (on.width * size_of::<<T as Scalar>::Acc>()).is_multiple_of(64);
    let out = if whole_cache_lines || a.consecutive { on.out } else { on.out.cached() };
    on.kernels.sorted(&block, on.b, &out, on.width);
}

/// Multiplies the rows of a task, by the panel's slab or by all slabs. The first slab's sums are stored,
/// those of others are added to them, one group of columns after the other.
fn multiply_tiles<T: CpuScalar>(a: &TiledCsr<T>, task: usize, on: &Panel<'_, T>) {
    let slabs = &a.tasks[task];
    let at_once = if slabs.len() == 1 { on.width } else { GROUP_VECTORS * lanes::<T>() };
    for j in (0..on.width).step_by(at_once.max(1)) {
        let on = on.part(&(j..on.width.min(j + at_once)));
        for s in on.slab.map_or(0..slabs.len(), |slab| slab..slab + 1) {
            let slab = &slabs[s];
            let block = PatternBlock {
                tiles: &a.tiles[slab.tiles.clone()],
                col_idx: &a.col_idx[slab.cols.start..slab.cols.end + PREFETCH_AHEAD],
                prefetch_b: a.prefetches_b,
                values: &a.values[slab.values.clone()],
            };
            // Only the last slab finishes a product, and it has all tiles.
            let out = if s + 1 < slabs.len() { on.out.unfinished() } else { on.out };
            let out = match s {
                0 if slabs.len() == 1 => out,
                0 => out.cached(),
                _ => out.resumed(),
            };
            if slabs.len() == 1 && out.is_finished() {
                finished::patterns(&block, &on);
            } else {
                on.kernels.patterns(&block, on.b, &out, on.width);
            }
        }
    }
}
