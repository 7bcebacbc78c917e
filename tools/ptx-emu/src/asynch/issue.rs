//! How bulk operations, tensor copies among them, begin.

use super::access;
use super::footprint::{Footprint, Space, Touch};
use super::groups::Halves;
use super::transfer::{Buffer, Conversion, Deliver, Effect, Fetch, Location, Move, Run, Signal};
use crate::machine::operation::{Operation, Release};
use crate::machine::{Cluster, Warp};
use crate::memory::clock::Epoch;
use crate::report::Problem;

/// Bytes that go to shared memory, and whose arrival an mbarrier counts.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// Where they come from; a run without a place is filled.
    pub(crate) from: Vec<(Option<Location>, u32)>,
    /// The bytes among them that exist.
    pub(crate) reads: Footprint,
    /// Rank of the CTA that receives them.
    pub(crate) rank: u32,
    /// Where; as many bytes as come.
    pub(crate) runs: Vec<Run>,
    pub(crate) effect: Effect,
    pub(crate) conversion: Option<Conversion>,
    /// Offset of the mbarrier in that CTA.
    pub(crate) mbarrier: u32,
    /// Transactions that complete.
    pub(crate) bytes: u32,
}

/// Bytes that go from the CTA's own shared memory to global memory.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// Runs of shared memory, in the order in which they are read.
    pub(crate) from: Vec<Run>,
    /// Runs of global memory; as many bytes as are read.
    pub(crate) runs: Vec<Run>,
    pub(crate) effect: Effect,
}

fn footprint(space: Space, touch: Touch, runs: &[Run]) -> Footprint {
    Footprint::new(space, touch, runs.iter().map(|run| (run.at, u64::from(run.bytes))))
}

/// The ranks that a multicast mask names.
pub(crate) fn ranks(cluster: &Cluster, mask: u32) -> Result<Vec<u32>, Problem> {
    let there_are = cluster.ctas.len() as u32;
    let mask = mask & 0xFFFF;
    if mask == 0 || mask >> there_are != 0 {
        let what = format!("multicast to mask {mask:#06x} in a cluster of {there_are} CTAs");
        return Err(Problem::Operand { what });
    }
    Ok((0..there_are).filter(|rank| mask >> rank & 1 == 1).collect())
}

/// Begins an operation that an mbarrier tells the end of. Bounds have been checked.
pub(crate) fn incoming(
    warp: &mut Warp,
    cluster: &mut Cluster,
    lane: usize,
    it: Incoming,
) -> Result<(), Problem> {
    let lane = lane as u32;
    let (rank, offset) = (it.rank, it.mbarrier);
    cluster.use_mbarrier(warp, lane, rank, offset)?;
    let barriers = &cluster.ctas[rank as usize].asynch.mbarriers;
    let phase = barriers.get(offset).map(|object| object.state.phase());
    let phase = phase.map_err(|error| cluster.mbarrier_problem(rank, offset, error))?;
    let to = Space::Shared(rank);
    let writes = footprint(to, it.effect.touch(), &it.runs);
    access::check(cluster, warp, lane, &it.reads)?;
    access::check(cluster, warp, lane, &writes)?;
    let footprints = vec![it.reads, writes];
    let work = Move {
        from: it.from,
        to,
        runs: it.runs,
        effect: it.effect,
        conversion: it.conversion,
        signal: Signal { rank, offset, bytes: it.bytes, phase },
        footprints: footprints.clone(),
        pc: warp.pc(),
    };
    let operation = Operation {
        place: cluster.place(warp, Some(lane)),
        release: Release::AtCompletion,
        after: Vec::new(),
        work: Some(Box::new(work)),
    };
    cluster.operations.issue(footprints, operation);
    Ok(())
}

/// Begins an operation of the lane's open bulk group. Bounds have been checked.
pub(crate) fn outgoing(
    warp: &mut Warp,
    cluster: &mut Cluster,
    lane: usize,
    it: Outgoing,
) -> Result<(), Problem> {
    let lane = lane as u32;
    let own = Space::Shared(warp.rank());
    let reads = footprint(own, Touch::Read, &it.from);
    let writes = match it.effect {
        Effect::Masked(mask) => Footprint::new(
            Space::Global,
            Touch::Write,
            it.runs.iter().flat_map(|run| {
                let bytes = (0..u64::from(run.bytes)).filter(|at| mask >> (at % 16) & 1 == 1);
                bytes.map(|at| (run.at + at, 1))
            }),
        ),
        effect => footprint(Space::Global, effect.touch(), &it.runs),
    };
    access::check(cluster, warp, lane, &reads)?;
    access::check(cluster, warp, lane, &writes)?;
    let id = cluster.id;
    let thread = warp.index() * 32 + lane;
    let agents = &mut cluster.agents;
    let bulk = cluster.ctas[warp.rank() as usize].asynch.bulk_of(thread, agents);
    bulk.issued += 1;
    bulk.pc = warp.pc();
    let count = bulk.issued;
    let (reader, writer) = bulk.agents;
    let buffer = Buffer::default();
    let place = cluster.place(warp, Some(lane));
    let fetch = Fetch {
        space: own,
        runs: it.from,
        buffer: Buffer::clone(&buffer),
        footprint: reads.clone(),
        epoch: Epoch::of_agent(id, reader, count),
        pc: warp.pc(),
    };
    let read = cluster.operations.issue(
        vec![reads],
        Operation {
            place: place.clone(),
            release: Release::AtCompletion,
            after: Vec::new(),
            work: Some(Box::new(fetch)),
        },
    );
    let deliver = Deliver {
        runs: it.runs,
        effect: it.effect,
        buffer,
        footprint: writes.clone(),
        epoch: Epoch::of_agent(id, writer, count),
        pc: warp.pc(),
    };
    let write = cluster.operations.issue(
        vec![writes],
        Operation {
            place,
            release: Release::AtCompletion,
            after: vec![read],
            work: Some(Box::new(deliver)),
        },
    );
    let agents = &mut cluster.agents;
    let bulk = cluster.ctas[warp.rank() as usize].asynch.bulk_of(thread, agents);
    bulk.groups.issue((Halves { read, write }, count));
    Ok(())
}

/// A lane has waited for all its bulk groups but the `newest`; their operations are complete, or,
/// if `read`, have read their sources.
pub(crate) fn bulk_waited(
    warp: &mut Warp,
    cluster: &mut Cluster,
    lane: u32,
    newest: usize,
    read: bool,
) {
    let id = cluster.id;
    let thread = warp.index() * 32 + lane;
    let state = &mut cluster.ctas[warp.rank() as usize].asynch;
    let Some(bulk) = state.bulk.get_mut(&thread) else { return };
    let Some(count) = bulk.groups.older(newest).map(|&(_, count)| count).max() else { return };
    if !read {
        bulk.groups.retire(newest);
    }
    let (reader, writer) = bulk.agents;
    warp.clock.completed(1 << lane, Epoch::of_agent(id, reader, count));
    if !read {
        warp.clock.completed(1 << lane, Epoch::of_agent(id, writer, count));
    }
}
