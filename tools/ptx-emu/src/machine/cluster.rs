//! What the CTAs of a cluster share.

use std::sync::Arc;

use super::barrier::{Barrier, ClusterBarrier};
use super::operation::Operations;
use super::preset::Seat;
use super::random::Random;
use super::{Context, Timing, Warp};
use crate::asynch::state::{Agents, CtaState};
use crate::memory::Shared;
use crate::memory::clock::{Epoch, Message};
use crate::memory::published::Messages;
use crate::report::{Place, Report, SourceLine, ThreadName};

/// Instructions of a cluster after which an operation completes even if not everybody waits.
const LATEST: u64 = 1 << 17;

/// One CTA.
#[derive(Debug)]
pub(crate) struct Cta {
    /// `%ctaid`.
    pub(crate) index: [u32; 3],
    /// `%cluster_ctarank`.
    pub(crate) rank: u32,
    /// Its shared memory.
    pub(crate) shared: Shared,
    /// Its barriers.
    pub(crate) barriers: [Barrier; 16],
    /// Mbarriers, groups of asynchronous operations, registers.
    pub(crate) asynch: CtaState,
}

/// A cluster, without its warps.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// The launch.
    pub(crate) context: Arc<Context>,
    /// Its number in the order of the grid.
    pub(crate) id: u32,
    /// Its CTAs by rank.
    pub(crate) ctas: Vec<Cta>,
    /// `barrier.cluster`.
    pub(crate) barrier: ClusterBarrier,
    /// Lanes that have not exited, by warp.
    pub(super) live: Vec<u32>,
    /// Asynchronous operations in flight.
    pub(crate) operations: Operations,
    /// Who completes them, for clocks.
    pub(crate) agents: Agents,
    /// Under which epochs its CTAs have started, where there are several: known to whoever knows
    /// anything of a thread of theirs.
    pub(crate) starts: Vec<Epoch>,
    /// Instructions that its warps have executed.
    pub(crate) steps: u64,
    /// What its threads printed.
    pub(crate) output: Vec<u8>,
    /// What strong stores to its shared memory tell, by generic address of the cluster's window.
    pub(crate) published: Messages,
    completion: Option<Random>,
    /// Steps when an operation last completed.
    last_completion: u64,
    changed: bool,
}

impl Cluster {
    /// Waiting warps are to be looked at again.
    pub(crate) fn wake(&mut self) {
        self.changed = true;
    }

    /// Whether [`Cluster::wake`] was called since this was last asked.
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Completes the oldest operation that can be; whether there is one.
    pub(super) fn complete_oldest(&mut self) -> Result<bool, Box<Report>> {
        self.complete(0)
    }

    /// Completes all operations, oldest first.
    pub(super) fn complete_all(&mut self) -> Result<(), Box<Report>> {
        while self.operations.n_unfinished() > 0 && self.complete(0)? {}
        Ok(())
    }

    /// Completes an operation now and then: where timing is random, and where a thread may be spinning
    /// until one completes, so that not everybody ever waits.
    pub(super) fn complete_some(&mut self) -> Result<(), Box<Report>> {
        if self.steps - self.last_completion > LATEST {
            self.complete(0)?;
        } else if let Some(random) = &mut self.completion
            && random.below(32) == 0
        {
            let index = random.below(self.operations.n_unfinished() as u32);
            self.complete(index as usize)?;
        }
        Ok(())
    }

    fn complete(&mut self, index: usize) -> Result<bool, Box<Report>> {
        let Some((_, work, place)) = self.operations.take(index) else {
            return Ok(false);
        };
        self.last_completion = self.steps;
        let done = work.complete(self);
        self.wake();
        match done {
            Ok(()) => Ok(true),
            Err(stop) => Err(Box::new(Report { problem: stop.problem, place })),
        }
    }

    /// All warps have exited: what is on its way to global memory arrives.
    pub(super) fn at_exit(&mut self) -> Result<(), Box<Report>> {
        self.complete_all()
    }

    /// The place of the instruction that a warp is executing, for reports and for operations that
    /// outlive it.
    pub(crate) fn place(&self, warp: &Warp, lane: Option<u32>) -> Place {
        self.place_of(warp.pc(), warp.rank(), warp.index(), lane)
    }

    /// The place of an instruction by index, in a warp of a CTA by rank.
    pub(crate) fn place_of(&self, pc: u32, rank: u32, warp: u32, lane: Option<u32>) -> Place {
        let location = &self.context.kernel.code[pc as usize].location;
        let source = location.source.as_ref().map(|(file, line, column)| SourceLine {
            file: file.to_string(),
            line: *line,
            column: *column,
        });
        Place {
            line: location.line,
            text: location.text.clone(),
            source,
            cluster: self.id,
            thread: ThreadName { cta: self.ctas[rank as usize].index, warp, lane },
            step: self.steps,
        }
    }
}

impl Cluster {
    /// Cluster number `id` of a launch, and its warps in the order of their CTAs.
    pub(crate) fn new(context: &Arc<Context>, id: u32) -> (Self, Vec<Warp>) {
        let ctas: Vec<Cta> = (0..context.cluster_size())
            .map(|rank| Cta {
                index: context.cta_index(id, rank),
                rank,
                shared: Shared::new(context.shared_end()),
                barriers: std::array::from_fn(|_| Barrier::default()),
                asynch: CtaState::default(),
            })
            .collect();
        let mut agents = Agents::default();
        let mut starts = Vec::new();
        if ctas.len() > 1 {
            starts.extend(ctas.iter().map(|_| Epoch::of_agent(id, agents.one(), 1)));
        }
        let mut warps: Vec<Warp> = Vec::new();
        for cta in &ctas {
            let started = starts.get(cta.rank as usize).map(|&start| {
                let mut message = Message::new(id);
                message.completed(start);
                message
            });
            for warp in 0..context.warps_per_cta() {
                let seat = Seat { cta: cta.index, rank: cta.rank, warp };
                let mut warp = Warp::new(context, id, seat);
                if let Some(message) = &started {
                    warp.clock.acquire(u32::MAX, message);
                }
                warps.push(warp);
            }
        }
        let cluster = Self {
            context: Arc::clone(context),
            id,
            ctas,
            barrier: ClusterBarrier::new(warps.len()),
            live: warps.iter().map(Warp::live).collect(),
            operations: Operations::default(),
            agents,
            starts,
            steps: 0,
            output: Vec::new(),
            published: Messages::default(),
            completion: match context.timing {
                Timing::Random(seed) => Some(Random::new(seed, u64::from(id))),
                Timing::Late | Timing::Eager => None,
            },
            last_completion: 0,
            changed: false,
        };
        (cluster, warps)
    }
}
