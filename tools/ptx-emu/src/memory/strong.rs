//! Strong accesses: what they tell others, and learn.

use std::sync::{Arc, PoisonError};

use super::published::{Home, Messages, Reach};
use super::{SHARED_WINDOW, Target, shared_address};
use crate::machine::{Cluster, Warp};
use crate::memory::clock::Message;

/// Which earlier or later accesses of the thread a strong access is ordered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// `.relaxed`: none; fences make the order.
    Relaxed,
    /// `.volatile`: the same.
    Volatile,
    /// `.acquire`.
    Acquire,
    /// `.release`.
    Release,
    /// `.acq_rel`.
    AcquireRelease,
}

impl Order {
    fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcquireRelease)
    }

    fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcquireRelease)
    }
}

/// `None` for a weak access; else its order, and the threads it is meant for.
pub(crate) type Strength = Option<(Order, Reach)>;

impl Cluster {
    /// Where a warp's threads are, for scopes.
    pub(crate) fn home(&self, warp: &Warp) -> Home {
        Home { cluster: self.id, cta: warp.rank() }
    }

    /// Does a strong access, given what is told in its memory. What happens to the value and to what
    /// is told with it is one step: clusters run side by side, and a strong access of another one
    /// comes before both or after both.
    pub(crate) fn in_one_step<T>(
        &mut self,
        target: &Target<'_>,
        access: impl FnOnce(&mut Self, &mut Messages) -> T,
    ) -> T {
        if let Target::Global { .. } = target {
            let context = Arc::clone(&self.context);
            let mut told = context.published.lock().unwrap_or_else(PoisonError::into_inner);
            access(self, &mut told)
        } else {
            let mut told = std::mem::take(&mut self.published);
            let result = access(self, &mut told);
            self.published = told;
            result
        }
    }

    /// A strong load found what strong stores left there: a lane learns it, at once or with its next
    /// fence.
    pub(crate) fn learn(
        &self,
        warp: &mut Warp,
        lane: usize,
        target: &Target<'_>,
        (order, reach): (Order, Reach),
        told: &Messages,
    ) {
        let Some(address) = key(target) else { return };
        let Some(message) = told.read(address, reach, self.home(warp)) else { return };
        if order.acquires() {
            warp.clock.acquire(1 << lane, &message);
        } else {
            warp.clock.observe(lane as u32, message);
        }
    }

    /// A strong store tells those who load it what its lane did and knows, up to now or up to its
    /// last fence. A `replaces` store takes what was told there before away.
    pub(crate) fn tell(
        &self,
        warp: &mut Warp,
        lane: usize,
        target: &Target<'_>,
        (order, reach): (Order, Reach),
        replaces: bool,
        told: &mut Messages,
    ) {
        let Some(address) = key(target) else { return };
        let message = if order.releases() {
            let mut message = Message::new(self.id);
            warp.clock.release(1 << lane, &mut message);
            Some((message, reach))
        } else {
            warp.clock.told(lane as u32).map(|(message, fenced)| (message, fenced.min(reach)))
        };
        if replaces {
            told.overwrite(address);
        }
        if let Some((message, reach)) = message {
            told.publish(address, reach, self.home(warp), &message);
        }
    }
}

/// Where messages about a place are kept. Nobody else sees a thread's own memory.
fn key(target: &Target<'_>) -> Option<u64> {
    match *target {
        Target::Shared { cta, offset } => Some(SHARED_WINDOW + shared_address(cta, offset)),
        Target::Global { allocation, offset } => Some(allocation.base() + offset),
        Target::Local(_) | Target::Param(_) => None,
    }
}
