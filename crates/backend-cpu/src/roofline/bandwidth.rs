//! Bandwidths over a working set.

/// Bandwidths over one working set, in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bandwidth {
    /// The working set of all threads together, in bytes.
    pub bytes: u64,
    /// Of reading it.
    pub read: f64,
    /// Of a triad: two thirds read, one third written.
    pub triad: f64,
    /// Of a triad whose stores bypass the caches.
    pub streaming_triad: f64,
}

impl Bandwidth {
    /// The highest of the three.
    #[must_use]
    pub fn best(&self) -> f64 {
        self.read.max(self.triad).max(self.streaming_triad)
    }
}
