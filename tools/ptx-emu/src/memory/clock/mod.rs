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
use known::{Known, covers_all, join_all};
pub(crate) use warp::WarpClock;

/// What happened before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Clock {
    home: u32,
    /// By warp of the home cluster; what is missing is 0.
    local: Vec<Known>,
    /// Of other clusters.
    foreign: BTreeMap<u32, Arc<Vec<Known>>>,
}

impl Clock {
    /// A clock of a thread of a cluster that knows nothing.
    pub(crate) fn new(cluster: u32) -> Self {
        Self { home: cluster, local: Vec::new(), foreign: BTreeMap::new() }
    }

    fn of(&self, cluster: u32) -> &[Known] {
        if cluster == self.home {
            &self.local
        } else {
            self.foreign.get(&cluster).map_or(&[], |known| known.as_slice())
        }
    }

    /// Whether an access at this epoch happened before.
    #[inline]
    pub(crate) fn covers(&self, epoch: Epoch) -> bool {
        let known = self.of(epoch.cluster()).get(epoch.warp() as usize);
        let count = epoch.count();
        count == LAST || known.is_some_and(|known| count <= known.lane(epoch.lane()))
    }

    /// Whether accesses of these lanes at this epoch happened before.
    #[inline]
    pub(in crate::memory) fn covers_lanes(&self, epoch: Epoch, lanes: u32) -> bool {
        let count = epoch.count();
        if count == LAST || lanes == 0 {
            return true;
        }
        match self.of(epoch.cluster()).get(epoch.warp() as usize) {
            None => false,
            Some(Known::All(known)) => count <= *known,
            Some(Known::Lanes(known)) => {
                (0..32).all(|lane| lanes >> lane & 1 == 0 || count <= known[lane])
            }
        }
    }

    /// Whether accesses of all lanes of an epoch's warp at its count happened before.
    #[inline]
    pub(in crate::memory) fn covers_warp(&self, epoch: Epoch) -> bool {
        match self.of(epoch.cluster()).get(epoch.warp() as usize) {
            Some(Known::All(known)) => epoch.count() <= *known,
            _ => false,
        }
    }

    fn includes(&self, other: &Self) -> bool {
        covers_all(self.of(other.home), &other.local)
            && other.foreign.iter().all(|(&cluster, known)| {
                let own = self.foreign.get(&cluster);
                own.is_some_and(|own| Arc::ptr_eq(own, known))
                    || covers_all(self.of(cluster), known)
            })
    }

    fn entry(&mut self, cluster: u32) -> &mut Vec<Known> {
        if cluster == self.home {
            &mut self.local
        } else {
            Arc::make_mut(self.foreign.entry(cluster).or_default())
        }
    }

    /// Adds what another clock knows.
    pub(crate) fn join(&mut self, other: &Self) {
        join_all(self.entry(other.home), &other.local);
        for (&cluster, known) in &other.foreign {
            match self.foreign.get_mut(&cluster) {
                _ if cluster == self.home => join_all(&mut self.local, known),
                None => drop(self.foreign.insert(cluster, Arc::clone(known))),
                Some(own) if covers_all(own, known) => {}
                Some(own) if covers_all(known, own) => *own = Arc::clone(known),
                Some(own) => join_all(Arc::make_mut(own), known),
            }
        }
    }

    /// Adds that these lanes of a warp are known up to a count.
    pub(crate) fn raise(&mut self, cluster: u32, warp: u32, lanes: u32, count: u32) {
        let all = self.entry(cluster);
        let warp = warp as usize;
        if all.len() <= warp {
            all.resize(warp + 1, Known::All(0));
        }
        let known = &mut all[warp];
        if lanes == u32::MAX
            && let Known::All(old) = known
        {
            *old = count.max(*old);
            return;
        }
        let mut counts = known.lanes();
        for (lane, old) in counts.iter_mut().enumerate() {
            if lanes >> lane & 1 == 1 {
                *old = count.max(*old);
            }
        }
        *known = Known::from_lanes(counts);
    }

    /// Adds that an asynchronous operation's epoch is known.
    pub(crate) fn raise_agent(&mut self, epoch: Epoch) {
        self.raise(epoch.cluster(), epoch.warp(), 1 << epoch.lane(), epoch.count());
    }
}

/// `a` joined with `b`, sharing whichever says it all. The result's home is that of `a`.
fn joined(a: &Arc<Clock>, b: &Arc<Clock>) -> Arc<Clock> {
    if Arc::ptr_eq(a, b) || a.includes(b) {
        Arc::clone(a)
    } else if a.home == b.home && b.includes(a) {
        Arc::clone(b)
    } else {
        let mut both = Clock::clone(a);
        both.join(b);
        Arc::new(both)
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
        self.seen = joined(&self.seen, &other.seen);
        self.proxied = joined(&self.proxied, &other.proxied);
    }

    /// What its threads did and knew.
    pub(crate) fn seen(&self) -> &Clock {
        &self.seen
    }

    /// Adds that an asynchronous operation has completed.
    pub(crate) fn completed(&mut self, epoch: Epoch) {
        Arc::make_mut(&mut self.seen).raise_agent(epoch);
    }
}
