//! What must hold when a CTA exits: nothing asynchronous may need its shared memory any more.
//!
//! Whether an operation has completed by then is a matter of time; whether a thread of the CTA has
//! waited for it is not. So clocks decide: everything that others did to the CTA must have happened
//! before the last of its warps exits.

use super::access::thread;
use super::footprint::Space;
use super::warpgroup::Warpgroup;
use crate::machine::{Cluster, Warp};
use crate::memory::clock::{Clock, Epoch, Message};
use crate::report::{Place, Problem, Report, ThreadName};

impl Cluster {
    /// A warp has exited; with the last one, its CTA has.
    pub(crate) fn warp_exited(&mut self, warp: &mut Warp) -> Result<(), Box<Report>> {
        let (id, rank) = (self.id, warp.rank());
        let warps = self.context.warps_per_cta();
        let state = &mut self.ctas[rank as usize].asynch;
        warp.clock.release(u32::MAX, state.exit.get_or_insert_with(|| Message::new(id)));
        state.exited_warps += 1;
        if state.exited_warps < warps {
            return Ok(());
        }
        match self.left_behind(rank, warp) {
            None => Ok(()),
            Some((problem, place)) => Err(Box::new(Report { problem, place })),
        }
    }

    /// Whether all warps of a CTA have exited.
    pub(crate) fn has_exited(&self, rank: u32) -> bool {
        self.ctas[rank as usize].asynch.exited_warps == self.context.warps_per_cta()
    }

    /// A lane is about to access the shared memory of a CTA of the cluster.
    pub(crate) fn visit(&mut self, warp: &Warp, lane: u32, rank: u32) -> Result<(), Problem> {
        if rank == warp.rank() {
            return Ok(());
        }
        self.check_alive(rank)?;
        let start = self.starts[rank as usize];
        if self.context.races && !warp.clock.seen(lane).covers(start) {
            return Err(Problem::NotStarted { who: self.name_cta(rank) });
        }
        let visitors = &mut self.ctas[rank as usize].asynch.visitors;
        visitors.insert((warp.id(), lane), (warp.clock.epoch(lane), warp.pc()));
        Ok(())
    }

    /// Fails if a CTA has exited whose shared memory is about to be accessed.
    pub(crate) fn check_alive(&self, rank: u32) -> Result<(), Problem> {
        if self.has_exited(rank) {
            let what = "its shared memory is accessed".to_owned();
            return Err(Problem::Exited { what, who: self.name_cta(rank) });
        }
        Ok(())
    }

    fn name_cta(&self, rank: u32) -> ThreadName {
        ThreadName { cta: self.ctas[rank as usize].index, warp: 0, lane: None }
    }

    /// What is wrong with the exit of a CTA, and where that comes from.
    fn left_behind(&self, rank: u32, last: &Warp) -> Option<(Problem, Place)> {
        let leak = |what: String, place: Place| Some((Problem::Leak { what }, place));
        let pending = self.operations.pending();
        let held = pending.iter_with_bytes().find(|(_, bytes)| {
            bytes.iter().any(|footprint| footprint.space() == Space::Shared(rank))
        });
        if let Some((operation, _)) = held {
            let what = "an operation on the CTA's shared memory that nobody in it waited for";
            return leak(what.to_owned(), operation.place.clone());
        }
        let state = &self.ctas[rank as usize].asynch;
        let nothing = Message::new(self.id);
        let known = state.exit.as_ref().unwrap_or(&nothing).seen();
        for (offset, object) in state.mbarriers.iter() {
            let bytes = object.state.transactions();
            if bytes != 0 {
                let what =
                    format!("the mbarrier at shared address {offset:#x} lacks {bytes} bytes");
                return leak(what, self.place(last, None));
            }
            if let Some((_, pc)) = object.last().filter(|&(epoch, _)| !known.covers(epoch)) {
                let what = format!(
                    "bytes that came to the mbarrier at shared address {offset:#x} and that nobody \
                     in the CTA waited for"
                );
                return leak(what, self.place_of(pc, rank, 0, None));
            }
        }
        for (&thread, bulk) in &state.bulk {
            let read = Epoch::of_agent(self.id, bulk.agents.0, bulk.issued);
            if bulk.issued > 0 && !known.covers(read) {
                let what = "a bulk operation whose reads of shared memory nobody waited for";
                let place = self.place_of(bulk.pc, rank, thread / 32, Some(thread % 32));
                return leak(what.to_owned(), place);
            }
        }
        for (number, group) in (0..).zip(&state.warpgroups) {
            if let Some((side, pc)) = unwaited(group) {
                let what = "a wgmma that its warp did not wait for".to_owned();
                return leak(what, self.place_of(pc, rank, number * 4 + side, None));
            }
        }
        self.unordered_visitor(rank, known, last)
    }

    fn unordered_visitor(&self, rank: u32, known: &Clock, last: &Warp) -> Option<(Problem, Place)> {
        let visitors = &self.ctas[rank as usize].asynch.visitors;
        let (_, &(epoch, pc)) = visitors.iter().find(|(_, (epoch, _))| !known.covers(*epoch))?;
        let line = self.context.kernel.code[pc as usize].location.line;
        let what = format!(
            "nothing orders the access of its shared memory by {} (line {line}) before its end",
            thread(self, epoch)
        );
        Some((Problem::Exited { what, who: self.name_cta(rank) }, self.place(last, None)))
    }
}

fn unwaited(group: &Warpgroup) -> Option<(u32, u32)> {
    (0..).zip(&group.sides).find_map(|(side, it)| Some((side, it.fragments.any()?)))
}
