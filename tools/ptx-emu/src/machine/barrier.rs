//! Barriers of CTAs and of clusters.

use std::collections::BTreeMap;

use super::{Cluster, WaitFor, Warp};
use crate::isa::Flow;
use crate::memory::clock::Message;
use crate::report::{Problem, Stop};

/// What `barrier.red` combines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reduced {
    /// Threads whose predicate was true.
    pub(crate) count: u32,
    /// Whether all were.
    pub(crate) all: bool,
    /// Whether this phase reduces: unknown until the first warp arrives.
    reduces: Option<bool>,
}

impl Default for Reduced {
    fn default() -> Self {
        Self { count: 0, all: true, reduces: None }
    }
}

/// One of the 16 barriers of a CTA.
#[derive(Debug, Default)]
pub(crate) struct Barrier {
    /// Phases that are over.
    pub(crate) phase: u64,
    /// Threads that have arrived in this phase: whole warps count 32, whatever lanes they have.
    pub(crate) arrived: u32,
    /// Threads that this phase expects, where an instruction says.
    expected: Option<u32>,
    /// Lanes that have arrived of warps that are not all there.
    partial: BTreeMap<u32, u32>,
    telling: Option<Message>,
    /// What the threads of the phase before this told.
    pub(crate) told: Option<Message>,
    reducing: Reduced,
    /// What the threads of the phase before this voted.
    pub(crate) reduced: Reduced,
}

/// `barrier.cluster`.
#[derive(Debug, Default)]
pub(crate) struct ClusterBarrier {
    /// Phases that are over.
    pub(crate) phase: u64,
    /// Lanes that have arrived in this phase, by warp of the cluster.
    arrived: Vec<u32>,
    /// Lanes that have arrived, in this phase or before, and not waited since.
    between: Vec<u32>,
    telling: Option<Message>,
    told: Option<Message>,
}

impl ClusterBarrier {
    pub(super) fn new(warps: usize) -> Self {
        Self { arrived: vec![0; warps], between: vec![0; warps], ..Self::default() }
    }

    /// Threads that have arrived in this phase.
    pub(crate) fn n_arrived(&self) -> u32 {
        self.arrived.iter().map(|lanes| lanes.count_ones()).sum()
    }
}

impl Barrier {
    /// Threads that this phase expects, of `all` in the CTA that have not exited.
    pub(crate) fn expects(&self, all: u32) -> u32 {
        self.expected.unwrap_or(all)
    }

    /// Whether threads have arrived in a phase that is not over.
    pub(crate) fn is_open(&self) -> bool {
        self.arrived > 0 || !self.partial.is_empty()
    }
}

impl Cluster {
    /// Threads of the CTA of a rank, in whole warps, but for warps that have exited.
    pub(crate) fn threads_alive(&self, rank: u32) -> u32 {
        self.live_of(rank).iter().filter(|&&live| live != 0).count() as u32 * 32
    }

    /// Lanes that have not exited of the warps of the CTA of a rank.
    pub(crate) fn live_of(&self, rank: u32) -> &[u32] {
        let warps = self.context.warps_per_cta() as usize;
        &self.live[rank as usize * warps..][..warps]
    }

    /// Lanes arrive at a barrier of their CTA; the phase that they arrive in.
    pub(crate) fn arrive_at(
        &mut self,
        warp: &mut Warp,
        number: u32,
        threads: Option<u64>,
        mask: u32,
        votes: Option<u32>,
    ) -> Result<u64, Stop> {
        let problem = |what: String| Err(Problem::Barrier { barrier: number, what }.of_warp());
        let all = self.context.warps_per_cta() * 32;
        let expected = match threads {
            None => None,
            Some(n) if n == 0 || n % 32 != 0 || n > u64::from(all) => {
                return problem(format!(
                    "{n} threads cannot meet: a multiple of 32 up to the CTA's {all} can"
                ));
            }
            Some(n) => Some(n as u32),
        };
        let rank = warp.rank();
        let id = self.id;
        let state = &mut self.ctas[rank as usize].barriers[number as usize];
        let phase = state.phase;
        if state.is_open() && state.expected != expected {
            let say = |n: Option<u32>| n.map_or("all".to_owned(), |n| n.to_string());
            let (before, now) = (say(state.expected), say(expected));
            return problem(format!("{before} threads were to meet here, now {now}"));
        }
        if state.is_open() && state.reducing.reduces != Some(votes.is_some()) {
            return problem("reductions do not mix with other uses".to_owned());
        }
        state.expected = expected;
        state.reducing.reduces = Some(votes.is_some());
        if let Some(votes) = votes {
            state.reducing.count += (votes & mask).count_ones();
            state.reducing.all &= votes & mask == mask;
        }
        let message = state.telling.get_or_insert_with(|| Message::new(id));
        warp.clock.release(mask, message);
        let here = state.partial.remove(&warp.index()).unwrap_or(0);
        if here & mask != 0 {
            return problem("lanes arrive twice before the rest of their warp".to_owned());
        }
        if (here | mask) & warp.live() == warp.live() {
            state.arrived += 32;
        } else {
            state.partial.insert(warp.index(), here | mask);
        }
        self.settle(rank, number as usize);
        Ok(phase)
    }

