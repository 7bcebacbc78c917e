//! `mbarrier.*`: execution.

use super::Flow;
use super::mbarrier::{Arrive, Mbarrier, Phase, Place, Wait};
use super::window::value;
use crate::asynch::mbarrier::Mbarrier as State;
use crate::asynch::objects::BYTES;
use crate::machine::{Cluster, WaitFor, Warp, lanes};
use crate::memory::shadow::Access;
use crate::report::{AccessKind, Problem, Stop};

impl Place {
    /// Rank and offset of the mbarrier in a lane.
    pub(crate) fn locate(
        &self,
        warp: &Warp,
        cluster: &Cluster,
        lane: usize,
    ) -> Result<(u32, u32), Problem> {
        let shape = (BYTES, BYTES);
        self.window.shared(warp, cluster, &self.address, lane, shape, AccessKind::Atomic)
    }

    /// As [`Place::locate`], of an mbarrier that the lane is about to use: its init must have
    /// happened before.
    pub(crate) fn found(
        &self,
        warp: &Warp,
        cluster: &mut Cluster,
        lane: usize,
    ) -> Result<(u32, u32), Problem> {
        let (rank, offset) = self.locate(warp, cluster, lane)?;
        cluster.visit(warp, lane as u32, rank)?;
        cluster.use_mbarrier(warp, lane as u32, rank, offset)?;
        Ok((rank, offset))
    }
}

