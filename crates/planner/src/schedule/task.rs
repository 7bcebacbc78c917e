//! A piece of work, and the columns of C it is for.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

/// A piece of work: one or more whole windows, or a part of one.
///
/// Tiles are counted as in [`Tiling::tile_ptr`](girih_formats::Tiling::tile_ptr). Where windows are
/// also cut by columns of C, a [`ColRange`] stands beside every task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Task {
    /// First window.
    pub window_start: u64,
    /// One past the last window.
    pub window_end: u64,
    /// First tile.
    pub tile_start: u64,
    /// One past the last tile.
    pub tile_end: u64,
}

impl Task {
    /// The windows, as a range.
    #[must_use]
    pub fn windows(&self) -> Range<usize> {
        self.window_start as usize..self.window_end as usize
    }

    /// The tiles, as a range.
    #[must_use]
    pub fn tiles(&self) -> Range<usize> {
        self.tile_start as usize..self.tile_end as usize
    }
}

/// Columns of C that a task computes, of the number that the schedule was cut for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ColRange {
    /// First column.
    pub start: u32,
    /// One past the last column.
    pub end: u32,
}

impl ColRange {
    /// The columns in a product with `n` columns of a schedule that was cut for `cut_for`: a range
    /// that reaches to the last column there reaches to the last here, and others are cut off. So
    /// what covers every column once for one n does so for every n.
    #[must_use]
    pub fn within(self, n: usize, cut_for: u32) -> Range<usize> {
        let end = if self.end >= cut_for { n } else { n.min(self.end as usize) };
        n.min(self.start as usize).min(end)..end
    }
}
