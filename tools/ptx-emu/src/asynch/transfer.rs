//! Copies and reductions by bulk operations: what moves, and who is told.

use std::sync::{Arc, Mutex, PoisonError};

use super::access;
use super::footprint::{Footprint, Space, Touch};
use super::reduce::Reduce;
use crate::machine::Cluster;
use crate::machine::operation::Work;
use crate::memory::clock::Epoch;
use crate::report::{Problem, Stop};
use crate::tensor_map::DataType;

/// A first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) space: Space,
    pub(crate) at: u64,
}

/// Consecutive bytes that move together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) at: u64,
    pub(crate) bytes: u32,
}

/// What is done to the destination.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Effect {
    /// The bytes replace it.
    Copy,
    /// As `Copy`, of those bytes of every 16 whose bit is set.
    Masked(u16),
    /// The elements are combined with it.
    Reduce(Reduce),
}

impl Effect {
    /// How the destination is touched.
    pub(crate) fn touch(self) -> Touch {
        match self {
            Self::Reduce(_) => Touch::Reduce,
            _ => Touch::Write,
        }
    }
}

/// What happens to elements of a tensor on their way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conversion {
    /// Their type, which may say that they are rounded or flushed.
    pub(crate) data_type: DataType,
    /// The bits of those that are out of bounds.
    pub(crate) fill: u64,
}

/// Who is told of a completion on an mbarrier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signal {
    /// Rank of the CTA whose mbarrier it is.
    pub(crate) rank: u32,
    /// Its offset.
    pub(crate) offset: u32,
    /// Transactions that complete.
    pub(crate) bytes: u32,
    /// The phase when the operation was issued.
    pub(crate) phase: u64,
}

/// An operation that reads bytes, writes them elsewhere and signals an mbarrier.
#[derive(Debug)]
pub(crate) struct Move {
    /// Where bytes come from; a run without a place is filled.
    pub(crate) from: Vec<(Option<Location>, u32)>,
    /// The space that they go to.
    pub(crate) to: Space,
    /// Where; as many bytes as come.
    pub(crate) runs: Vec<Run>,
    pub(crate) effect: Effect,
    pub(crate) conversion: Option<Conversion>,
    pub(crate) signal: Signal,
    /// Bytes that are recorded as touched.
    pub(crate) footprints: Vec<Footprint>,
    /// The instruction that issued it.
    pub(crate) pc: u32,
}

impl Work for Move {
    fn complete(self: Box<Self>, cluster: &mut Cluster) -> Result<(), Stop> {
        let mut data = Vec::new();
        for &(from, bytes) in &self.from {
            match from {
                Some(from) => {
                    let start = data.len();
                    read(cluster, from, bytes, &mut data);
                    if let Some(conversion) = self.conversion {
                        conversion.data_type.convert_loaded(&mut data[start..]);
                    }
                }
                None => {
                    let size = self.conversion.map_or(1, |it| it.data_type.bytes());
                    let fill = self.conversion.map_or(0, |it| it.fill).to_le_bytes();
                    let element = &fill[..size as usize];
                    data.extend(element.iter().copied().cycle().take(bytes as usize));
                }
            }
        }
        write(cluster, self.to, &self.runs, self.effect, &data);
        let Signal { rank, offset, bytes, phase } = self.signal;
        let barriers = &cluster.ctas[rank as usize].asynch.mbarriers;
        let found = barriers.get(offset).map(|object| (object.epoch(cluster.id), object.state));
        let (epoch, state) =
            found.map_err(|error| cluster.mbarrier_problem(rank, offset, error).of_warp())?;
        if state.phase() != phase {
            let memory = access::name(cluster, Space::Shared(rank), u64::from(offset), 8);
            let completed = state.phase();
            let problem = Problem::LateTransaction { memory, bytes, issued: phase, completed };
            return Err(problem.of_warp());
        }
        for footprint in &self.footprints {
            access::record(cluster, None, footprint, epoch, self.pc);
        }
        let by = Some((epoch, self.pc));
        cluster.complete_tx(rank, offset, bytes, by).map_err(Problem::of_warp)
    }
}

/// Bytes on their way from one half of an operation to the other.
pub(crate) type Buffer = Arc<Mutex<Vec<u8>>>;

