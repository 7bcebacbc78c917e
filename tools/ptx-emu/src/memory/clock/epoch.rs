//! When an access was made: a thread and its count.

/// The largest count; accesses at it are taken to be ordered before everything, so that a count
/// that ran over never makes up a race.
pub(super) const LAST: u32 = (1 << 24) - 1;
const AGENTS: u32 = 512;

/// A thread, its warp's count, and whether the access was strong (atomic, volatile, or with a
/// scope). Zero is nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Epoch(pub(in crate::memory) u64);

impl Epoch {
    const STRONG: u64 = 1 << 63;

    /// `warp` counts the warps of the cluster.
    pub(crate) fn new(cluster: u32, warp: u32, lane: u32, count: u32) -> Self {
        let thread = u64::from(warp << 5 | lane);
        Self(u64::from(cluster & 0x7F_FFFF) << 40 | thread << 24 | u64::from(count.min(LAST)))
    }

    /// The epoch of what completes as the `count`-th of agent number `agent` (below 49152) of a
    /// cluster.
    pub(crate) fn of_agent(cluster: u32, agent: u32, count: u32) -> Self {
        Self::new(cluster, AGENTS + agent / 32, agent % 32, count)
    }

    pub(in crate::memory) fn strong(self, strong: bool) -> Self {
        if strong { Self(self.0 | Self::STRONG) } else { self }
    }

    pub(in crate::memory) fn is_strong(self) -> bool {
        self.0 & Self::STRONG != 0
    }

    /// Whether it is that of an asynchronous operation.
    pub(crate) fn is_agent(self) -> bool {
        self.warp() >= AGENTS
    }

    /// The number of the agent that it is of, if of one.
    #[inline]
    pub(super) fn agent(self) -> Option<u32> {
        ((self.0 >> 24) as u32 & 0xFFFF).checked_sub(AGENTS * 32)
    }

    pub(crate) fn cluster(self) -> u32 {
        (self.0 >> 40) as u32 & 0x7F_FFFF
    }

    pub(crate) fn warp(self) -> u32 {
        (self.0 >> 29) as u32 & 0x7FF
    }

    pub(crate) fn lane(self) -> u32 {
        (self.0 >> 24) as u32 & 31
    }

    pub(super) fn count(self) -> u32 {
        self.0 as u32 & LAST
    }

    /// The epoch without its lane: all lanes of a warp at one count.
    pub(in crate::memory) fn of_lanes(self) -> Self {
        Self(self.0 & !(31 << 24))
    }

    /// This epoch of another lane.
    pub(in crate::memory) fn with_lane(self, lane: u32) -> Self {
        Self(self.0 & !(31 << 24) | u64::from(lane) << 24)
    }

    pub(in crate::memory) fn same_thread(self, other: Self) -> bool {
        (self.0 ^ other.0) & !(Self::STRONG | u64::from(LAST)) == 0
    }
}