impl Mbarrier {
    /// Executes the instruction for the lanes in `mask`.
    pub(crate) fn execute(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<Flow, Stop> {
        if let Self::Wait(wait) = self {
            return wait.execute(warp, cluster, mask);
        }
        if let Self::PendingCount { count, token } = self {
            for lane in lanes(mask) {
                let pending = State::token_pending(warp.registers.value(*token, lane));
                warp.registers.set(*count, lane, u64::from(pending));
            }
            return Ok(Flow::Next);
        }
        for lane in lanes(mask) {
            self.act(warp, cluster, lane).map_err(|problem| problem.at(lane as u32))?;
        }
        Ok(Flow::Next)
    }

    fn act(&self, warp: &mut Warp, cluster: &mut Cluster, lane: usize) -> Result<(), Problem> {
        let write = Access { write: true, strong: false, volatile: false };
        match self {
            Self::Init { at, count } => {
                let (rank, offset) = at.locate(warp, cluster, lane)?;
                cluster.touch_shared(warp, lane as u32, (rank, offset, BYTES), write)?;
                let count = value(warp, *count, lane);
                let (id, agents) = (cluster.id, &mut cluster.agents);
                let cta = &mut cluster.ctas[rank as usize];
                let made = cta.asynch.mbarriers.init(id, offset, count, || agents.one());
                made.map_err(|error| cluster.mbarrier_problem(rank, offset, error))?;
                let epoch = warp.clock.epoch(lane as u32);
                let barriers = &mut cluster.ctas[rank as usize].asynch.mbarriers;
                if let Ok(object) = barriers.get_mut(offset) {
                    object.note_init(epoch, warp.pc());
                }
                cluster.ctas[rank as usize].shared.initialize(offset, BYTES);
            }
            Self::Invalidate { at } => {
                let (rank, offset) = at.locate(warp, cluster, lane)?;
                cluster.touch_shared(warp, lane as u32, (rank, offset, BYTES), write)?;
                let cta = &mut cluster.ctas[rank as usize];
                let ended = cta.asynch.mbarriers.invalidate(offset);
                ended.map_err(|error| cluster.mbarrier_problem(rank, offset, error))?;
                // What an invalidated mbarrier leaves behind is no value to read.
                cluster.ctas[rank as usize].shared.poison(offset, BYTES);
                cluster.wake();
            }
            Self::ExpectTx { at, bytes } => {
                let (rank, offset) = at.found(warp, cluster, lane)?;
                let bytes = value(warp, *bytes, lane);
                let barriers = &mut cluster.ctas[rank as usize].asynch.mbarriers;
                let done = barriers.get_mut(offset).and_then(|it| it.state.expect_tx(bytes));
                done.map_err(|error| cluster.mbarrier_problem(rank, offset, error))?;
            }
            Self::CompleteTx { at, bytes } => {
                let (rank, offset) = at.found(warp, cluster, lane)?;
                cluster.complete_tx(rank, offset, value(warp, *bytes, lane), None)?;
            }
            Self::Arrive(arrive) => arrive.act(warp, cluster, lane)?,
            Self::Wait(_) | Self::PendingCount { .. } => {}
        }
        Ok(())
    }
}

impl Arrive {
    fn act(&self, warp: &mut Warp, cluster: &mut Cluster, lane: usize) -> Result<(), Problem> {
        let (rank, offset) = self.at.found(warp, cluster, lane)?;
        let count = value(warp, self.count, lane);
        let expect_tx = self.expect_tx.map(|bytes| value(warp, bytes, lane));
        let id = cluster.id;
        let barriers = &mut cluster.ctas[rank as usize].asynch.mbarriers;
        let arrived = barriers.get_mut(offset).and_then(|object| {
            let token = object.state.token();
            if let Some(bytes) = expect_tx {
                object.state.expect_tx(bytes)?;
            }
            if self.drops {
                object.state.drop_expected(count)?;
            }
            if self.releases {
                warp.clock.release(1 << lane, object.arriving());
            }
            let complete = if self.no_complete {
                object.state.arrive_no_complete(count)?;
                false
            } else {
                object.state.arrive(count)?
            };
            if complete {
                object.next_phase(id);
            }
            Ok((token, complete))
        });
        let (token, complete) =
            arrived.map_err(|error| cluster.mbarrier_problem(rank, offset, error))?;
        if complete {
            cluster.wake();
        }
        if let Some(slot) = self.token {
            if rank != warp.rank() {
                let what = "an arrive on another CTA's mbarrier returns no token".to_owned();
                return Err(Problem::Operand { what });
            }
            warp.registers.set(slot, lane, token);
        }
        Ok(())
    }
}

impl Wait {
    fn execute(&self, warp: &mut Warp, cluster: &mut Cluster, mask: u32) -> Result<Flow, Stop> {
        // Lanes that pass, by mbarrier: most often all of them by one.
        let mut passes: Vec<(u32, u32, u32)> = Vec::new();
        let mut waits: Vec<(u32, u32, u64)> = Vec::new();
        for lane in lanes(mask) {
            let at = |problem: Problem| problem.at(lane as u32);
            let (rank, offset) = self.at.found(warp, cluster, lane).map_err(at)?;
            if rank != warp.rank() {
                let what = "a CTA can wait for its own mbarriers only".to_owned();
                return Err(at(Problem::Operand { what }));
            }
            let barriers = &cluster.ctas[rank as usize].asynch.mbarriers;
            let tested = barriers.get(offset).and_then(|object| {
                let over = match self.phase {
                    Phase::Parity(parity) => {
                        object.state.parity_passed(value(warp, parity, lane) & 1 == 1)
                    }
                    Phase::Token(token) => {
                        object.state.token_passed(warp.registers.value(token, lane))?
                    }
                };
                Ok((over, object.state.phase()))
            });
            let (over, phase) =
                tested.map_err(|error| at(cluster.mbarrier_problem(rank, offset, error)))?;
            if over {
                match passes.iter_mut().find(|pass| (pass.0, pass.1) == (rank, offset)) {
                    Some(pass) => pass.2 |= 1 << lane,
                    None => passes.push((rank, offset, 1 << lane)),
                }
            } else if !waits.contains(&(rank, offset, phase)) {
                waits.push((rank, offset, phase));
            }
        }
        let passed = passes.iter().fold(0, |all, &(_, _, lanes)| all | lanes);
        for (rank, offset, lanes) in passes.into_iter().filter(|_| self.acquires) {
            if let Ok(object) = cluster.ctas[rank as usize].asynch.mbarriers.get(offset) {
                warp.clock.acquire(lanes, object.arrived());
            }
        }
        // A thread may be suspended until its phase is over, or for no time at all. The first attempt
        // comes back at once, so that whoever does not try again is found out; the second suspends,
        // but not while others of its warp could go on, and not if it was resumed: then it has waited
        // long enough.
        let refused = &mut cluster.ctas[warp.rank() as usize].asynch.refused;
        if passed != 0 || !self.suspends {
            refused.remove(&warp.index());
        } else if refused.insert(warp.index(), (warp.pc(), mask)) == Some((warp.pc(), mask))
            && warp.resumed().is_none()
        {
            return Ok(Flow::Wait(WaitFor::Mbarriers(waits)));
        }
        warp.registers.set_predicate(self.complete, passed, mask);
        // Who spins lets others go on.
        Ok(if passed == 0 && !self.suspends { Flow::Yield } else { Flow::Next })
    }
}
