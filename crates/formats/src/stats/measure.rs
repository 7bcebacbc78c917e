//! What the statistics of all formats share.

use std::sync::Arc;

use crate::layout::RowLayout;
use crate::pattern::CsrPattern;

/// Sizes of a tiling that is not built.
#[derive(Default)]
pub(crate) struct Sizes {
    pub(crate) index_bytes: u64,
    pub(crate) stored: usize,
    pub(crate) multiplied: usize,
    pub(crate) tiles: u64,
    pub(crate) max_tiles_per_window: u64,
    pub(crate) gathered_cols: u64,
    pub(crate) padding_cols: u64,
    pub(crate) ell_width: u64,
    pub(crate) row_windows: u64,
    pub(crate) row_entries: u64,
}

/// A pattern, its row layout, and the sizes of its windows' unions.
pub(crate) struct Measure<'a> {
    pub(crate) pattern: CsrPattern<'a>,
    pub(crate) layout: &'a RowLayout,
    pub(crate) counts: &'a dyn Fn(u32) -> Arc<[u32]>,
}

/// Bytes of an offset array over `lists` lists.
pub(crate) fn ptr_bytes(lists: usize) -> u64 {
    8 * (lists as u64 + 1)
}

impl Measure<'_> {
    /// Columns, or blocks of `width` columns, in each window's union.
    pub(crate) fn counts(&self, width: usize) -> Arc<[u32]> {
        (self.counts)(width as u32)
    }
}

pub(crate) fn sum(counts: &[u32]) -> u64 {
    counts.iter().map(|&count| u64::from(count)).sum()
}

pub(crate) fn max(counts: &[u32]) -> u64 {
    counts.iter().copied().max().unwrap_or(0).into()
}
