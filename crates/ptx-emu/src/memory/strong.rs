//! Strong accesses: what they tell others, and learn.

use std::sync::PoisonError;

use super::published::{Home, Reach};
use super::{SHARED_WINDOW, Target};
use crate::machine::{Cluster, Warp};
use crate::memory::clock::Message;

/// Which earlier or later accesses of the thread a strong access is ordered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// `.relaxed` and `.volatile`: none; fences make the order.
    Relaxed,
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

    /// A strong load found what strong stores left there: a lane learns it, at once or with its next
    /// fence.
    pub(crate) fn learn(
        &mut self,
        warp: &mut Warp,
        lane: usize,
        target: &Target<'_>,
        (order, reach): (Order, Reach),
    ) {
        let home = self.home(warp);
        let message = match *target {
            Target::Shared { cta, offset } => {
                self.published.read(shared_key(cta, offset), reach, home)
            }
            Target::Global { allocation, offset } => {
                let all = self.context.published.lock().unwrap_or_else(PoisonError::into_inner);
                all.read(allocation.base() + offset, reach, home)
            }
            Target::Local(_) | Target::Param(_) => None,
        };
        if let Some(message) = message {
            if order.acquires() {
                warp.clock.acquire(1 << lane, &message);
            } else {
                warp.clock.observe(lane as u32, message);
            }
        }
    }

    /// A strong store tells those who load it what its lane did and knows, up to now or up to its
    /// last fence. A `replaces` store takes what was told there before away.
    pub(crate) fn tell(
        &mut self,
        warp: &mut Warp,
        lane: usize,
        target: &Target<'_>,
        (order, reach): (Order, Reach),
        replaces: bool,
    ) {
        let message = if order.releases() {
            let mut message = Message::new(self.id);
            warp.clock.release(1 << lane, &mut message);
            Some((message, reach))
        } else {
            warp.clock.told(lane as u32).map(|(message, fenced)| (message, fenced.min(reach)))
        };
        let home = self.home(warp);
        let (mut lock, address);
        let messages = match *target {
            Target::Shared { cta, offset } => {
                address = shared_key(cta, offset);
                &mut self.published
            }
            Target::Global { allocation, offset } => {
                address = allocation.base() + offset;
                lock = self.context.published.lock().unwrap_or_else(PoisonError::into_inner);
                &mut *lock
            }
            Target::Local(_) | Target::Param(_) => return,
        };
        if replaces {
            messages.overwrite(address);
        }
        if let Some((message, reach)) = message {
            messages.publish(address, reach, home, &message);
        }
    }
}

fn shared_key(cta: u32, offset: u32) -> u64 {
    SHARED_WINDOW + (u64::from(cta + 1) << 24 | u64::from(offset))
}
