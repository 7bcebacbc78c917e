//! What the entry points are passed: the host's side of `params.cuh`.

use bytemuck::{Pod, Zeroable};

/// Rows of a window.
pub(crate) const WINDOW_ROWS: usize = 16;
/// Packed columns of a tile.
pub(crate) const TILE_COLS: usize = 8;

/// Tiles of one window that a block of threads computes: `Task` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Task {
    pub(crate) first_tile: u64,
    pub(crate) n_tiles: u32,
    pub(crate) window: u32,
}

/// Eight packed columns of a window, and which of its elements are entries: `Tile` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Tile {
    /// Beyond the window's last column that one once more.
    pub(crate) col: [u32; TILE_COLS],
    /// Of each row the entries of its own before this tile.
    pub(crate) before: [u32; WINDOW_ROWS],
    /// Of each row a bit for each column.
    pub(crate) mask: [u8; WINDOW_ROWS],
}

/// What the entry points are passed: `Params` in CUDA. Addresses are of device memory, strides count elements.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    pub(crate) tasks: u64,
    pub(crate) tiles: u64,
    /// The row in each slot; 0 where a slot's number is its row.
    pub(crate) rows: u64,
    pub(crate) row_ptr: u64,
    pub(crate) x: u64,
    pub(crate) y: u64,
    pub(crate) s: u64,
    pub(crate) m: u64,
    pub(crate) d: u64,
    pub(crate) x_row_stride: u64,
    pub(crate) x_col_stride: u64,
    pub(crate) y_row_stride: u64,
    pub(crate) y_col_stride: u64,
    pub(crate) s_stride: u64,
    pub(crate) alpha: f32,
    pub(crate) beta: f32,
}

const _: () = assert!(size_of::<Task>() == 16 && size_of::<Tile>() == 112);
const _: () = assert!(size_of::<Params>() == 120);
