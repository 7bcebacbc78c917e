//! What the asynchronous machinery keeps of a CTA, and what instructions do with it.

use std::collections::BTreeMap;

use super::access::{self, name};
use super::footprint::{Footprint, Space, Touch};
use super::groups::{Groups, Halves};
use super::mbarrier::MbarrierError;
use super::objects::{BYTES, Mbarriers};
use super::pending::OperationId;
use super::pool::RegisterPool;
use crate::machine::{Cluster, Warp};
use crate::memory::clock::Epoch;
use crate::memory::shadow::{Access, Actor};
use crate::report::{AccessKind, Problem};

/// Gives out agents: who completes asynchronous operations, as far as clocks are concerned.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    used: u32,
}

impl Agents {
    /// One that nothing else uses.
    pub(crate) fn one(&mut self) -> u32 {
        self.used += 1;
        self.used - 1
    }
}

/// The bulk operations of a thread.
#[derive(Debug)]
pub(crate) struct Bulk {
    /// Their groups.
    pub(crate) groups: Groups<(Halves, u32)>,
    /// The agents that read their sources and write their destinations.
    pub(crate) agents: (u32, u32),
    /// How many there were.
    pub(crate) issued: u32,
}

/// What the asynchronous machinery keeps of a CTA.
#[derive(Debug, Default)]
pub(crate) struct CtaState {
    /// Its mbarriers.
    pub(crate) mbarriers: Mbarriers,
    /// Bulk operations by thread of the CTA.
    pub(crate) bulk: BTreeMap<u32, Bulk>,
    /// `cp.async` operations by thread of the CTA.
    pub(crate) copies: BTreeMap<u32, Groups<OperationId>>,
    /// Its registers, where their number is known.
    pub(crate) registers: Option<RegisterPool>,
}

impl CtaState {
    /// The bulk operations of a thread.
    pub(crate) fn bulk_of(&mut self, thread: u32, agents: &mut Agents) -> &mut Bulk {
        self.bulk.entry(thread).or_insert_with(|| Bulk {
            groups: Groups::default(),
            agents: (agents.one(), agents.one()),
            issued: 0,
        })
    }
}

impl Cluster {
    /// An error of an mbarrier as a report.
    pub(crate) fn mbarrier_problem(&self, rank: u32, offset: u32, error: MbarrierError) -> Problem {
        let memory = name(self, Space::Shared(rank), u64::from(offset), u64::from(BYTES));
        Problem::Mbarrier { memory, error }
    }

    /// Checks and records an ordinary access of `(rank, offset, bytes)` of shared memory.
    pub(crate) fn touch_shared(
        &mut self,
        warp: &Warp,
        lane: u32,
        (rank, offset, bytes): (u32, u32, u32),
        access: Access,
    ) -> Result<(), Problem> {
        let touch = match access {
            Access { strong: true, .. } => Touch::Reduce,
            Access { write: true, .. } => Touch::Write,
            Access { write: false, .. } => Touch::Read,
        };
        let run = (u64::from(offset), u64::from(bytes));
        let footprint = Footprint::new(Space::Shared(rank), touch, [run]);
        access::check_pending(self, &footprint)?;
        if !self.context.races {
            return Ok(());
        }
        let actor =
            Actor { epoch: warp.clock.epoch(lane), seen: warp.clock.seen(lane), pc: warp.pc() };
        let shared = &mut self.ctas[rank as usize].shared;
        shared.access(offset, bytes, access, &actor).map_err(|unordered| {
            let memory = name(self, Space::Shared(rank), run.0, run.1);
            access::race(self, memory, access::kind(touch), unordered)
        })
    }

    /// Checks that a lane may use an mbarrier: it lives, its init happened before, and its CTA is
    /// still there.
    pub(crate) fn use_mbarrier(
        &mut self,
        warp: &Warp,
        lane: u32,
        rank: u32,
        offset: u32,
    ) -> Result<(), Problem> {
        let live = self.ctas[rank as usize].asynch.mbarriers.get(offset).map(drop);
        live.map_err(|error| self.mbarrier_problem(rank, offset, error))?;
        let access = Access { write: true, strong: true };
        self.touch_shared(warp, lane, (rank, offset, BYTES), access)
    }

    /// `bytes` transactions complete on an mbarrier, by an operation with this epoch if it is one.
    pub(crate) fn complete_tx(
        &mut self,
        rank: u32,
        offset: u32,
        bytes: u32,
        epoch: Option<Epoch>,
    ) -> Result<(), Problem> {
        let id = self.id;
        let barriers = &mut self.ctas[rank as usize].asynch.mbarriers;
        let done = barriers.get_mut(offset).and_then(|object| {
            if let Some(epoch) = epoch {
                object.arriving().completed(epoch);
            }
            let complete = object.state.complete_tx(bytes)?;
            if complete {
                object.next_phase(id);
            }
            Ok(complete)
        });
        let complete = done.map_err(|error| self.mbarrier_problem(rank, offset, error))?;
        if complete {
            self.wake();
        }
        Ok(())
    }
}
