//! What is known of a warp, and of the warps of a cluster.

use std::sync::Arc;

use super::Epoch;

/// Up to which count a warp's lanes are known.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Known {
    All(u32),
    Lanes(Arc<[u32; 32]>),
}

impl Known {
    fn lane(&self, lane: u32) -> u32 {
        match self {
            Self::All(count) => *count,
            Self::Lanes(counts) => counts[lane as usize],
        }
    }

    fn lanes(&self) -> [u32; 32] {
        match self {
            Self::All(count) => [*count; 32],
            Self::Lanes(counts) => **counts,
        }
    }

    fn from_lanes(counts: [u32; 32]) -> Self {
        if counts.iter().all(|&count| count == counts[0]) {
            Self::All(counts[0])
        } else {
            Self::Lanes(Arc::new(counts))
        }
    }

    /// Adds that lanes are known up to a count.
    fn raise(&mut self, lanes: u32, count: u32) {
        if lanes == u32::MAX
            && let Self::All(old) = self
        {
            *old = count.max(*old);
            return;
        }
        let mut counts = self.lanes();
        for (lane, old) in counts.iter_mut().enumerate() {
            if lanes >> lane & 1 == 1 {
                *old = count.max(*old);
            }
        }
        *self = Self::from_lanes(counts);
    }

    #[inline]
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All(a), Self::All(b)) => a >= b,
            _ => self.covers_lanes(other),
        }
    }

    /// [`covers`](Self::covers), where lanes differ.
    #[inline(never)]
    fn covers_lanes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All(a), Self::All(b)) => a >= b,
            (Self::All(a), Self::Lanes(b)) => b.iter().all(|b| a >= b),
            (Self::Lanes(a), Self::All(b)) => a.iter().all(|a| a >= b),
            // Without a way out of the loop it becomes a few instructions.
            (Self::Lanes(a), Self::Lanes(b)) => {
                Arc::ptr_eq(a, b)
                    || !a.iter().zip(b.iter()).fold(false, |less, (a, b)| less | (a < b))
            }
        }
    }

    #[inline]
    fn join(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::All(a), Self::All(b)) => *a = (*a).max(*b),
            _ => self.join_lanes(other),
        }
    }

    /// [`join`](Self::join), where lanes differ.
    #[inline(never)]
    fn join_lanes(&mut self, other: &Self) {
        if other.covers(self) {
            *self = other.clone();
        } else if !self.covers(other) {
            let (a, b) = (self.lanes(), other.lanes());
            *self = Self::from_lanes(std::array::from_fn(|i| a[i].max(b[i])));
        }
    }
}

/// Up to which counts the threads of a cluster are known; what is missing is 0.
///
/// Agents are kept apart from warps: their numbers begin far above, and each counts for itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Threads {
    warps: Vec<Known>,
    agents: Vec<u32>,
}

/// Of a cluster that nothing is known of.
pub(super) const NOBODY: &Threads = &Threads { warps: Vec::new(), agents: Vec::new() };

impl Threads {
    /// Up to which count the thread of an epoch is known.
    #[inline]
    pub(super) fn count(&self, epoch: Epoch) -> u32 {
        match epoch.agent() {
            None => {
                self.warps.get(epoch.warp() as usize).map_or(0, |known| known.lane(epoch.lane()))
            }
            Some(agent) => self.agents.get(agent as usize).copied().unwrap_or(0),
        }
    }

    /// Whether these lanes of an epoch's warp are all known up to its count, which is not 0.
    #[inline]
    pub(super) fn covers_lanes(&self, epoch: Epoch, lanes: u32) -> bool {
        let count = epoch.count();
        if epoch.is_agent() {
            let known = |lane| count <= self.count(epoch.with_lane(lane as u32));
            return crate::machine::lanes(lanes).all(known);
        }
        match self.warps.get(epoch.warp() as usize) {
            None => false,
            Some(Known::All(known)) => count <= *known,
            Some(Known::Lanes(known)) => {
                crate::machine::lanes(lanes).all(|lane| count <= known[lane])
            }
        }
    }

    /// The lanes of an epoch's warp that are known up to its count, which is not 0.
    pub(super) fn known_lanes(&self, epoch: Epoch) -> u32 {
        let count = epoch.count();
        let mask = |known: &dyn Fn(u32) -> u32| {
            (0..32).fold(0, |mask, lane| mask | u32::from(count <= known(lane)) << lane)
        };
        if epoch.is_agent() {
            return mask(&|lane| self.count(epoch.with_lane(lane)));
        }
        match self.warps.get(epoch.warp() as usize) {
            None => 0,
            Some(Known::All(known)) if count <= *known => u32::MAX,
            Some(Known::All(_)) => 0,
            Some(Known::Lanes(known)) => mask(&|lane| known[lane as usize]),
        }
    }

    /// Whether these know what others do.
    pub(super) fn includes(&self, other: &Self) -> bool {
        let common = self.warps.len().min(other.warps.len());
        let none = Known::All(0);
        self.warps.iter().zip(&other.warps).all(|(a, b)| a.covers(b))
            && other.warps[common..].iter().all(|b| none.covers(b))
            && self.agents.iter().zip(&other.agents).all(|(a, b)| a >= b)
            && other.agents.iter().skip(self.agents.len()).all(|&b| b == 0)
    }

    /// Adds what others know.
    pub(super) fn join(&mut self, other: &Self) {
        if self.warps.len() < other.warps.len() {
            self.warps.resize(other.warps.len(), Known::All(0));
        }
        for (a, b) in self.warps.iter_mut().zip(&other.warps) {
            a.join(b);
        }
        if self.agents.len() < other.agents.len() {
            self.agents.resize(other.agents.len(), 0);
        }
        for (a, &b) in self.agents.iter_mut().zip(&other.agents) {
            *a = (*a).max(b);
        }
    }

    /// Adds that lanes of a warp are known up to a count.
    pub(super) fn raise(&mut self, warp: u32, lanes: u32, count: u32) {
        let warp = warp as usize;
        if self.warps.len() <= warp {
            self.warps.resize(warp + 1, Known::All(0));
        }
        self.warps[warp].raise(lanes, count);
    }

    /// Adds that an agent is known up to a count.
    pub(super) fn raise_agent(&mut self, agent: u32, count: u32) {
        let agent = agent as usize;
        if self.agents.len() <= agent {
            self.agents.resize(agent + 1, 0);
        }
        self.agents[agent] = count.max(self.agents[agent]);
    }
}