/// The half of a bulk-group operation that reads shared memory.
#[derive(Debug)]
pub(crate) struct Fetch {
    pub(crate) space: Space,
    pub(crate) runs: Vec<Run>,
    pub(crate) buffer: Buffer,
    pub(crate) footprint: Footprint,
    pub(crate) epoch: Epoch,
    pub(crate) pc: u32,
}

impl Work for Fetch {
    fn complete(self: Box<Self>, cluster: &mut Cluster) -> Result<(), Stop> {
        let mut data = Vec::new();
        for run in &self.runs {
            read(cluster, Location { space: self.space, at: run.at }, run.bytes, &mut data);
        }
        *self.buffer.lock().unwrap_or_else(PoisonError::into_inner) = data;
        access::record(cluster, None, &self.footprint, self.epoch, self.pc);
        cluster.wake();
        Ok(())
    }
}

/// The half of a bulk-group operation that writes global memory.
#[derive(Debug)]
pub(crate) struct Deliver {
    pub(crate) runs: Vec<Run>,
    pub(crate) effect: Effect,
    pub(crate) buffer: Buffer,
    pub(crate) footprint: Footprint,
    pub(crate) epoch: Epoch,
    pub(crate) pc: u32,
}

impl Work for Deliver {
    fn complete(self: Box<Self>, cluster: &mut Cluster) -> Result<(), Stop> {
        let data = std::mem::take(&mut *self.buffer.lock().unwrap_or_else(PoisonError::into_inner));
        write(cluster, Space::Global, &self.runs, self.effect, &data);
        access::record(cluster, None, &self.footprint, self.epoch, self.pc);
        cluster.wake();
        Ok(())
    }
}

/// Appends bytes that are within bounds.
pub(crate) fn read(cluster: &Cluster, from: Location, bytes: u32, into: &mut Vec<u8>) {
    let start = into.len();
    into.resize(start + bytes as usize, 0);
    match from.space {
        Space::Shared(rank) => {
            let shared = cluster.ctas[rank as usize].shared.bytes();
            into[start..].copy_from_slice(&shared[from.at as usize..][..bytes as usize]);
        }
        Space::Global => {
            if let Some(allocation) = cluster.context.global.nearest(from.at) {
                allocation.read(from.at - allocation.base(), &mut into[start..]);
            }
        }
    }
}

/// Puts bytes into runs that are within bounds.
pub(crate) fn write(cluster: &mut Cluster, to: Space, runs: &[Run], effect: Effect, data: &[u8]) {
    let mut left = data;
    for run in runs {
        let (bytes, rest) = left.split_at(run.bytes as usize);
        left = rest;
        match effect {
            Effect::Copy => put(cluster, to, run.at, bytes),
            Effect::Masked(mask) => {
                for (i, byte) in bytes.iter().enumerate() {
                    if mask >> (i % 16) & 1 == 1 {
                        put(cluster, to, run.at + i as u64, std::slice::from_ref(byte));
                    }
                }
            }
            Effect::Reduce(reduce) => combine(cluster, to, run.at, reduce, bytes),
        }
    }
}

fn put(cluster: &mut Cluster, to: Space, at: u64, bytes: &[u8]) {
    match to {
        Space::Shared(rank) => cluster.ctas[rank as usize].shared.write(at as u32, bytes),
        Space::Global => {
            if let Some(allocation) = cluster.context.global.nearest(at) {
                allocation.write(at - allocation.base(), bytes);
            }
        }
    }
}

fn combine(cluster: &mut Cluster, to: Space, at: u64, reduce: Reduce, bytes: &[u8]) {
    let size = reduce.bytes();
    for (i, element) in bytes.chunks_exact(size as usize).enumerate() {
        let value = element.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let at = at + i as u64 * u64::from(size);
        match to {
            Space::Shared(rank) => {
                let shared = &mut cluster.ctas[rank as usize].shared;
                let old = shared.load(at as u32, size);
                shared.store(at as u32, size, reduce.apply(old, value));
            }
            Space::Global => {
                if let Some(allocation) = cluster.context.global.nearest(at) {
                    allocation.modify(at - allocation.base(), size, |old| reduce.apply(old, value));
                }
            }
        }
    }
}
