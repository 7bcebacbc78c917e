//! `cp.async.bulk`, `cp.reduce.async.bulk` and bulk groups: execution.

use super::Flow;
use super::bulk::{Bulk, BulkCopy, Completion};
use super::window::{Window, value};
use crate::asynch::footprint::{Footprint, Space, Touch};
use crate::asynch::issue::{self, Incoming, Outgoing};
use crate::asynch::transfer::{Effect, Location, Run};
use crate::machine::{Cluster, WaitFor, Warp, lanes};
use crate::report::{AccessKind, Problem, Stop};

impl Bulk {
    /// Executes the instruction for the lanes in `mask`.
    pub(crate) fn execute(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<Flow, Stop> {
        match self {
            Self::Copy(copy) => {
                for lane in lanes(mask) {
                    let issued = copy.issue(warp, cluster, lane);
                    issued.map_err(|problem| problem.at(lane as u32))?;
                }
                Ok(Flow::Next)
            }
            Self::Prefetch { from, bytes } => {
                for lane in lanes(mask) {
                    let bytes = value(warp, *bytes, lane);
                    let shape = (u64::from(bytes), 16);
                    sixteens(bytes)
                        .and_then(|()| {
                            Window::global(warp, cluster, from, lane, shape, AccessKind::Read)
                        })
                        .map_err(|problem| problem.at(lane as u32))?;
                }
                Ok(Flow::Next)
            }
            Self::Commit => {
                for lane in lanes(mask) {
                    let thread = warp.index() * 32 + lane as u32;
                    let agents = &mut cluster.agents;
                    let state = &mut cluster.ctas[warp.rank() as usize].asynch;
                    state.bulk_of(thread, agents).groups.commit();
                }
                Ok(Flow::Next)
            }
            Self::Wait { newest, read } => Ok(wait(warp, cluster, mask, *newest, *read)),
        }
    }
}

fn wait(warp: &mut Warp, cluster: &mut Cluster, mask: u32, newest: u32, read: bool) -> Flow {
    let state = &cluster.ctas[warp.rank() as usize].asynch;
    let mut waited = Vec::new();
    for lane in lanes(mask) {
        let Some(bulk) = state.bulk.get(&(warp.index() * 32 + lane as u32)) else { continue };
        let older = bulk.groups.older(newest as usize);
        waited.extend(older.map(|(halves, _)| if read { halves.read } else { halves.write }));
    }
    waited.retain(|&id| !cluster.operations.is_complete(id));
    if !waited.is_empty() {
        return Flow::Wait(WaitFor::Operations(waited));
    }
    for lane in lanes(mask) {
        issue::bulk_waited(warp, cluster, lane as u32, newest as usize, read);
    }
    Flow::Next
}

/// Bulk operations move multiples of 16 bytes.
fn sixteens(bytes: u32) -> Result<(), Problem> {
    if bytes.is_multiple_of(16) {
        Ok(())
    } else {
        let what = format!("a bulk operation of {bytes} bytes, which is not a multiple of 16");
        Err(Problem::Operand { what })
    }
}

impl BulkCopy {
    fn issue(&self, warp: &mut Warp, cluster: &mut Cluster, lane: usize) -> Result<(), Problem> {
        let bytes = value(warp, self.bytes, lane);
        sixteens(bytes)?;
        let effect = match (self.reduce, self.byte_mask) {
            (Some(reduce), _) => Effect::Reduce(reduce),
            (None, Some(mask)) => Effect::Masked(value(warp, mask, lane) as u16),
            (None, None) => Effect::Copy,
        };
        let global = (u64::from(bytes), 16);
        let shared = (bytes, 16);
        match self.completion {
            Completion::Group => {
                let kind = crate::asynch::access::kind(effect.touch());
                let (_, from) = self.from_window.shared(
                    warp,
                    cluster,
                    &self.from,
                    lane,
                    shared,
                    AccessKind::Read,
                )?;
                let to = Window::global(warp, cluster, &self.to, lane, global, kind)?;
                let from = Run { at: u64::from(from), bytes };
                let runs = vec![Run { at: to, bytes }];
                issue::outgoing(warp, cluster, lane, Outgoing { from: vec![from], runs, effect })
            }
            Completion::Mbarrier(mbarrier) => {
                let write = AccessKind::Write;
                let (rank, to) =
                    self.to_window.shared(warp, cluster, &self.to, lane, shared, write)?;
                let (signal_rank, offset) = self.to_window.shared(
                    warp,
                    cluster,
                    &mbarrier,
                    lane,
                    (8, 8),
                    AccessKind::Atomic,
                )?;
                if signal_rank != rank {
                    let what = format!(
                        "the destination is in CTA {rank} of the cluster, its mbarrier in CTA \
                         {signal_rank}"
                    );
                    return Err(Problem::Operand { what });
                }
                let (location, source) = if self.from_window == Window::Global {
                    let read = AccessKind::Read;
                    let at = Window::global(warp, cluster, &self.from, lane, global, read)?;
                    (Location { space: Space::Global, at }, Space::Global)
                } else {
                    let read = AccessKind::Read;
                    let (own, at) =
                        self.from_window.shared(warp, cluster, &self.from, lane, shared, read)?;
                    let space = Space::Shared(own);
                    (Location { space, at: u64::from(at) }, space)
                };
                let reads = Footprint::new(source, Touch::Read, [(location.at, u64::from(bytes))]);
                let ranks = match self.multicast {
                    None => vec![rank],
                    Some(mask) => issue::ranks(cluster, value(warp, mask, lane))?,
                };
                for rank in ranks {
                    let incoming = Incoming {
                        from: vec![(Some(location), bytes)],
                        reads: reads.clone(),
                        rank,
                        runs: vec![Run { at: u64::from(to), bytes }],
                        effect,
                        conversion: None,
                        mbarrier: offset,
                        bytes,
                    };
                    issue::incoming(warp, cluster, lane, incoming)?;
                }
                Ok(())
            }
        }
    }
}
