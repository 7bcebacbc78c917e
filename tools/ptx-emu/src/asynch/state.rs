//! What the asynchronous machinery keeps of a CTA, and what instructions do with it.

use std::collections::BTreeMap;

use super::access::{self, name};
use super::copy::Copied;
use super::footprint::{Space, Touch};
use super::fragments::{Touched, Trespass};
use super::groups::{Groups, Halves};
use super::mbarrier::MbarrierError;
use super::objects::{BYTES, Mbarriers};
use super::pending::OperationId;
use super::pool::RegisterPool;
use super::warpgroup::Warpgroup;
use crate::machine::{Cluster, Warp};
use crate::memory::clock::{Epoch, Message};
use crate::memory::shadow::{Access, Actor, Unordered};
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
    /// The instruction of the last.
    pub(crate) pc: u32,
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
    /// The bytes of each of them that no wait has covered.
    pub(crate) unwaited: BTreeMap<OperationId, Vec<Copied>>,
    /// Under which mbarrier's epoch an arrival first covered a thread's part of one.
    pub(crate) settled: BTreeMap<(OperationId, u32), Epoch>,
    /// Its warpgroups, as far as they have executed `wgmma`.
    pub(crate) warpgroups: Vec<Warpgroup>,
    /// Where a warp's last `mbarrier.try_wait` came back in vain, and in which lanes.
    pub(crate) refused: BTreeMap<u32, (u32, u32)>,
    /// What its warps did and knew when they exited, and how many have.
    pub(crate) exit: Option<Message>,
    pub(crate) exited_warps: u32,
    /// The last accesses of its shared memory by threads of other CTAs: epoch and instruction, by
    /// warp of the cluster and lane.
    pub(crate) visitors: BTreeMap<(u32, u32), (Epoch, u32)>,
    /// Its registers, where their number is known.
    pub(crate) registers: Option<RegisterPool>,
}

impl CtaState {
    /// A warpgroup by number.
    pub(crate) fn warpgroup(&mut self, number: usize, agents: &mut Agents) -> &mut Warpgroup {
        while self.warpgroups.len() <= number {
            self.warpgroups.push(Warpgroup::new(agents.one()));
        }
        &mut self.warpgroups[number]
    }

    /// The bulk operations of a thread.
    pub(crate) fn bulk_of(&mut self, thread: u32, agents: &mut Agents) -> &mut Bulk {
        self.bulk.entry(thread).or_insert_with(|| Bulk {
            groups: Groups::default(),
            agents: (agents.one(), agents.one()),
            issued: 0,
            pc: 0,
        })
    }
}

impl Cluster {
    /// An access of a register that a `wgmma` owns as a report.
    pub(crate) fn trespass(&self, trespass: Trespass) -> Problem {
        let kernel = &self.context.kernel;
        Problem::InFlightRegister {
            register: kernel.register_names[trespass.slot.0 as usize].clone(),
            issued: kernel.code[trespass.issued as usize].location.line,
            access: if trespass.writes { "written" } else { "read" },
        }
    }

    /// An instruction is about to execute that touches registers of some `wgmma`.
    pub(crate) fn touch_fragments(
        &mut self,
        warp: &Warp,
        touched: &Touched,
    ) -> Result<(), Problem> {
        let (group, side) = (warp.index() as usize / 4, warp.index() as usize % 4);
        let agents = &mut self.agents;
        let warpgroup = self.ctas[warp.rank() as usize].asynch.warpgroup(group, agents);
        let touch = warpgroup.sides[side].fragments.touch(touched, warp.pc());
        touch.map_err(|trespass| self.trespass(trespass))
    }

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
        let (space, start) = (Space::Shared(rank), u64::from(offset));
        let end = start + u64::from(bytes);
        if let Some((conflict, _)) = self.operations.conflict(space, touch, start, end) {
            return Err(access::meets(self, space, touch, conflict));
        }
        if !self.context.races {
            return Ok(());
        }
        let actor =
            Actor { epoch: warp.clock.epoch(lane), seen: warp.clock.seen(lane), pc: warp.pc() };
        let shared = &mut self.ctas[rank as usize].shared;
        shared.access(offset, bytes, access, &actor).map_err(|unordered| {
            let memory = name(self, space, start, u64::from(bytes));
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
        self.check_alive(rank)?;
        let found = self.ctas[rank as usize].asynch.mbarriers.get(offset);
        let made = found.map_err(|error| self.mbarrier_problem(rank, offset, error))?.made();
        // Later operations on the mbarrier cover its init in the shadow, so it is kept here too.
        if let Some((epoch, pc)) = made
            && self.context.races
            && (epoch.warp(), epoch.lane()) != (warp.id(), lane)
            && !warp.clock.seen(lane).covers(epoch)
        {
            let memory = name(self, Space::Shared(rank), u64::from(offset), u64::from(BYTES));
            let unordered = Unordered { epoch, wrote: true, pc };
            return Err(access::race(self, memory, AccessKind::Atomic, unordered));
        }
        let access = Access { write: true, strong: true, volatile: false };
        self.touch_shared(warp, lane, (rank, offset, BYTES), access)
    }

    /// `bytes` transactions complete on an mbarrier, by an operation with this epoch and instruction
    /// if it is one.
    pub(crate) fn complete_tx(
        &mut self,
        rank: u32,
        offset: u32,
        bytes: u32,
        by: Option<(Epoch, u32)>,
    ) -> Result<(), Problem> {
        let id = self.id;
        let barriers = &mut self.ctas[rank as usize].asynch.mbarriers;
        let done = barriers.get_mut(offset).and_then(|object| {
            if let Some((epoch, pc)) = by {
                object.completed(epoch, pc);
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
