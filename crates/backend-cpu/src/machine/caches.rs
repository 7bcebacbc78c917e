//! The caches of this machine.

pub use girih_planner::device::{Cache, caches};

/// Bytes of the last-level cache, if the system reports it.
pub(crate) fn last_level() -> Option<u64> {
    caches().last().map(|cache| cache.bytes)
}

/// Bytes of the largest cache below the last level: what a core has for itself.
pub(crate) fn private() -> Option<u64> {
    let last = caches().last()?.level;
    caches().iter().rev().find(|cache| cache.level < last).map(|cache| cache.bytes)
}
