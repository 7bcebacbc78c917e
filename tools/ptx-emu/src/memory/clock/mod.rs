//! Happens-before: what a thread knows of the others.
//!
//! Every warp counts the times one of its threads has told others what it did (a *release*: an
//! arrival at a barrier, a store that others acquire). An [`Epoch`] is a thread and its warp's count
//! at an access. A [`Clock`] says of every thread up to which count its accesses happened before; a
//! thread's accesses happened before another's if the other's clock covers their epoch (vector
//! clocks; Flanagan and Freund, "`FastTrack`", PLDI 2009, keep epochs as is done here). The order is
//! that of the PTX ISA, "Memory Consistency Model: Causality order".
//!
//! Threads that learned the same share a clock, and a clock says of a warp whose lanes are all known
//! up to the same count just that count. After a barrier there is one clock for a whole CTA.
//!
//! Asynchronous operations are not threads; what their completion tells is kept under threads made
//! up for it ([`Epoch::of_agent`]): waiting on the mbarrier that an operation completes on makes
//! its epoch known.

mod epoch;
mod known;
mod warp;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use epoch::Epoch;
use epoch::LAST;
use known::{NOBODY, Threads};
pub(crate) use warp::WarpClock;

/// What happened before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Clock {
    home: u32,
    /// Of the home cluster.
    local: Threads,
    /// Of other clusters.
    foreign: BTreeMap<u32, Arc<Threads>>,
}

impl Clock {
    /// A clock of a thread of a cluster that knows nothing.
    pub(crate) fn new(cluster: u32) -> Self {
        Self { home: cluster, local: Threads::default(), foreign: BTreeMap::new() }
    }

    #[inline]
    fn of(&self, cluster: u32) -> &Threads {
        if cluster == self.home {
            &self.local
        } else {
            self.foreign.get(&cluster).map_or(NOBODY, |known| known)
        }
    }

    /// Whether an access at this epoch happened before.
    #[inline]
    pub(crate) fn covers(&self, epoch: Epoch) -> bool {
        let count = epoch.count();
        count == LAST || count <= self.of(epoch.cluster()).count(epoch)
    }

    /// Whether accesses of these lanes at this epoch happened before.
    #[inline]
    pub(in crate::memory) fn covers_lanes(&self, epoch: Epoch, lanes: u32) -> bool {
        epoch.count() == LAST || lanes == 0 || self.of(epoch.cluster()).covers_lanes(epoch, lanes)
    }

    /// The lanes of an epoch's warp whose accesses at its count happened before.
    pub(in crate::memory) fn known_lanes(&self, epoch: Epoch) -> u32 {
        if epoch.count() == LAST {
            return u32::MAX;
        }
        self.of(epoch.cluster()).known_lanes(epoch)
    }

    fn includes(&self, other: &Self) -> bool {
        self.of(other.home).includes(&other.local)
            && other.foreign.iter().all(|(&cluster, known)| {
                let own = self.foreign.get(&cluster);
                own.is_some_and(|own| Arc::ptr_eq(own, known)) || self.of(cluster).includes(known)
            })
    }

    fn entry(&mut self, cluster: u32) -> &mut Threads {
        if cluster == self.home {
            &mut self.local
        } else {
            Arc::make_mut(self.foreign.entry(cluster).or_default())
        }
    }

    /// Adds what another clock knows.
    pub(crate) fn join(&mut self, other: &Self) {
        self.entry(other.home).join(&other.local);
        for (&cluster, known) in &other.foreign {
            match self.foreign.get_mut(&cluster) {
                _ if cluster == self.home => self.local.join(known),
                None => drop(self.foreign.insert(cluster, Arc::clone(known))),
                Some(own) if own.includes(known) => {}
                Some(own) if known.includes(own) => *own = Arc::clone(known),
                Some(own) => Arc::make_mut(own).join(known),
            }
        }
    }

    /// Adds that these lanes of a warp are known up to a count.
    pub(crate) fn raise(&mut self, cluster: u32, warp: u32, lanes: u32, count: u32) {
        self.entry(cluster).raise(warp, lanes, count);
    }

    /// Adds that an asynchronous operation's epoch is known.
    pub(crate) fn raise_agent(&mut self, epoch: Epoch) {
        if let Some(agent) = epoch.agent() {
            self.entry(epoch.cluster()).raise_agent(agent, epoch.count());
        }
    }
}

/// Adds what `b` knows to `a`, and shares `b` where that says it all: then others may share it too.
fn join(a: &mut Arc<Clock>, b: &Arc<Clock>) {
    if Arc::ptr_eq(a, b) {
        return;
    }
    if a.home == b.home && b.includes(a) {
        *a = Arc::clone(b);
    } else if !a.includes(b) {
        Arc::make_mut(a).join(b);
    }
}

/// What a release tells: what its threads did and knew, and how much of that the async proxy may
/// see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(in crate::memory) seen: Arc<Clock>,
    pub(in crate::memory) proxied: Arc<Clock>,
}

impl Message {
    /// Nothing, to threads of a cluster.
    pub(crate) fn new(cluster: u32) -> Self {
        let nothing = Arc::new(Clock::new(cluster));
        Self { seen: Arc::clone(&nothing), proxied: nothing }
    }

    /// Adds what another message tells.
    pub(crate) fn join(&mut self, other: &Self) {
        join(&mut self.seen, &other.seen);
        join(&mut self.proxied, &other.proxied);
    }

    /// What its threads did and knew.
    pub(crate) fn seen(&self) -> &Clock {
        &self.seen
    }

    /// Adds that an asynchronous operation has completed.
    pub(crate) fn completed(&mut self, epoch: Epoch) {
        if !self.seen.covers(epoch) {
            Arc::make_mut(&mut self.seen).raise_agent(epoch);
        }
    }
}
