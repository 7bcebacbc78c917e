//! `cp.async`: copies that threads wait for by group, or that arrive on an mbarrier.
//!
//! One operation does the copies of all lanes that execute the instruction together. It holds its
//! bytes until the threads have waited; what they then find is as if each had stored its own bytes at
//! its wait.

use std::collections::BTreeMap;

use super::access;
use super::footprint::{Footprint, Space, Touch};
use super::pending::OperationId;
use super::transfer::{self, Effect, Location, Run};
use crate::machine::operation::Work;
use crate::machine::{Cluster, Warp};
use crate::memory::clock::Epoch;
use crate::report::{Problem, Stop};

/// The copy of one lane, to its CTA's shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Copied {
    /// The thread in its CTA.
    pub(crate) thread: u32,
    /// Offset in shared memory.
    pub(crate) to: u32,
    /// Generic address.
    pub(crate) from: u64,
    /// Bytes written.
    pub(crate) bytes: u32,
    /// Bytes read; zeros follow.
    pub(crate) read: u32,
    /// The instruction.
    pub(crate) pc: u32,
}

/// The bytes that copies write and read.
pub(crate) fn footprints(rank: u32, copies: &[Copied]) -> Vec<Footprint> {
    let writes = copies.iter().map(|it| (u64::from(it.to), u64::from(it.bytes)));
    let reads = copies.iter().map(|it| (it.from, u64::from(it.read)));
    vec![
        Footprint::new(Space::Shared(rank), Touch::Write, writes),
        Footprint::new(Space::Global, Touch::Read, reads),
    ]
}

/// The copies of one instruction.
#[derive(Debug)]
pub(crate) struct Copying {
    pub(crate) rank: u32,
    pub(crate) copies: Vec<Copied>,
}

impl Work for Copying {
    fn complete(self: Box<Self>, cluster: &mut Cluster) -> Result<(), Stop> {
        let mut data = Vec::new();
        for it in &self.copies {
            data.clear();
            let from = Location { space: Space::Global, at: it.from };
            transfer::read(cluster, from, it.read, &mut data);
            data.resize(it.bytes as usize, 0);
            let run = Run { at: u64::from(it.to), bytes: it.bytes };
            transfer::write(cluster, Space::Shared(self.rank), &[run], Effect::Copy, &data);
        }
        Ok(())
    }
}

/// Threads learn that copies of theirs are complete: their bytes are recorded as touched at the
/// epoch that `epoch` gives for a thread, and held no longer.
pub(crate) fn settle(
    cluster: &mut Cluster,
    warp: Option<&Warp>,
    rank: u32,
    operations: &[OperationId],
    threads: impl Fn(u32) -> Option<Epoch>,
) {
    for &id in operations {
        let Some(copies) = cluster.ctas[rank as usize].asynch.unwaited.get_mut(&id) else {
            continue;
        };
        let (over, left): (Vec<_>, Vec<_>) =
            copies.iter().partition(|it| threads(it.thread).is_some());
        copies.clone_from(&left);
        for it in over {
            if let Some(epoch) = threads(it.thread) {
                for footprint in footprints(rank, &[it]) {
                    access::record(cluster, warp, &footprint, epoch, it.pc);
                }
            }
        }
        if left.is_empty() {
            cluster.operations.release(id);
            cluster.ctas[rank as usize].asynch.unwaited.remove(&id);
        } else {
            cluster.operations.reshape(id, footprints(rank, &left));
        }
    }
}

/// The arrivals of threads on an mbarrier when their copies are complete.
#[derive(Debug)]
pub(crate) struct Arriving {
    /// Rank of the CTA.
    pub(crate) rank: u32,
    /// The mbarrier.
    pub(crate) offset: u32,
    /// The copies of each thread.
    pub(crate) threads: BTreeMap<u32, Vec<OperationId>>,
    pub(crate) pc: u32,
}

impl Work for Arriving {
    fn complete(self: Box<Self>, cluster: &mut Cluster) -> Result<(), Stop> {
        let (rank, offset) = (self.rank, self.offset);
        let barriers = &cluster.ctas[rank as usize].asynch.mbarriers;
        let epoch = barriers.get(offset).map(|object| object.epoch(cluster.id));
        let epoch =
            epoch.map_err(|error| cluster.mbarrier_problem(rank, offset, error).of_warp())?;
        let mut earlier = Vec::new();
        for (&thread, operations) in &self.threads {
            let settled = &mut cluster.ctas[rank as usize].asynch.settled;
            for &operation in operations {
                let first = *settled.entry((operation, thread)).or_insert(epoch);
                if first != epoch && !earlier.contains(&first) {
                    earlier.push(first);
                }
            }
            settle(cluster, None, rank, operations, |other| (other == thread).then_some(epoch));
        }
        let id = cluster.id;
        let barriers = &mut cluster.ctas[rank as usize].asynch.mbarriers;
        let arrived = barriers.get_mut(offset).and_then(|object| {
            object.completed(epoch, self.pc);
            // An arrival covers all copies of the thread so far: it tells also of those whose bytes
            // an arrival on another mbarrier has settled.
            for epoch in earlier {
                object.arriving().completed(epoch);
            }
            let complete = object.state.arrive(self.threads.len() as u32)?;
            if complete {
                object.next_phase(id);
            }
            Ok(())
        });
        cluster.wake();
        arrived.map_err(|error| Problem::of_warp(cluster.mbarrier_problem(rank, offset, error)))
    }
}