    /// Ends the phase of a barrier if all have arrived.
    fn settle(&mut self, rank: u32, number: usize) {
        let all = self.threads_alive(rank);
        let state = &mut self.ctas[rank as usize].barriers[number];
        if state.arrived == 0 || state.arrived < state.expects(all) {
            return;
        }
        state.phase += 1;
        state.arrived = 0;
        state.expected = None;
        state.told = state.telling.take();
        state.reduced = std::mem::take(&mut state.reducing);
        self.wake();
    }

    /// Lanes arrive at the cluster's barrier.
    pub(crate) fn arrive(
        &mut self,
        warp: &mut Warp,
        mask: u32,
        releases: bool,
    ) -> Result<(), Stop> {
        let id = self.id;
        let barrier = &mut self.barrier;
        let between = &mut barrier.between[warp.id() as usize];
        if *between & mask != 0 {
            let lane = (*between & mask).trailing_zeros();
            let what = "barrier.cluster.arrive again without barrier.cluster.wait".to_owned();
            return Err(Problem::Operand { what }.at(lane));
        }
        *between |= mask;
        barrier.arrived[warp.id() as usize] |= mask;
        let message = barrier.telling.get_or_insert_with(|| Message::new(id));
        if releases {
            warp.clock.release(mask, message);
        } else {
            warp.clock.tell(mask, message);
        }
        self.settle_cluster();
        Ok(())
    }

    fn settle_cluster(&mut self) {
        let barrier = &mut self.barrier;
        if barrier.telling.is_none()
            || self.live.iter().zip(&barrier.arrived).any(|(live, arrived)| live & !arrived != 0)
        {
            return;
        }
        barrier.phase += 1;
        barrier.arrived.fill(0);
        barrier.told = barrier.telling.take();
        // Whatever the arrivals tell, all CTAs have started.
        if let Some(told) = &mut barrier.told {
            self.starts.iter().for_each(|&start| told.completed(start));
        }
        self.wake();
    }

    /// Lanes wait at the cluster's barrier.
    pub(crate) fn wait(&mut self, warp: &mut Warp, mask: u32) -> Result<Flow, Stop> {
        let at = warp.id() as usize;
        let strangers = mask & !self.barrier.between[at];
        if strangers != 0 {
            let what = "barrier.cluster.wait without barrier.cluster.arrive".to_owned();
            return Err(Problem::Operand { what }.at(strangers.trailing_zeros()));
        }
        if self.barrier.arrived[at] & mask != 0 {
            return Ok(Flow::Wait(WaitFor::ClusterBarrier { phase: self.barrier.phase }));
        }
        self.barrier.between[at] &= !mask;
        if let Some(message) = &self.barrier.told {
            warp.clock.acquire(mask, message);
        }
        Ok(Flow::Next)
    }

    /// Lanes of a warp have exited: barriers no longer wait for them.
    pub(super) fn exited(&mut self, warp: &Warp) {
        self.live[warp.id() as usize] = warp.live;
        let rank = warp.rank();
        for number in 0..16 {
            let state = &mut self.ctas[rank as usize].barriers[number];
            if let Some(&here) = state.partial.get(&warp.index())
                && here & warp.live == warp.live
            {
                state.partial.remove(&warp.index());
                state.arrived += 32;
            }
            if warp.live == 0 || state.is_open() {
                self.settle(rank, number);
            }
        }
        self.settle_cluster();
        self.wake();
    }
}
