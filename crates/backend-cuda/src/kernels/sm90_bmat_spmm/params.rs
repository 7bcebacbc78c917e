//! What the entry points are passed: the host's side of `params.cuh`.

use bytemuck::{Pod, Zeroable};

use crate::epilogue::PlacedEpilogue;

/// What stands in a [`Run`] or a [`SplitWindow`] for all columns from the first on.
pub(super) const TO_THE_END: u32 = u32::MAX;
/// What stands in a [`Segment`] for all of a window.
pub(super) const WHOLE: u32 = u32::MAX;

/// Runs that a block of threads computes, one after the other: `Block` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Block {
    pub(super) first_run: u32,
    pub(super) n_runs: u32,
}

/// Segments, for a range of columns of C: `Run` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Run {
    pub(super) first_segment: u32,
    pub(super) n_segments: u32,
    pub(super) col_start: u32,
    /// Or [`TO_THE_END`].
    pub(super) col_end: u32,
}

/// A window, or a part of one: `Segment` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Segment {
    pub(super) first_tile: u64,
    pub(super) n_tiles: u32,
    pub(super) window: u32,
    /// Where the sums of a part go, or [`WHOLE`].
    pub(super) piece: u32,
    pub(super) unused: [u32; 3],
}

/// A window in parts, for a range of columns of C: `SplitWindow` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct SplitWindow {
    pub(super) first_piece: u32,
    pub(super) n_pieces: u32,
    pub(super) window: u32,
    pub(super) unused: u32,
    pub(super) col_start: u32,
    /// Or [`TO_THE_END`].
    pub(super) col_end: u32,
    pub(super) unused_too: [u32; 2],
}

/// Of a tile: `Header` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Header {
    pub(super) mask: [u32; 4],
    /// Where its values begin: the lower half.
    pub(super) first_value_low: u32,
    /// Values before those of words 1, 2 and 3 of this tile, 8 bits each.
    pub(super) before: u32,
    pub(super) first_value_high: u32,
    pub(super) unused: u32,
}

/// What the entry points are passed: `Params` in CUDA. Addresses are of device memory, strides count
/// elements.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Params {
    pub(super) blocks: u64,
    pub(super) runs: u64,
    pub(super) segments: u64,
    pub(super) splits: u64,
    pub(super) headers: u64,
    pub(super) col_idx: u64,
    pub(super) values: u64,
    pub(super) rows: u64,
    pub(super) b: u64,
    pub(super) c: u64,
    pub(super) partials: u64,
    pub(super) m: u64,
    pub(super) n: u64,
    /// The columns of C that a launch computes.
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) b_row_stride: u64,
    pub(super) b_col_stride: u64,
    pub(super) c_row_stride: u64,
    pub(super) c_col_stride: u64,
    pub(super) partial_stride: u64,
    pub(super) n_splits: u64,
    pub(super) tile_columns: u32,
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) c_in_vectors: u32,
    pub(super) epilogue: PlacedEpilogue,
}

const _: () = assert!(size_of::<Block>() == 8 && size_of::<Run>() == 16);
const _: () = assert!(size_of::<Segment>() == 32 && size_of::<SplitWindow>() == 32);
const _: () = assert!(size_of::<Header>() == 32 && size_of::<Params>() == 216);
