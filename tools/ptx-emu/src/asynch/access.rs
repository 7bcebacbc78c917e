//! What must hold of the bytes of an asynchronous operation when it is issued, and what is recorded
//! when it completes.
//!
//! PTX ISA, "Memory Consistency Model: Proxies" and "Asynchronous Operations".

use super::footprint::{Footprint, Space, Touch};
use super::pending::Conflict;
use crate::machine::{Cluster, Warp};
use crate::memory::clock::Epoch;
use crate::memory::shadow::{Access, Actor, Unordered};
use crate::report::{AccessKind, Problem, ThreadName};

/// The kind of access that a touch is, for reports.
pub(crate) fn kind(touch: Touch) -> AccessKind {
    match touch {
        Touch::Read => AccessKind::Read,
        Touch::Write => AccessKind::Write,
        Touch::Reduce => AccessKind::Atomic,
    }
}

fn access(touch: Touch) -> Access {
    Access { write: touch != Touch::Read, strong: touch == Touch::Reduce, volatile: false }
}

/// Names bytes for reports.
pub(crate) fn name(cluster: &Cluster, space: Space, start: u64, bytes: u64) -> String {
    match space {
        Space::Global => match cluster.context.global.nearest(start) {
            Some(near) if start - near.base() < near.bytes() => {
                let (offset, size) = (start - near.base(), near.bytes());
                format!("{bytes} bytes at byte {offset} of {} ({size} bytes)", near.name())
            }
            Some(near) => {
                let past = start - near.base() - near.bytes();
                format!(
                    "{bytes} bytes at {start:#x}, {past} bytes after the end of {} ({} bytes)",
                    near.name(),
                    near.bytes()
                )
            }
            None => format!("{bytes} bytes at {start:#x}, which is in no allocation"),
        },
        Space::Shared(rank) => {
            let whose = match cluster.ctas.len() {
                1 => String::new(),
                _ => format!(" of CTA {rank} of the cluster"),
            };
            format!("{bytes} bytes at shared address {start:#x}{whose}")
        }
    }
}

/// Checks the bytes that a lane's operation will touch, which are within bounds: nothing that is
/// pending may conflict, earlier accesses must have happened before, and what is read must be
/// initialized and visible to the async proxy.
pub(crate) fn check(
    cluster: &mut Cluster,
    warp: &Warp,
    lane: u32,
    footprint: &Footprint,
) -> Result<(), Problem> {
    check_of(cluster, warp, lane, footprint, true)
}

/// As [`check`], of an operation that is of the async proxy or, like `cp.async`, of the generic one.
pub(crate) fn check_of(
    cluster: &mut Cluster,
    warp: &Warp,
    lane: u32,
    footprint: &Footprint,
    async_proxy: bool,
) -> Result<(), Problem> {
    check_pending(cluster, footprint)?;
    if let Space::Shared(rank) = footprint.space() {
        cluster.check_alive(rank)?;
    }
    let actor = Actor { epoch: warp.clock.epoch(lane), seen: warp.clock.seen(lane), pc: warp.pc() };
    let proxied = warp.clock.proxied(lane);
    let (space, touch) = (footprint.space(), footprint.touch());
    for &(start, end) in footprint.ranges() {
        let bytes = end - start;
        let (unordered, unfenced, initialized) = match space {
            Space::Shared(rank) => {
                let cta = &mut cluster.ctas[rank as usize];
                let (start, bytes) = (start as u32, bytes as u32);
                if let Some(offset) = cta.asynch.mbarriers.overlapping(start, bytes) {
                    let memory = name(cluster, space, u64::from(offset), 8);
                    return Err(Problem::MbarrierTouched { access: kind(touch), memory });
                }
                let unfenced = match touch {
                    Touch::Read if async_proxy => cta.shared.unfenced(start, bytes, proxied),
                    _ => None,
                };
                let initialized = touch == Touch::Write || cta.shared.is_initialized(start, bytes);
                let unordered = cta.shared.check(start, bytes, access(touch), &actor);
                (unordered, unfenced, initialized)
            }
            Space::Global => {
                let Some(allocation) = cluster.context.global.nearest(start) else { continue };
                let start = start - allocation.base();
                let unfenced = match touch {
                    Touch::Read if async_proxy => allocation.unfenced(start, bytes, proxied),
                    _ => None,
                };
                let initialized = touch == Touch::Write || allocation.is_initialized(start, bytes);
                let unordered = allocation.check(start, bytes, access(touch), &actor);
                (unordered, unfenced, initialized)
            }
        };
        let memory = |cluster: &Cluster| name(cluster, space, start, bytes);
        if cluster.context.races {
            if let Err(unordered) = unordered {
                return Err(race(cluster, memory(cluster), kind(touch), unordered));
            }
            if let Some(unfenced) = unfenced {
                return Err(Problem::ProxyFence {
                    memory: memory(cluster),
                    by: who(cluster, unfenced.epoch),
                    other_line: line(cluster, unfenced.pc),
                });
            }
        }
        if !initialized && cluster.context.poison {
            return Err(Problem::Poison { memory: memory(cluster) });
        }
    }
    Ok(())
}

