//! What the entry points are passed: `passed.cuh` has the same in CUDA.

use crate::epilogue::PlacedEpilogue;
use crate::kernels::shared::passed::passed;

/// What stands in a [`Run`] or a [`SplitWindow`] for all columns from the first on.
pub(super) const TO_THE_END: u32 = u32::MAX;
/// What stands in a [`Segment`] for all of a window.
pub(super) const WHOLE: u32 = u32::MAX;

passed! {
    "sm90_bmat_spmm/passed.cuh";

    /// Runs that a block of threads computes, one after the other.
    #[align(8)]
    #[derive(PartialEq, Eq)]
    pub(super) struct Block {
        first_run: u32,
        n_runs: u32,
    }

    /// Segments, for a range of columns of C.
    #[align(16)]
    #[derive(PartialEq, Eq)]
    pub(super) struct Run {
        first_segment: u32,
        n_segments: u32,
        col_start: u32,
        /// `kToTheEnd` for all that there are from `col_start` on.
        col_end: u32,
    }

    /// A window, or a part of one.
    #[align(16)]
    #[derive(PartialEq, Eq)]
    pub(super) struct Segment {
        first_tile: u64,
        n_tiles: u32,
        window: u32,
        /// Where the sums of a part go; `kWhole` for all of a window.
        piece: u32,
        unused: [u32; 3],
    }

    /// A window in parts, for a range of columns of C.
    #[align(16)]
    #[derive(PartialEq, Eq)]
    pub(super) struct SplitWindow {
        first_piece: u32,
        n_pieces: u32,
        window: u32,
        unused: u32,
        col_start: u32,
        /// Or `kToTheEnd`, as of a run.
        col_end: u32,
        unused_too: [u32; 2],
    }

    /// Of a tile: its masks, where its values begin, and how many of them come before each word's.
    #[align(32)]
    #[derive(PartialEq, Eq)]
    pub(super) struct Header {
        mask: [u32; 4],
        /// Where its values begin: the lower half.
        first_value_low: u32,
        /// Values before those of words 1, 2 and 3 of this tile, 8 bits each.
        before: u32,
        first_value_high: u32,
        unused: u32,
    }

    /// What the entry points are passed. Addresses are of device memory, strides count elements.
    pub(super) struct Params {
        blocks: u64 as "const Block*",
        runs: u64 as "const Run*",
        segments: u64 as "const Segment*",
        splits: u64 as "const SplitWindow*",
        /// Of every tile and of one more, whose values would begin where all end.
        headers: u64 as "const Header*",
        /// `kTileCols` packed columns for each tile.
        col_idx: u64 as "const u32*",
        /// Whole chunks of 16 bytes.
        values: u64 as "const char*",
        /// The row of C in each slot; null where a slot's number is its row.
        rows: u64 as "const u32*",
        b: u64 as "const char*",
        c: u64 as "OfC*",
        partials: u64 as "float*",
        m: u64,
        n: u64,
        /// The columns of C that this launch computes.
        begin: u64,
        end: u64,
        b_row_stride: u64,
        b_col_stride: u64,
        c_row_stride: u64,
        c_col_stride: u64,
        partial_stride: u64,
        n_splits: u64,
        /// Columns that a block computes at a time.
        tile_columns: u32,
        alpha: f32,
        beta: f32,
        /// Whether every fourth column of a row of C, from any tile's first, begins four neighbours on their bytes.
        c_in_vectors: u32,
        epilogue: PlacedEpilogue,
    }
}

const _: () = assert!(size_of::<Segment>() == 32 && size_of::<SplitWindow>() == 32);
