//! What the entry points are passed: `passed.cuh` has the same in CUDA.

use crate::epilogue::PlacedEpilogue;
use crate::kernels::shared::passed::passed;

/// Segments of a task: one for each lane of a warp.
pub(crate) const MAX_SEGMENTS: usize = 32;
/// What stands in a [`Segment`] for all of a window.
pub(crate) const WHOLE: u32 = u32::MAX;

passed! {
    "sm90_wcsr_spmm/passed.cuh";

    /// Segments that a block multiplies one after the other.
    #[align(16)]
    #[derive(PartialEq, Eq)]
    pub(crate) struct Task {
        /// Steps before its first, in the packed columns and in the values.
        first_step: u64,
        first_segment: u32,
        /// At most 32.
        n_segments: u32,
    }

    /// A window, or a part of one.
    #[align(16)]
    #[derive(PartialEq, Eq)]
    pub(crate) struct Segment {
        n_steps: u32,
        window: u32,
        /// Where the sums of a part go; `kWhole` for all of a window.
        piece: u32,
        unused: u32,
    }

    /// A window in parts.
    #[align(16)]
    #[derive(PartialEq, Eq)]
    pub(crate) struct SplitWindow {
        first_piece: u32,
        n_pieces: u32,
        window: u32,
        unused: u32,
    }

    /// What the entry points are passed. Addresses are of device memory, strides count elements.
    pub(crate) struct Params {
        tasks: u64 as "const Task*",
        segments: u64 as "const Segment*",
        splits: u64 as "const SplitWindow*",
        /// `kStep` packed columns for each step.
        col_idx: u64 as "const u32*",
        /// `kStepBytes` for each step.
        values: u64 as "const char*",
        /// The row of C in each slot; null where a slot's number is its row.
        rows: u64 as "const u32*",
        b: u64 as "const char*",
        c: u64 as "OfC*",
        partials: u64 as "float*",
        m: u64,
        n: u64,
        b_row_stride: u64,
        b_col_stride: u64,
        c_row_stride: u64,
        c_col_stride: u64,
        partial_stride: u64,
        n_splits: u64,
        alpha: f32,
        beta: f32,
        /// Whether rows of C are contiguous and begin on the bytes of four elements.
        c_in_vectors: u32,
        /// Whether parts are added to C, which holds beta * C by then, and not kept.
        atomic: u32,
        /// Tiles of columns of a panel, which all tasks come before the next of: neighbouring blocks have the same task.
        panel_tiles: u32,
        /// Tiles of columns that there are.
        n_tiles: u32,
        epilogue: PlacedEpilogue,
    }
}
