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

use std::collections::BTreeMap;
use std::sync::Arc;

use super::published::Reach;

/// The largest count; accesses at it are taken to be ordered before everything, so that a count
/// that ran over never makes up a race.
const LAST: u32 = (1 << 24) - 1;
const AGENTS: u32 = 512;

/// A thread, its warp's count, and whether the access was strong (atomic, volatile, or with a
/// scope). Zero is nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Epoch(pub(super) u64);

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

    pub(super) fn strong(self, strong: bool) -> Self {
        if strong { Self(self.0 | Self::STRONG) } else { self }
    }

    pub(super) fn is_strong(self) -> bool {
        self.0 & Self::STRONG != 0
    }

    /// Whether it is that of an asynchronous operation.
    pub(crate) fn is_agent(self) -> bool {
        self.warp() >= AGENTS
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

    fn count(self) -> u32 {
        self.0 as u32 & LAST
    }

    /// The epoch without its lane: all lanes of a warp at one count.
    pub(super) fn of_lanes(self) -> Self {
        Self(self.0 & !(31 << 24))
    }

    /// This epoch of another lane.
    pub(super) fn with_lane(self, lane: u32) -> Self {
        Self(self.0 & !(31 << 24) | u64::from(lane) << 24)
    }

    pub(super) fn same_thread(self, other: Self) -> bool {
        (self.0 ^ other.0) & !(Self::STRONG | u64::from(LAST)) == 0
    }
}

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

    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All(a), Self::All(b)) => a >= b,
            (Self::All(a), Self::Lanes(b)) => b.iter().all(|b| a >= b),
            (Self::Lanes(a), Self::All(b)) => a.iter().all(|a| a >= b),
            (Self::Lanes(a), Self::Lanes(b)) => {
                Arc::ptr_eq(a, b) || a.iter().zip(b.iter()).all(|(a, b)| a >= b)
            }
        }
    }

    fn join(&mut self, other: &Self) {
        if other.covers(self) {
            *self = other.clone();
        } else if !self.covers(other) {
            let (a, b) = (self.lanes(), other.lanes());
            *self = Self::from_lanes(std::array::from_fn(|i| a[i].max(b[i])));
        }
    }
}

/// What happened before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Clock {
    home: u32,
    /// By warp of the home cluster; what is missing is 0.
    local: Vec<Known>,
    /// Of other clusters.
    foreign: BTreeMap<u32, Arc<Vec<Known>>>,
}

fn join_all(into: &mut Vec<Known>, from: &[Known]) {
    if into.len() < from.len() {
        into.resize(from.len(), Known::All(0));
    }
    for (a, b) in into.iter_mut().zip(from) {
        a.join(b);
    }
}

