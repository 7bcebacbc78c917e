//! What the window ordering found.

use girih_formats::RowLayout;
use serde::{Deserialize, Serialize};

use super::WindowStart;

/// A layout of few packed columns, and how it came about.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WindowOrdering {
    /// The rows in windows; natural if nothing better was found.
    pub layout: RowLayout,
    /// Packed columns on the way.
    pub stats: WindowStats,
}

/// Packed columns, Σ over windows of distinct columns, at every stage of
/// [`window`](crate::window()).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WindowStats {
    /// In the order of the input, every window full.
    pub natural: u64,
    /// Of each start, windows closed early where that saves columns.
    pub starts: Vec<(WindowStart, u64)>,
    /// The start of the layout that is returned.
    pub start: WindowStart,
    /// After each stage of refinement of that start: hierarchies, then the last sweeps.
    pub refined: Vec<u64>,
    /// Of the layout that is returned.
    pub packed: u64,
    /// Windows of the layout that is returned.
    pub n_windows: usize,
}
