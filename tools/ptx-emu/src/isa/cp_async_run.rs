//! `cp.async`, its groups and arrivals: execution.

use std::collections::BTreeMap;

use super::Flow;
use super::cp_async::{Copy, CopyRead, CpAsync};
use super::mbarrier::Place;
use super::window::{Window, value};
use crate::asynch::access;
use crate::asynch::copy::{Arriving, Copied, Copying, footprints, settle};
use crate::asynch::pending::OperationId;
use crate::machine::operation::{Operation, Release};
use crate::machine::{Cluster, WaitFor, Warp, lanes};
use crate::report::{AccessKind, Problem, Stop};

impl CpAsync {
    /// Executes the instruction for the lanes in `mask`.
    pub(crate) fn execute(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<Flow, Stop> {
        match self {
            Self::Copy(copy) => copy.issue(warp, cluster, mask)?,
            Self::Commit => {
                for lane in lanes(mask) {
                    let thread = warp.index() * 32 + lane as u32;
                    let state = &mut cluster.ctas[warp.rank() as usize].asynch;
                    state.copies.entry(thread).or_default().commit();
                }
            }
            Self::Wait(newest) => return Ok(wait(warp, cluster, mask, *newest)),
            Self::Arrive { at, increments } => arrive(at, *increments, warp, cluster, mask)?,
        }
        Ok(Flow::Next)
    }
}

fn wait(warp: &Warp, cluster: &mut Cluster, mask: u32, newest: Option<u32>) -> Flow {
    let rank = warp.rank();
    let first = warp.index() * 32;
    let newest_groups = newest.unwrap_or(0) as usize;
    let mut older: Vec<OperationId> = Vec::new();
    for lane in lanes(mask) {
        let state = &mut cluster.ctas[rank as usize].asynch;
        let Some(groups) = state.copies.get_mut(&(first + lane as u32)) else { continue };
        if newest.is_none() {
            groups.commit();
        }
        older.extend(groups.older(newest_groups));
    }
    older.sort_unstable();
    older.dedup();
    let unfinished: Vec<_> =
        older.iter().copied().filter(|&id| !cluster.operations.is_complete(id)).collect();
    if !unfinished.is_empty() {
        return Flow::Wait(WaitFor::Operations(unfinished));
    }
    let mut by_lane: BTreeMap<u32, Vec<OperationId>> = BTreeMap::new();
    for lane in lanes(mask) {
        let thread = first + lane as u32;
        let state = &mut cluster.ctas[rank as usize].asynch;
        if let Some(groups) = state.copies.get_mut(&thread) {
            by_lane.insert(thread, groups.retire(newest_groups));
        }
    }
    settle(cluster, Some(warp), rank, &older, |thread| {
        let lane = thread.checked_sub(first).filter(|&lane| lane < 32)?;
        by_lane.contains_key(&thread).then(|| warp.clock.epoch(lane))
    });
    Flow::Next
}

impl Copy {
    fn issue(&self, warp: &Warp, cluster: &mut Cluster, mask: u32) -> Result<(), Stop> {
        let rank = warp.rank();
        let mut copies = Vec::with_capacity(mask.count_ones() as usize);
        for lane in lanes(mask) {
            let copied = self.of_lane(warp, cluster, lane);
            copies.push(copied.map_err(|problem| problem.at(lane as u32))?);
        }
        let work = Copying { rank, copies: copies.clone() };
        let operation = Operation {
            place: cluster.place(warp, None),
            release: Release::ByOwner,
            after: Vec::new(),
            work: Some(Box::new(work)),
        };
        let id = cluster.operations.issue(footprints(rank, &copies), operation);
        let state = &mut cluster.ctas[rank as usize].asynch;
        for it in &copies {
            state.copies.entry(it.thread).or_default().issue(id);
        }
        state.unwaited.insert(id, copies);
        Ok(())
    }

    fn of_lane(&self, warp: &Warp, cluster: &mut Cluster, lane: usize) -> Result<Copied, Problem> {
        let bytes = self.bytes;
        let read =
            match self.read {
                CopyRead::All => bytes,
                CopyRead::Bytes(source) => value(warp, source, lane),
                CopyRead::Unless(condition) => {
                    if warp.registers.condition(condition) >> lane & 1 == 1 { 0 } else { bytes }
                }
            };
        if read > bytes {
            let what = format!("cp.async of {bytes} bytes that reads {read}");
            return Err(Problem::Operand { what });
        }
        let (write, align) = (AccessKind::Write, (bytes, bytes));
        let (_, to) = Window::Cta.shared(warp, cluster, &self.to, lane, align, write)?;
        // What is not read need not exist.
        let from = if read == 0 {
            Window::Global.bits(warp, &self.from, lane)
        } else {
            let shape = (u64::from(read), bytes);
            Window::global(warp, cluster, &self.from, lane, shape, AccessKind::Read)?
        };
        let thread = warp.index() * 32 + lane as u32;
        let copied = Copied { thread, to, from, bytes, read, pc: warp.pc() };
        for footprint in footprints(warp.rank(), &[copied]) {
            access::check_of(cluster, warp, lane as u32, &footprint, false)?;
        }
        Ok(copied)
    }
}

fn arrive(
    at: &Place,
    increments: bool,
    warp: &Warp,
    cluster: &mut Cluster,
    mask: u32,
) -> Result<(), Stop> {
    let mut arrivals: BTreeMap<(u32, u32), BTreeMap<u32, Vec<OperationId>>> = BTreeMap::new();
    for lane in lanes(mask) {
        let stop = |problem: Problem| problem.at(lane as u32);
        let (rank, offset) = at.found(warp, cluster, lane).map_err(stop)?;
        let thread = warp.index() * 32 + lane as u32;
        let state = &mut cluster.ctas[rank as usize].asynch;
        if increments {
            let raised = state.mbarriers.get_mut(offset).and_then(|it| it.state.raise_pending());
            raised.map_err(|error| stop(cluster.mbarrier_problem(rank, offset, error)))?;
        }
        let state = &cluster.ctas[rank as usize].asynch;
        let copies: Vec<_> =
            state.copies.get(&thread).map(|it| it.iter().copied().collect()).unwrap_or_default();
        arrivals.entry((rank, offset)).or_default().insert(thread, copies);
    }
    for ((rank, offset), threads) in arrivals {
        let after = threads.values().flatten().copied().collect();
        let work = Arriving { rank, offset, threads, pc: warp.pc() };
        let operation = Operation {
            place: cluster.place(warp, None),
            release: Release::AtCompletion,
            after,
            work: Some(Box::new(work)),
        };
        cluster.operations.issue(Vec::new(), operation);
    }
    Ok(())
}