fn covers_all(a: &[Known], b: &[Known]) -> bool {
    let common = a.len().min(b.len());
    let none = Known::All(0);
    a.iter().zip(b).all(|(a, b)| a.covers(b)) && b[common..].iter().all(|b| none.covers(b))
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
    pub(super) fn covers_lanes(&self, epoch: Epoch, lanes: u32) -> bool {
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
    pub(super) fn covers_warp(&self, epoch: Epoch) -> bool {
        match self.of(epoch.cluster()).get(epoch.warp() as usize) {
            Some(Known::All(known)) => epoch.count() <= *known,
            _ => false,
        }
    }

    fn includes(&self, other: &Self) -> bool {
        covers_all(self.of(other.home), &other.local)
            && other.foreign.iter().all(|(&cluster, known)| covers_all(self.of(cluster), known))
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
            join_all(self.entry(cluster), known);
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
    pub(super) seen: Arc<Clock>,
    pub(super) proxied: Arc<Clock>,
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

/// Lanes that know the same.
#[derive(Debug, Clone)]
pub(super) struct View {
    lanes: u32,
    message: Message,
}

impl View {
    /// Which.
    #[inline]
    pub(super) fn lanes(&self) -> u32 {
        self.lanes
    }

    /// What happened before their next access.
    #[inline]
    pub(super) fn seen(&self) -> &Clock {
        &self.message.seen
    }
}

/// What lanes knew, and their count, at their last memory fence, and whom it was meant for.
#[derive(Debug, Clone)]
struct Fenced {
    view: View,
    count: u32,
    reach: Reach,
}

/// The clocks of a warp's threads.
#[derive(Debug, Clone)]
pub(crate) struct WarpClock {
    cluster: u32,
    warp: u32,
    count: u32,
    /// Every lane is in one.
    views: Vec<View>,
    fenced: Vec<Fenced>,
    /// What lanes read with relaxed strong loads, which a fence makes known.
    observed: Vec<View>,
    /// Lanes that do not exist: told of with any other, so that a warp that is not full is still
    /// known as a whole.
    missing: u32,
}

impl WarpClock {
    /// The clock at the start of warp number `warp` of a cluster, of which `existing` lanes exist.
    pub(crate) fn new(cluster: u32, warp: u32, existing: u32) -> Self {
        let views = vec![View { lanes: u32::MAX, message: Message::new(cluster) }];
        let (fenced, observed) = (Vec::new(), Vec::new());
        Self { cluster, warp, count: 1, views, fenced, observed, missing: !existing }
    }

    /// Its cluster.
    pub(crate) fn cluster(&self) -> u32 {
        self.cluster
    }

    /// The epoch of an access that a lane makes now.
    pub(crate) fn epoch(&self, lane: u32) -> Epoch {
        Epoch::new(self.cluster, self.warp, lane, self.count)
    }

    /// What lanes know, by those that know the same.
    pub(super) fn views(&self) -> &[View] {
        &self.views
    }

    fn view(&self, lane: u32) -> &Message {
        let view = self.views.iter().find(|view| view.lanes >> lane & 1 == 1);
        &view.unwrap_or(&self.views[0]).message
    }

    /// What happened before a lane's next access.
    pub(crate) fn seen(&self, lane: u32) -> &Clock {
        &self.view(lane).seen
    }

    /// The ordinary writes that the async proxy sees if this lane issues an operation now. Unlike
    /// [`WarpClock::seen`] it does not take for granted the lane's own.
    pub(crate) fn proxied(&self, lane: u32) -> &Clock {
        &self.view(lane).proxied
    }

    /// Adds to a message what these lanes did and know. Accesses after it are not part of it.
    pub(crate) fn release(&mut self, lanes: u32, message: &mut Message) {
        for view in self.views.iter().filter(|view| view.lanes & lanes != 0) {
            message.join(&view.message);
        }
        let told = lanes | self.missing;
        let seen = Arc::make_mut(&mut message.seen);
        seen.raise(self.cluster, self.warp, told, self.count);
        self.advance();
    }

    fn advance(&mut self) {
        self.count = (self.count + 1).min(LAST);
    }

    /// Makes what a message tells known to these lanes.
    pub(crate) fn acquire(&mut self, lanes: u32, message: &Message) {
        self.change(lanes, |known| known.join(message));
    }

    /// `fence.proxy.async`: the async proxy sees what these lanes did and know.
    pub(crate) fn fence_proxy_async(&mut self, lanes: u32) {
        let (cluster, warp, count) = (self.cluster, self.warp, self.count);
        self.change(lanes, |known| {
            let mut proxied = Clock::clone(&known.proxied);
            proxied.join(&known.seen);
            proxied.raise(cluster, warp, lanes, count);
            known.proxied = Arc::new(proxied);
        });
        self.advance();
    }

    /// A memory fence: these lanes learn what they observed, and what they know now is what their
    /// later relaxed strong stores tell.
    pub(crate) fn fence(&mut self, lanes: u32, reach: Reach) {
        for view in std::mem::take(&mut self.observed) {
            let [now, later] = [view.lanes & lanes, view.lanes & !lanes];
            if now != 0 {
                self.acquire(now, &view.message);
            }
            if later != 0 {
                self.observed.push(View { lanes: later, ..view });
            }
        }
        self.fenced.retain_mut(|fenced| {
            fenced.view.lanes &= !lanes;
            fenced.view.lanes != 0
        });
        for view in self.views.iter().filter(|view| view.lanes & lanes != 0) {
            let view = View { lanes: view.lanes & lanes, message: view.message.clone() };
            self.fenced.push(Fenced { view, count: self.count, reach });
        }
        self.advance();
    }

    /// What a relaxed strong store of a lane tells: what the lane did and knew before its last
    /// fence, and whom that was meant for.
    pub(crate) fn told(&self, lane: u32) -> Option<(Message, Reach)> {
        let fenced = self.fenced.iter().find(|fenced| fenced.view.lanes >> lane & 1 == 1);
        fenced.map(|Fenced { view, count, reach }| {
            let mut message = view.message.clone();
            Arc::make_mut(&mut message.seen).raise(self.cluster, self.warp, 1 << lane, *count);
            (message, *reach)
        })
    }

    /// Adds to a message what these lanes did and knew before their last fence.
    pub(crate) fn tell(&self, lanes: u32, message: &mut Message) {
        for Fenced { view, count, .. } in &self.fenced {
            if view.lanes & lanes != 0 {
                message.join(&view.message);
                let told = view.lanes & lanes;
                Arc::make_mut(&mut message.seen).raise(self.cluster, self.warp, told, *count);
            }
        }
    }

    /// A relaxed strong load of a lane found a message: the next fence makes it known.
    pub(crate) fn observe(&mut self, lane: u32, message: Message) {
        self.observed.push(View { lanes: 1 << lane, message });
    }

    /// Changes what these lanes know, once for all that know the same.
    fn change(&mut self, lanes: u32, change: impl Fn(&mut Message)) {
        let mut views: Vec<View> = Vec::with_capacity(self.views.len() + 1);
        let mut add = |lanes: u32, message: Message| {
            let same = views.iter_mut().find(|view| {
                Arc::ptr_eq(&view.message.seen, &message.seen)
                    && Arc::ptr_eq(&view.message.proxied, &message.proxied)
            });
            match same {
                Some(view) => view.lanes |= lanes,
                None => views.push(View { lanes, message }),
            }
        };
        // Lanes that do not exist go along with any.
        let lanes = lanes | self.missing;
        for view in &self.views {
            let [changed, kept] = [view.lanes & lanes, view.lanes & !lanes];
            if kept != 0 {
                add(kept, view.message.clone());
            }
            if changed != 0 {
                let mut message = view.message.clone();
                change(&mut message);
                add(changed, message);
            }
        }
        self.views = views;
    }
}
