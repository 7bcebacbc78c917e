//! What a format would cost: bytes and flops, turned into seconds.
//!
//! The estimate knows a matrix by counts alone; no candidate is built to be priced. A product takes
//! as long as the busiest of memory, cache and arithmetic, and the work per window and tile on top:
//!
//! ```text
//! memory   = (tiles + B once + B missed + C) / memory_bandwidth
//! cache    = rows of B fetched · n · size    / cache_bandwidth
//! compute  = values · (value_seconds + 2n / sparse_flops)        entry by entry
//!          = values · max(value_seconds, 2n / tile_flops)        in dense tiles
//! overhead = (rows + windows of several) · window_seconds + BMat tiles · bmat_tile_seconds
//! seconds  = max(memory, cache, compute) + overhead
//! ```
//!
//! Every window fetches every row of B it holds a column of; windows of fewer than 16 rows, CSR's
//! included, fetch as windows of 16 would, since the nearest cache keeps what so close neighbours
//! share. A fetch is a miss if the row was evicted since it was last used: with a live set of `L` bytes and a cache of `S`, a share
//! `1 − S/L` of the repeated fetches goes to memory. The live set is as many rows of B as the rows
//! of A span, from first column to last, on average over the entries: all of B for scattered
//! entries, a strip of it for a band.

use girih_formats::stats::FormatStats;
use girih_formats::{CsrPattern, DType, FormatKind, FormatSpec};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

mod linear;

pub use linear::LinearCost;

use crate::DeviceSpec;

/// What a product is bound by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resource {
    /// Bytes to and from main memory.
    Memory,
    /// Rows of B from cache.
    Cache,
    /// Arithmetic, fill-in included, and finding the entries.
    Compute,
    /// Work per window and tile.
    Overhead,
}

impl Resource {
    /// A name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cache => "cache",
            Self::Compute => "compute",
            Self::Overhead => "overhead",
        }
    }
}

/// The estimate for one format.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Bytes of the tiles' arrays.
    pub tile_bytes: u64,
    /// Share of the positions a kernel multiplies that are entries.
    pub fill_ratio: f64,
    /// Bytes of B that come from main memory.
    pub b_memory_bytes: f64,
    /// Bytes of B fetched in all, most of them from cache.
    pub b_fetched_bytes: f64,
    /// Bytes of C written.
    pub c_bytes: f64,
    /// Flops, fill-in included.
    pub flops: f64,
    /// Seconds that main memory needs.
    pub memory_seconds: f64,
    /// Seconds that the cache needs.
    pub cache_seconds: f64,
    /// Seconds that arithmetic needs, finding the entries included.
    pub compute_seconds: f64,
    /// Seconds spent per window and per tile.
    pub overhead_seconds: f64,
    /// Seconds in all.
    pub seconds: f64,
    /// What takes the most of them.
    pub dominant: Resource,
}

/// What the estimate needs to know of a product, besides the counts of the format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem<'a> {
    pub(crate) pattern: CsrPattern<'a>,
    /// [`mean_span`] of the pattern.
    pub(crate) span: f64,
    /// Rows of B that windows of [`NEAR_ROWS`] rows fetch.
    pub(crate) near_cols: u64,
    pub(crate) n: usize,
    pub(crate) dtype: DType,
    pub(crate) device: &'a DeviceSpec,
}

/// Rows of A whose rows of B the nearest cache keeps.
pub(crate) const NEAR_ROWS: usize = 16;

/// Columns between the first and the last of a row, both included, averaged over the entries.
/// O(nrows).
pub(crate) fn mean_span(pattern: CsrPattern<'_>) -> f64 {
    // Integers, so that the sum does not depend on how threads group it.
    let sum: u128 = (0..pattern.nrows())
        .into_par_iter()
        .with_min_len(1 << 12)
        .map(|i| match pattern.row(i) {
            [] => 0,
            cols => u128::from(cols[cols.len() - 1] - cols[0] + 1) * cols.len() as u128,
        })
        .sum();
    if sum == 0 { 0.0 } else { sum as f64 / pattern.nnz() as f64 }
}

/// Values that kernels multiply: the entries, and the zeros inside tiles. Padded columns are skipped.
pub(crate) fn multiplied(pattern: CsrPattern<'_>, stats: &FormatStats) -> u64 {
    match stats.spec {
        FormatSpec::Csr | FormatSpec::BMat { .. } => pattern.nnz() as u64,
        spec => stats.stored - stats.padding_cols * spec.window_rows() as u64,
    }
}

impl Cost {
    /// Estimates a product.
    pub(crate) fn estimate(problem: &Problem<'_>, stats: &FormatStats) -> Self {
        let Problem { pattern, span, near_cols, n, dtype, device } = *problem;
        let (n, ncols) = (n as f64, pattern.ncols() as f64);
        let row_bytes = n * dtype.size() as f64;
        let fetched_rows = stats.gathered_cols.min(near_cols) as f64;
        let rows_once = fetched_rows.min(ncols);
        let live_bytes = span * row_bytes;
        let missed = (1.0 - device.cache_bytes as f64 / live_bytes.max(1.0)).max(0.0);
        let b_fetched_bytes = fetched_rows * row_bytes;
        let b_memory_bytes = (rows_once + missed * (fetched_rows - rows_once)) * row_bytes;
        let c_bytes = pattern.nrows() as f64 * n * dtype.accumulator().size() as f64;
        let values = multiplied(pattern, stats) as f64;
        let kind = stats.spec.kind();
        let value_seconds = device.value_seconds.get(kind);
        let (per_value, tiles) = match kind {
            FormatKind::Bcsr | FormatKind::Wcsr | FormatKind::BlockedEll => {
                (value_seconds.max(2.0 * n / device.tile_flops.get(dtype)), 0)
            }
            FormatKind::Csr | FormatKind::BMat | FormatKind::TwoFour => {
                let tiles = if kind == FormatKind::BMat { stats.tiles } else { 0 };
                (value_seconds + 2.0 * n / device.sparse_flops.get(dtype), tiles)
            }
        };
        let memory_seconds =
            (stats.bytes as f64 + b_memory_bytes + c_bytes) / device.memory_bandwidth;
        let cache_seconds = b_fetched_bytes / device.cache_bandwidth;
        let compute_seconds = values * per_value;
        let windows = if kind == FormatKind::Csr { 0 } else { stats.windows };
        let overhead_seconds = (pattern.nrows() as f64 + windows as f64) * device.window_seconds
            + tiles as f64 * device.bmat_tile_seconds;
        let (dominant, _) = [
            (Resource::Memory, memory_seconds),
            (Resource::Cache, cache_seconds),
            (Resource::Compute, compute_seconds),
            (Resource::Overhead, overhead_seconds),
        ]
        .into_iter()
        .fold((Resource::Memory, -1.0), |a, b| if b.1 > a.1 { b } else { a });
        Self {
            tile_bytes: stats.bytes,
            fill_ratio: stats.fill_ratio,
            b_memory_bytes,
            b_fetched_bytes,
            c_bytes,
            flops: 2.0 * values * n,
            memory_seconds,
            cache_seconds,
            compute_seconds,
            overhead_seconds,
            seconds: memory_seconds.max(cache_seconds).max(compute_seconds) + overhead_seconds,
            dominant,
        }
    }
}
