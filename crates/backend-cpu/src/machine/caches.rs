//! The caches of this machine that kernels go by.

pub use girih_planner::{Cache, caches};

/// Bytes of the last-level cache, where the system tells.
pub(crate) fn last_level() -> Option<u64> {
    caches().last().map(|cache| cache.bytes)
}

/// Bytes of the largest cache below that.
pub(crate) fn private() -> Option<u64> {
    let last = caches().last()?.level;
    caches().iter().rev().find(|cache| cache.level < last).map(|cache| cache.bytes)
}
