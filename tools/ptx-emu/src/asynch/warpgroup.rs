//! The `wgmma` of a warpgroup: one operation of four warps.
//!
//! A step is issued when the first warp executes it and can be carried out when all four have. Steps
//! are carried out in order. What they make of an accumulator is kept in a chain until each warp has
//! waited for it.

use std::collections::{BTreeMap, VecDeque};

use super::access;
use super::footprint::Footprint;
use super::fragments::Fragments;
use super::pending::OperationId;
use crate::machine::Cluster;
use crate::machine::operation::Work;
use crate::machine::registers::Row;
use crate::memory::clock::Epoch;
use crate::report::{Problem, Stop};
use crate::tensor_core::wgmma::{Options, Wgmma};

/// Where A is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In shared memory, by descriptor.
    Shared(u64),
    /// In registers.
    Registers,
}

/// What all warps of a warpgroup must agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Form {
    /// The instruction.
    pub(crate) pc: u32,
    pub(crate) a: Place,
    /// Descriptor of B.
    pub(crate) b: u64,
    pub(crate) accumulates: bool,
}

/// The parts of an instruction that do not change.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    pub(crate) shape: Wgmma,
    pub(crate) options: Options,
    pub(crate) transposes_a: bool,
    pub(crate) transposes_b: bool,
    /// The selector of metadata where A is sparse.
    pub(crate) selector: Option<u32>,
}

/// What a warp brings to a step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Share {
    /// Registers of A.
    pub(crate) a: Vec<Row>,
    /// Metadata.
    pub(crate) metadata: Option<Row>,
}

/// A step that is not over.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) form: Form,
    pub(crate) kind: Kind,
    pub(crate) chain: u64,
    pub(crate) shares: [Option<Share>; 4],
    pub(crate) id: OperationId,
}

impl Step {
    /// Whether all warps have executed it.
    pub(crate) fn is_joined(&self) -> bool {
        self.shares.iter().all(Option::is_some)
    }
}

/// An accumulator under way.
#[derive(Debug)]
struct Chain {
    /// What the warps' registers held at its start, until all four are known.
    start: [Option<Vec<Row>>; 4],
    /// All of D, row by row, once a step has been carried out.
    d: Option<Vec<u32>>,
    shape: Wgmma,
    /// Warps that have taken the result.
    taken: u32,
}

/// One warp's progress.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// Steps that it has issued.
    pub(crate) issued: u64,
    /// How many it had at each commit that no wait has covered.
    pub(crate) committed: VecDeque<u64>,
    /// Its registers.
    pub(crate) fragments: Fragments,
}

/// A warpgroup.
#[derive(Debug)]
pub(crate) struct Warpgroup {
    /// Under whose epochs its steps read shared memory.
    pub(crate) agent: u32,
    /// Steps carried out.
    pub(crate) done: u64,
    /// Steps issued and not carried out, oldest first.
    pub(crate) steps: VecDeque<Step>,
    /// Its warps.
    pub(crate) sides: [Side; 4],
    chains: BTreeMap<u64, Chain>,
    next_chain: u64,
}

impl Warpgroup {
    /// One that has issued nothing.
    pub(crate) fn new(agent: u32) -> Self {
        Self {
            agent,
            done: 0,
            steps: VecDeque::new(),
            sides: Default::default(),
            chains: BTreeMap::new(),
            next_chain: 0,
        }
    }

    /// The step of a number, if a warp has issued it already.
    pub(crate) fn step(&mut self, number: u64) -> Option<&mut Step> {
        self.steps.get_mut((number - self.done) as usize)
    }

    /// A new accumulator.
    pub(crate) fn new_chain(&mut self, shape: Wgmma) -> u64 {
        self.next_chain += 1;
        let chain = Chain { start: Default::default(), d: None, shape, taken: 0 };
        self.chains.insert(self.next_chain, chain);
        self.next_chain
    }

