//! What the entry points are passed: `passed.cuh` has the same in CUDA.

use crate::kernels::shared::passed::passed;

/// Rows of a window.
pub(crate) const WINDOW_ROWS: usize = 16;
/// Packed columns of a tile.
pub(crate) const TILE_COLS: usize = 8;

passed! {
    "sm90_window_sddmm/passed.cuh";

    /// Tiles of one window that a block of threads computes.
    #[align(16)]
    #[derive(PartialEq, Eq)]
    pub(crate) struct Task {
        first_tile: u64,
        n_tiles: u32,
        window: u32,
    }

    /// Eight packed columns of a window, and which of its elements are entries.
    #[align(16)]
    #[derive(PartialEq, Eq)]
    pub(crate) struct Tile {
        /// Beyond the window's last column that one once more.
        col: [u32; 8],
        /// Of each row the entries of its own before this tile.
        before: [u32; 16],
        /// Eight bits a row, one for each column; four rows to a word.
        mask: [u8; 16] as "u32[kWindowRows / 4]",
    }

    /// What the entry points are passed. Addresses are of device memory, strides count elements.
    pub(crate) struct Params {
        tasks: u64 as "const Task*",
        tiles: u64 as "const Tile*",
        /// The row of X in each slot; null where a slot's number is its row.
        rows: u64 as "const u32*",
        /// Where a row's entries begin in S.
        row_ptr: u64 as "const u64*",
        x: u64 as "const void*",
        y: u64 as "const void*",
        s: u64 as "float*",
        m: u64,
        /// Columns of X and Y; none are read if it is 0.
        d: u64,
        x_row_stride: u64,
        x_col_stride: u64,
        y_row_stride: u64,
        y_col_stride: u64,
        s_stride: u64,
        alpha: f32,
        beta: f32,
    }
}
