//! What the entry points are passed: the host's side of `params.cuh`.

use bytemuck::{Pod, Zeroable};

use crate::epilogue::PlacedEpilogue;

/// Segments of a task: one for each lane of a warp.
pub(crate) const MAX_SEGMENTS: usize = 32;
/// What stands in a [`Segment`] for all of a window.
pub(crate) const WHOLE: u32 = u32::MAX;

/// Segments that a block multiplies one after the other: `Task` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Task {
    /// Steps before its first, in the packed columns and in the values.
    pub(crate) first_step: u64,
    pub(crate) first_segment: u32,
    /// At most [`MAX_SEGMENTS`].
    pub(crate) n_segments: u32,
}

/// A window, or a part of one: `Segment` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Segment {
    pub(crate) n_steps: u32,
    pub(crate) window: u32,
    /// Where the sums of a part go, or [`WHOLE`].
    pub(crate) piece: u32,
    pub(crate) unused: u32,
}

/// A window in parts: `SplitWindow` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct SplitWindow {
    pub(crate) first_piece: u32,
    pub(crate) n_pieces: u32,
    pub(crate) window: u32,
    pub(crate) unused: u32,
}

/// What the entry points are passed: `Params` in CUDA. Addresses are of device memory, strides count
/// elements.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    pub(crate) tasks: u64,
    pub(crate) segments: u64,
    pub(crate) splits: u64,
    pub(crate) col_idx: u64,
    pub(crate) values: u64,
    pub(crate) rows: u64,
    pub(crate) b: u64,
    pub(crate) c: u64,
    pub(crate) partials: u64,
    pub(crate) m: u64,
    pub(crate) n: u64,
    pub(crate) b_row_stride: u64,
    pub(crate) b_col_stride: u64,
    pub(crate) c_row_stride: u64,
    pub(crate) c_col_stride: u64,
    pub(crate) partial_stride: u64,
    pub(crate) n_splits: u64,
    pub(crate) alpha: f32,
    pub(crate) beta: f32,
    pub(crate) c_in_vectors: u32,
    pub(crate) atomic: u32,
    pub(crate) panel_tiles: u32,
    pub(crate) n_tiles: u32,
    pub(crate) epilogue: PlacedEpilogue,
}

const _: () = assert!(size_of::<Task>() == 16 && size_of::<Segment>() == 16);
const _: () = assert!(size_of::<SplitWindow>() == 16 && size_of::<Params>() == 192);