/// Looks for a pending operation that the footprint conflicts with.
pub(crate) fn check_pending(cluster: &Cluster, footprint: &Footprint) -> Result<(), Problem> {
    match cluster.operations.pending().conflict_with(footprint, |_| false) {
        None => Ok(()),
        Some(conflict) => Err(meets(cluster, footprint.space(), footprint.touch(), conflict)),
    }
}

/// The report of an access that meets a pending operation.
#[cold]
pub(crate) fn meets(cluster: &Cluster, space: Space, touch: Touch, conflict: Conflict) -> Problem {
    let operation = cluster.operations.pending().get(conflict.operation);
    Problem::Pending {
        access: kind(touch),
        memory: name(cluster, space, conflict.byte, 1),
        other: kind(conflict.touch),
        operation: operation.map_or_else(String::new, |it| it.place.to_string()),
    }
}

/// Records that bytes were touched at an epoch, by the instruction at `pc`.
pub(crate) fn record(
    cluster: &mut Cluster,
    warp: Option<&Warp>,
    footprint: &Footprint,
    epoch: Epoch,
    pc: u32,
) {
    if !cluster.context.races {
        return;
    }
    let nothing = crate::memory::clock::Clock::new(cluster.id);
    let seen = warp.map_or(&nothing, |warp| warp.clock.seen(epoch.lane()));
    let actor = Actor { epoch, seen, pc };
    for &(start, end) in footprint.ranges() {
        let access = access(footprint.touch());
        match footprint.space() {
            Space::Shared(rank) => {
                let shared = &mut cluster.ctas[rank as usize].shared;
                shared.record(start as u32, (end - start) as u32, access, &actor);
            }
            Space::Global => {
                if let Some(allocation) = cluster.context.global.nearest(start) {
                    allocation.record(start - allocation.base(), end - start, access, &actor);
                }
            }
        }
    }
}

/// The report of a race with an earlier access.
pub(crate) fn race(
    cluster: &Cluster,
    memory: String,
    access: AccessKind,
    unordered: Unordered,
) -> Problem {
    Problem::Race {
        access,
        memory,
        other: if unordered.wrote { AccessKind::Write } else { AccessKind::Read },
        by: who(cluster, unordered.epoch),
        other_line: line(cluster, unordered.pc),
    }
}

fn who(cluster: &Cluster, epoch: Epoch) -> String {
    if epoch.is_agent() {
        "an asynchronous operation".to_owned()
    } else {
        thread(cluster, epoch).to_string()
    }
}

/// The thread that an epoch is of.
pub(crate) fn thread(cluster: &Cluster, epoch: Epoch) -> ThreadName {
    let warps = cluster.context.warps_per_cta();
    let cta = cluster.context.cta_index(epoch.cluster(), epoch.warp() / warps);
    ThreadName { cta, warp: epoch.warp() % warps, lane: Some(epoch.lane()) }
}

fn line(cluster: &Cluster, pc: u32) -> u32 {
    cluster.context.kernel.code.get(pc as usize).map_or(0, |code| code.location.line)
}
