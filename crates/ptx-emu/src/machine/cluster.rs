//! What the CTAs of a cluster share.

use std::sync::Arc;

use super::operation::Operations;
use super::preset::{self, Seat};
use super::{Context, Warp};
use crate::memory::Shared;
use crate::report::{Place, SourceLine, ThreadName};

/// One of the 16 barriers of a CTA, or the barrier of a cluster.
#[derive(Debug, Clone, Default)]
pub(crate) struct Barrier {
    /// Phases that are over.
    pub(crate) phase: u64,
    /// Threads that have arrived in this phase.
    pub(crate) arrived: u32,
    /// Threads that this phase expects; 0 until the first arrives.
    pub(crate) expected: u32,
}

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
    pub(crate) barrier: Barrier,
    /// Asynchronous operations in flight.
    pub(crate) operations: Operations,
    /// Instructions that its warps have executed.
    pub(crate) steps: u64,
    changed: bool,
}

impl Cluster {
    /// Waiting warps are to be looked at again.
    pub(crate) fn wake(&mut self) {
        self.changed = true;
    }

    /// The CTA that a warp belongs to.
    pub(crate) fn cta_of(&mut self, warp: &Warp) -> &mut Cta {
        &mut self.ctas[warp.rank() as usize]
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
        let clusters = std::array::from_fn(|i| context.grid[i] / context.cluster[i]);
        let first = preset::coordinates(id, clusters);
        let ctas: Vec<Cta> = (0..context.cluster_size())
            .map(|rank| {
                let within = preset::coordinates(rank, context.cluster);
                Cta {
                    index: std::array::from_fn(|i| first[i] * context.cluster[i] + within[i]),
                    rank,
                    shared: Shared::new(context.shared_end()),
                    barriers: std::array::from_fn(|_| Barrier::default()),
                }
            })
            .collect();
        let warps = ctas
            .iter()
            .flat_map(|cta| {
                (0..context.warps_per_cta())
                    .map(|warp| Warp::new(context, Seat { cta: cta.index, rank: cta.rank, warp }))
            })
            .collect();
        let cluster = Self {
            context: Arc::clone(context),
            id,
            ctas,
            barrier: Barrier::default(),
            operations: Operations::default(),
            steps: 0,
            changed: false,
        };
        (cluster, warps)
    }
}
