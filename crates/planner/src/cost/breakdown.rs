//! The estimate, taken apart.

use serde::{Deserialize, Serialize};

use crate::device::Unit;

/// What a product is bound by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resource {
    /// Bytes to and from main memory.
    Memory,
    /// Rows of B, and of A read again, from cache.
    Cache,
    /// Arithmetic, fill-in included, and finding the entries.
    Compute,
    /// Work per product, window and tile.
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

/// The estimate for one format on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Cost {
    /// Bytes of the tiles' arrays: A.
    pub tile_bytes: u64,
    /// Share of the positions a kernel multiplies that are entries.
    pub fill_ratio: f64,
    /// Bytes of B fetched in all, most of them from cache.
    pub b_fetched_bytes: f64,
    /// Bytes of B that come from main memory.
    pub b_memory_bytes: f64,
    /// Bytes of C written.
    pub c_bytes: f64,
    /// Times that A is read, once for each block of columns of C.
    pub a_passes: f64,
    /// Flops, fill-in and columns beyond the last included.
    pub flops: f64,
    /// The unit that does them.
    pub unit: Unit,
    /// Seconds that main memory needs.
    pub memory_seconds: f64,
    /// Seconds that the cache needs.
    pub cache_seconds: f64,
    /// Seconds that arithmetic needs, finding the entries included.
    pub compute_seconds: f64,
    /// Seconds spent per product, per window and per tile.
    pub overhead_seconds: f64,
    /// How many times as long the schedule takes as with the work shared out evenly; 1 is perfect. A GPU's memory
    /// and L2 serve those that still work, so there it is less than the schedule's own.
    pub imbalance: f64,
    /// Seconds in all.
    pub seconds: f64,
    /// What takes the most of them.
    pub dominant: Resource,
}

impl Cost {
    /// The share of B's fetches that main memory does not see: the estimate of its reuse.
    #[must_use]
    pub fn b_hit_share(&self) -> f64 {
        if self.b_fetched_bytes > 0.0 {
            (1.0 - self.b_memory_bytes / self.b_fetched_bytes).max(0.0)
        } else {
            0.0
        }
    }
}