    /// Gives an accumulator what a warp's registers hold before its first step.
    pub(crate) fn start(&mut self, chain: u64, warp: usize, rows: Vec<Row>) {
        if let Some(chain) = self.chains.get_mut(&chain) {
            chain.start[warp] = Some(rows);
        }
    }

    /// A warp's registers of an accumulator whose steps are over.
    pub(crate) fn take(&mut self, chain: u64, warp: usize) -> Vec<Row> {
        let Some(found) = self.chains.get_mut(&chain) else { return Vec::new() };
        let shape = found.shape;
        let mut rows = vec![[0; 32]; shape.d_registers() as usize];
        if let Some(d) = &found.d {
            shape.scatter_to_warp(d, warp as u32, |lane, register, bits| {
                rows[register as usize][lane as usize] = u64::from(bits);
            });
        }
        found.taken += 1;
        if found.taken == 4 {
            self.chains.remove(&chain);
        }
        rows
    }
}

/// A step being carried out.
#[derive(Debug)]
pub(crate) struct Multiplication {
    /// Rank of the CTA.
    pub(crate) rank: u32,
    /// Warpgroup in the CTA.
    pub(crate) group: usize,
    /// What it reads of shared memory.
    pub(crate) footprint: Footprint,
}

impl Work for Multiplication {
    fn complete(self: Box<Self>, cluster: &mut Cluster) -> Result<(), Stop> {
        let cta = &mut cluster.ctas[self.rank as usize];
        let group = &mut cta.asynch.warpgroups[self.group];
        let Some(step) = group.steps.pop_front() else { return Ok(()) };
        group.done += 1;
        let epoch = Epoch::of_agent(cluster.id, group.agent, group.done as u32);
        let done = multiply(group, &step, cta.shared.bytes());
        done.map_err(|what| Problem::Operand { what }.of_warp())?;
        access::record(cluster, None, &self.footprint, epoch, step.form.pc);
        cluster.wake();
        Ok(())
    }
}

fn multiply(group: &mut Warpgroup, step: &Step, shared: &[u8]) -> Result<(), String> {
    let Kind { shape, options, transposes_a, transposes_b, selector } = step.kind;
    let share = |thread: u32| step.shares[thread as usize / 32].as_ref();
    // Ranges were checked when the step was issued.
    let read = |at: u32| -> Result<[u8; 16], String> {
        let bytes = shared.get(at as usize..).and_then(|bytes| bytes.first_chunk());
        bytes.copied().ok_or_else(|| format!("shared address {at:#x} is out of range"))
    };
    let a = match step.form.a {
        Place::Shared(bits) => {
            let operand = shape.a_shared(bits, transposes_a);
            operand.map_err(|error| error.to_string())?.load(read)?
        }
        Place::Registers => shape.a_from_registers(|thread, register| {
            let rows = share(thread).map_or(&[][..], |share| &share.a);
            rows.get(register as usize).map_or(0, |row| row[thread as usize % 32] as u32)
        }),
    };
    let b = shape.b_shared(step.form.b, transposes_b).map_err(|error| error.to_string())?;
    let b = b.load(read)?;
    let selection = match selector {
        None => None,
        Some(selector) => {
            let word = |thread: u32| {
                let row = share(thread).and_then(|share| share.metadata);
                row.map_or(0, |row| row[thread as usize % 32] as u32)
            };
            Some(shape.selection(selector, word).map_err(|error| error.to_string())?)
        }
    };
    let Some(chain) = group.chains.get_mut(&step.chain) else { return Ok(()) };
    let mut d = match chain.d.take() {
        Some(d) => d,
        None => {
            let start = std::mem::take(&mut chain.start);
            shape.gather(|thread, register| {
                let rows = start[thread as usize / 32].as_ref();
                rows.map_or(0, |rows| rows[register as usize][thread as usize % 32] as u32)
            })
        }
    };
    shape.run(&a, selection.as_ref(), &b, &mut d, step.form.accumulates, options);
    chain.d = Some(d);
    Ok(())
}
