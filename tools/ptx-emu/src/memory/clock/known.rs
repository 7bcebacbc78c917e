//! What is known of a warp, and of the warps of a cluster.

use std::sync::Arc;

/// Up to which count a warp's lanes are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    All(u32),
    Lanes(Arc<[u32; 32]>),
}

impl Known {
    pub(super) fn lane(&self, lane: u32) -> u32 {
        match self {
            Self::All(count) => *count,
            Self::Lanes(counts) => counts[lane as usize],
        }
    }

    pub(super) fn lanes(&self) -> [u32; 32] {
        match self {
            Self::All(count) => [*count; 32],
            Self::Lanes(counts) => **counts,
        }
    }

    pub(super) fn from_lanes(counts: [u32; 32]) -> Self {
        if counts.iter().all(|&count| count == counts[0]) {
            Self::All(counts[0])
        } else {
            Self::Lanes(Arc::new(counts))
        }
    }

    #[inline]
    pub(super) fn covers(&self, other: &Self) -> bool {
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
            (Self::Lanes(a), Self::Lanes(b)) => {
                Arc::ptr_eq(a, b) || a.iter().zip(b.iter()).all(|(a, b)| a >= b)
            }
        }
    }

    #[inline]
    pub(super) fn join(&mut self, other: &Self) {
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

/// Adds what another list of warps knows.
pub(super) fn join_all(into: &mut Vec<Known>, from: &[Known]) {
    if into.len() < from.len() {
        into.resize(from.len(), Known::All(0));
    }
    for (a, b) in into.iter_mut().zip(from) {
        a.join(b);
    }
}

/// Whether a list of warps knows what another does.
pub(super) fn covers_all(a: &[Known], b: &[Known]) -> bool {
    let common = a.len().min(b.len());
    let none = Known::All(0);
    a.iter().zip(b).all(|(a, b)| a.covers(b)) && b[common..].iter().all(|b| none.covers(b))
}
