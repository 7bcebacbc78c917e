//! What a format would cost: bytes and flops, turned into seconds.
//!
//! The estimate knows a matrix by counts alone; no candidate is built to be priced. A product is
//! bound by whichever of memory, cache and arithmetic takes longest, and pays per-window and
//! per-tile overheads on top:
//!
//! ```text
//! memory  = (tiles + B once + B missed + C) / memory_bandwidth
//! cache   = rows of B fetched · n · size    / cache_bandwidth
//! compute = 2 · stored values · n           / flops of the unit that does them
//! seconds = max(memory, cache, compute) + windows · window_seconds + tiles · tile_seconds
//! ```
//!
//! Every window fetches every row of B it holds a column of. A fetch is a miss if the row was
//! evicted since the window before: with a live set of `L` bytes and a cache of `S`, a share
//! `1 − S/L` of the repeated fetches goes to memory. The live set is B, or the rows within the
//! matrix's bandwidth of the diagonal, whichever is less.

use girih_formats::{DType, FormatKind};
use serde::{Deserialize, Serialize};

use crate::DeviceSpec;

/// What a product is bound by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resource {
    /// Bytes to and from main memory.
    Memory,
    /// Rows of B from cache.
    Cache,
    /// Arithmetic, fill-in included.
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
    /// Share of stored values that are entries.
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
    /// Seconds that arithmetic needs.
    pub compute_seconds: f64,
    /// Seconds spent per window and per tile.
    pub overhead_seconds: f64,
    /// Seconds in all.
    pub seconds: f64,
    /// What takes the most of them.
    pub dominant: Resource,
}

/// What the estimate needs to know of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem<'a> {
    pub(crate) nrows: u64,
    pub(crate) ncols: u64,
    /// Largest distance of an entry from the diagonal.
    pub(crate) bandwidth: u64,
    pub(crate) n: u64,
    pub(crate) dtype: DType,
    pub(crate) device: &'a DeviceSpec,
}

/// What the estimate needs to know of a matrix in a format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) kind: FormatKind,
    pub(crate) nnz: u64,
    /// Values stored, fill-in included.
    pub(crate) stored: u64,
    /// Bytes of all arrays.
    pub(crate) bytes: u64,
    pub(crate) windows: u64,
    pub(crate) tiles: u64,
    /// Rows of B fetched, counted once per window.
    pub(crate) b_rows: u64,
}

impl Figures {
    /// Whether the format stores nothing but the entries.
    pub(crate) fn is_exact(&self) -> bool {
        self.stored == self.nnz
    }

    /// Whether kernels multiply tiles as dense matrices: all that is stored, at the tile rate.
    fn is_dense_tiles(&self) -> bool {
        match self.kind {
            FormatKind::Bcsr | FormatKind::Wcsr | FormatKind::BlockedEll => true,
            FormatKind::Csr | FormatKind::BMat | FormatKind::TwoFour => false,
        }
    }
}

impl Cost {
    /// Estimates a product.
    pub(crate) fn estimate(problem: &Problem<'_>, figures: &Figures) -> Self {
        let Problem { nrows, ncols, bandwidth, n, dtype, device } = *problem;
        let size = dtype.size() as f64;
        let row_bytes = n as f64 * size;
        let b_fetched_bytes = figures.b_rows as f64 * row_bytes;
        let b_once = figures.b_rows.min(ncols) as f64 * row_bytes;
        let live_rows = ncols.min(bandwidth.saturating_mul(2).saturating_add(1));
        let live_bytes = live_rows as f64 * row_bytes;
        let missed = (1.0 - device.cache_bytes as f64 / live_bytes.max(1.0)).max(0.0);
        let b_memory_bytes = b_once + missed * (b_fetched_bytes - b_once);
        let c_bytes = nrows as f64 * n as f64 * dtype.accumulator().size() as f64;
        let flops = 2.0 * figures.stored as f64 * n as f64;
        let (rates, charged_tiles) = match figures.kind {
            FormatKind::Csr | FormatKind::TwoFour => (&device.sparse_flops, 0),
            _ if figures.is_dense_tiles() => (&device.tile_flops, figures.tiles),
            _ => (&device.sparse_flops, figures.tiles),
        };
        let memory_seconds =
            (figures.bytes as f64 + b_memory_bytes + c_bytes) / device.memory_bandwidth;
        let cache_seconds = b_fetched_bytes / device.cache_bandwidth;
        let compute_seconds = flops / rates.get(dtype);
        let overhead_seconds = figures.windows as f64 * device.window_seconds
            + charged_tiles as f64 * device.tile_seconds;
        let (dominant, _) = [
            (Resource::Memory, memory_seconds),
            (Resource::Cache, cache_seconds),
            (Resource::Compute, compute_seconds),
            (Resource::Overhead, overhead_seconds),
        ]
        .into_iter()
        .fold((Resource::Memory, -1.0), |a, b| if b.1 > a.1 { b } else { a });
        Self {
            tile_bytes: figures.bytes,
            fill_ratio: match figures.stored {
                0 => 1.0,
                stored => figures.nnz as f64 / stored as f64,
            },
            b_memory_bytes,
            b_fetched_bytes,
            c_bytes,
            flops,
            memory_seconds,
            cache_seconds,
            compute_seconds,
            overhead_seconds,
            seconds: memory_seconds.max(cache_seconds).max(compute_seconds) + overhead_seconds,
            dominant,
        }
    }
}
