//! What lanes can wait for.
//!
//! A new kind of waiting is a variant, an arm of [`WaitFor::is_over`], and words for the deadlock
//! report. Whatever makes a condition true must call [`Cluster::wake`]: waiting warps are looked at
//! again only after it.

use super::Cluster;
use crate::asynch::pending::OperationId;
use crate::asynch::pool::RegisterPool;

/// A condition that lanes wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WaitFor {
    /// A phase of one of a CTA's 16 barriers to be over.
    Barrier {
        /// Rank of the CTA in its cluster.
        cta: u32,
        /// Its number.
        barrier: u32,
        /// The phase that must be over.
        phase: u64,
    },
    /// A phase of the cluster's barrier to be over.
    ClusterBarrier {
        /// The phase that must be over.
        phase: u64,
    },
    /// Lanes of the same warp to arrive at a `bar.warp.sync`.
    Warp {
        /// The lanes that must arrive.
        needed: u32,
    },
    /// Asynchronous operations to complete.
    Operations(Vec<OperationId>),
    /// The phase of one of these mbarriers to be over: rank of the CTA, offset, phase. Waiting may
    /// end before, for `mbarrier.try_wait` suspends a thread only for a time.
    Mbarriers(Vec<(u32, u32, u64)>),
    /// The first `wgmma` of a warpgroup to be carried out.
    Warpgroup {
        /// Rank of the CTA in its cluster.
        cta: u32,
        /// Its number in the CTA.
        group: u32,
        /// How many `wgmma`.
        steps: u64,
    },
    /// Registers to be free in the pool of a CTA.
    Registers {
        /// Rank of the CTA in its cluster.
        cta: u32,
        /// How many for each thread of a warp.
        more: u32,
    },
}

impl WaitFor {
    /// Whether the condition holds. [`WaitFor::Warp`] is the warp's own affair and never over here.
    pub(crate) fn is_over(&self, cluster: &Cluster) -> bool {
        match self {
            Self::Barrier { cta, barrier, phase } => {
                cluster.ctas[*cta as usize].barriers[*barrier as usize].phase > *phase
            }
            Self::ClusterBarrier { phase } => cluster.barrier.phase > *phase,
            Self::Warp { .. } => false,
            Self::Operations(ids) => ids.iter().all(|&id| cluster.operations.is_complete(id)),
            Self::Mbarriers(phases) => phases.iter().any(|&(cta, offset, phase)| {
                let object = cluster.ctas[cta as usize].asynch.mbarriers.get(offset);
                object.map_or(true, |object| object.state.phase() != phase)
            }),
            Self::Warpgroup { cta, group, steps } => {
                cluster.ctas[*cta as usize].asynch.warpgroups[*group as usize].done >= *steps
            }
            Self::Registers { cta, more } => {
                let pool = &cluster.ctas[*cta as usize].asynch.registers;
                pool.as_ref().is_some_and(|pool| pool.free() >= *more)
            }
        }
    }

    /// Whether waiting may end before the condition holds.
    pub(crate) fn times_out(&self) -> bool {
        matches!(self, Self::Mbarriers(_))
    }

    /// Whether only other lanes of the same warp can make it true.
    pub(crate) fn is_of_warp(&self) -> bool {
        matches!(self, Self::Warp { .. })
    }

    /// What a deadlock report says of it.
    pub(crate) fn describe(&self, cluster: &Cluster) -> String {
        match self {
            Self::Barrier { cta, barrier, .. } => {
                let state = &cluster.ctas[*cta as usize].barriers[*barrier as usize];
                let expected = state.expects(cluster.threads_alive(*cta));
                let arrived = state.arrived;
                format!("barrier {barrier}, where {arrived} of {expected} threads have arrived")
            }
            Self::ClusterBarrier { .. } => format!(
                "the cluster's barrier, where {} threads have arrived",
                cluster.barrier.n_arrived()
            ),
            Self::Warp { needed } => format!("lanes {needed:08x} of its warp at bar.warp.sync"),
            Self::Operations(ids) => {
                format!("{} asynchronous operations", ids.len())
            }
            Self::Registers { cta, more } => {
                let pool = &cluster.ctas[*cta as usize].asynch.registers;
                let free = pool.as_ref().map_or(0, RegisterPool::free);
                format!("{more} more registers a thread, of which the CTA's pool has {free}")
            }
            Self::Warpgroup { cta, group, .. } => {
                let warpgroup = &cluster.ctas[*cta as usize].asynch.warpgroups[*group as usize];
                let missing: Vec<_> = (0..4)
                    .filter(|&side| warpgroup.sides[side].issued == warpgroup.done)
                    .map(|side| (*group as usize * 4 + side).to_string())
                    .collect();
                format!("a wgmma that warps {} have not executed", missing.join(", "))
            }
            Self::Mbarriers(phases) => {
                let each = phases.iter().map(|&(cta, offset, phase)| {
                    let object = cluster.ctas[cta as usize].asynch.mbarriers.get(offset);
                    let state = object.map_or_else(
                        |error| error.to_string(),
                        |object| {
                            format!(
                                "{} of {} arrivals and {} bytes missing",
                                object.state.pending(),
                                object.state.expected(),
                                object.state.transactions()
                            )
                        },
                    );
                    format!("phase {phase} of the mbarrier at shared address {offset:#x}: {state}")
                });
                each.collect::<Vec<_>>().join(", or ")
            }
        }
    }
}
