//! Copies of CSR as arrays in a plan, and back. Kernels rely on what they say, so all of it is checked when
//! it is read.

mod checks;
mod read_sorted;
mod read_tiles;

use girih_formats::Buffer;
use girih_planner::file::{AttachedElement, Attachment, AttachmentError};
use girih_simd::Run;

use crate::kernels::CpuScalar;
use crate::layout::CsrLayout;
use crate::layout::fill::TaskSlab;
use crate::layout::sorted::PartRanges;

pub(super) const COL_IDX: &str = "col_idx";
pub(super) const VALUES: &str = "values";
/// Of each slab of each task: its tiles, and where its columns and values begin and end.
pub(super) const SLABS: &str = "slabs";
/// Of each tile: its rows, and how many columns each pattern has.
pub(super) const TILES: &str = "tiles";
/// Of each part of each task: its runs of slices, runs of rows, rows, columns and values.
pub(super) const PARTS: &str = "parts";
/// Lengths and counts.
pub(super) const SLICES: &str = "slices";
pub(super) const RUNS: &str = "runs";
pub(super) const ROWS: &str = "rows";

impl<T: CpuScalar> CsrLayout<T> {
    /// Adds the arrays of this copy to an attachment. The large arrays are shared with it.
    ///
    /// # Errors
    /// If an attachment can't have them.
    pub(crate) fn save(&self, to: Attachment) -> Result<Attachment, AttachmentError> {
        let values = |values: &Buffer<T::Acc>| T::Acc::data(values.clone());
        match self {
            Self::Tiles(tiled) => {
                let slabs = || tiled.tasks.iter().flatten();
                let numbers_of_slab = |TaskSlab { tiles, cols, values }: &TaskSlab| {
                    [tiles.len(), cols.start, cols.end, values.start, values.end]
                };
                let numbers: Vec<u64> =
                    slabs().flat_map(numbers_of_slab).map(|n| n as u64).collect();
                let Some(tiles) = tiled.tiles.clone().cast::<u32>() else {
                    unreachable!("tiles are made of u32")
                };
                to.with_array(SLABS, numbers)?
                    .with_array(TILES, tiles)?
                    .with_array(COL_IDX, tiled.col_idx.clone())?
                    .with_array(VALUES, values(&tiled.values))
            }
            Self::Sorted(sorted) => {
                let lengths_of_part =
                    |PartRanges { slices, runs, rows, cols, values }: &PartRanges| {
                        [slices, runs, rows, cols, values].map(|range| range.len() as u64)
                    };
                let parts: Vec<u64> = sorted.tasks.iter().flat_map(lengths_of_part).collect();
                let runs = |runs: &[Run]| -> Vec<u32> {
                    runs.iter().flat_map(|run| [run.len, run.count]).collect()
                };
                to.with_array(PARTS, parts)?
                    .with_array(SLICES, runs(&sorted.slices))?
                    .with_array(RUNS, runs(&sorted.runs))?
                    .with_array(ROWS, sorted.rows.clone())?
                    .with_array(COL_IDX, sorted.col_idx.clone())?
                    .with_array(VALUES, values(&sorted.values))
            }
        }
    }
}
