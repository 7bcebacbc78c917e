//! Copies of CSR: how they are made, and what they came to.

use serde::{Deserialize, Serialize};

/// How rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SortConfig {
    /// Whether rows share column indices if each repeats the columns of the row before it plus one.
    pub(crate) slices: bool,
    pub(crate) threads: usize,
    /// Whether rows of B are prefetched.
    pub(crate) prefetch_b: bool,
}

/// What sorting came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SortCounts {
    /// Rows that share column indices.
    pub(crate) sliced_rows: usize,
    /// Parts of each task.
    pub(crate) parts: usize,
    /// Whether nearly all rows follow the row before them.
    pub(crate) consecutive: bool,
}

/// How rows are tiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TileConfig {
    /// Columns of a slab, if there are several.
    pub(crate) slab_cols: Option<usize>,
    /// Neighbouring tasks are joined up to this many rows, and up to one of `parts` parts of all entries.
    pub(crate) joined_rows: usize,
    pub(crate) parts: usize,
    /// Loads of rows of B that a tile spares, in hundredths, in the sample of tasks.
    pub(crate) spared: usize,
}

/// What tiling came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TileCounts {
    pub(crate) tiles: usize,
    /// Columns of all tiles: loads of rows of B.
    pub(crate) loads: usize,
}
