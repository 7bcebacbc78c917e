//! `wgmma.*`: execution.

use super::Flow;
use super::wgmma::{Multiply, OperandA, Wgmma};
use crate::asynch::access;
use crate::asynch::footprint::{Footprint, Space, Touch};
use crate::asynch::warpgroup::{Form, Multiplication, Place, Share, Step, Warpgroup};
use crate::machine::operation::{Operation, Release};
use crate::machine::registers::{Row, Slot, Source};
use crate::machine::{Cluster, Kernel, WaitFor, Warp};
use crate::memory::clock::Epoch;
use crate::report::{Problem, Stop};

impl Wgmma {
    /// Executes the instruction for a whole warp.
    pub(crate) fn execute(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<Flow, Stop> {
        if mask != u32::MAX || cluster.context.warps_per_cta() < warp.index() / 4 * 4 + 4 {
            let what = "wgmma takes four full warps, the first a multiple of four".to_owned();
            return Err(Problem::Operand { what }.of_warp());
        }
        let (rank, group, side) =
            (warp.rank(), warp.index() as usize / 4, warp.index() as usize % 4);
        let agents = &mut cluster.agents;
        let warpgroup = cluster.ctas[rank as usize].asynch.warpgroup(group, agents);
        match self {
            Self::Fence => warpgroup.sides[side].fragments.fence(),
            Self::Commit => {
                let side = &mut warpgroup.sides[side];
                side.committed.push_back(side.issued);
            }
            Self::Wait(newest) => {
                let committed = &warpgroup.sides[side].committed;
                let older = committed.len().saturating_sub(*newest as usize);
                let Some(&steps) = older.checked_sub(1).and_then(|last| committed.get(last)) else {
                    return Ok(Flow::Next);
                };
                if warpgroup.done < steps {
                    let group = group as u32;
                    return Ok(Flow::Wait(WaitFor::Warpgroup { cta: rank, group, steps }));
                }
                waited(warp, cluster.id, warpgroup, side, older, steps);
            }
            Self::Multiply(multiply) => {
                multiply.issue(warp, cluster, group, side).map_err(Problem::of_warp)?;
            }
        }
        Ok(Flow::Next)
    }
}

/// A warp has waited for its oldest groups, `older` of them with the warpgroup's first `steps` steps.
fn waited(
    warp: &mut Warp,
    cluster: u32,
    warpgroup: &mut Warpgroup,
    side: usize,
    older: usize,
    steps: u64,
) {
    warpgroup.sides[side].committed.drain(..older);
    for flight in warpgroup.sides[side].fragments.retire(steps) {
        let rows = warpgroup.take(flight.chain, side);
        for (names, row) in flight.names.iter().zip(&rows) {
            for &slot in names {
                *warp.registers.row_mut(slot) = *row;
            }
        }
    }
    warp.clock.completed(u32::MAX, Epoch::of_agent(cluster, warpgroup.agent, steps as u32));
}

/// What all lanes agree on.
fn uniform(warp: &Warp, source: Source, what: &str) -> Result<u64, Problem> {
    let row = warp.registers.load(source);
    if row.iter().all(|&value| value == row[0]) {
        Ok(row[0])
    } else {
        Err(Problem::Operand { what: format!("{what} is not the same in all lanes of the warp") })
    }
}

impl Multiply {
    /// What is wrong with the lifetime of its metadata.
    pub(crate) fn dead_metadata(&self, kernel: &Kernel) -> Option<Problem> {
        let (Some(Source::Slot(slot)), Some(wait)) = (self.metadata, self.dead_at) else {
            return None;
        };
        Some(Problem::DeadMetadata {
            register: kernel.register_names[slot.0 as usize].clone(),
            wait_line: kernel.code[wait as usize].location.line,
        })
    }

    fn issue(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        group: usize,
        side: usize,
    ) -> Result<(), Problem> {
        if let Some(problem) = self.dead_metadata(&cluster.context.kernel) {
            return Err(problem);
        }
        let form = self.form(warp)?;
        let (rank, pc) = (warp.rank(), warp.pc());
        let warpgroup = &mut cluster.ctas[rank as usize].asynch.warpgroups[group];
        let number = warpgroup.sides[side].issued;
        let joins = warpgroup.step(number).is_some();
        let id = if joins {
            None
        } else {
            let footprint = self.footprint(cluster, rank, &form)?;
            access::check(cluster, warp, 0, &footprint)?;
            let place = cluster.place(warp, None);
            let work = Box::new(Multiplication { rank, group, footprint: footprint.clone() });
            let release = Release::AtCompletion;
            let steps = &cluster.ctas[rank as usize].asynch.warpgroups[group].steps;
            let after = steps.back().map(|step| step.id).into_iter().collect();
            let operation = Operation { place, release, after, work: Some(work) };
            Some(cluster.operations.hold(vec![footprint], operation))
        };
        let chain = self.own(warp, cluster, group, side, number)?;

        let rows = |slots: &[Slot]| -> Vec<Row> {
            slots.iter().map(|&slot| *warp.registers.row(slot)).collect()
        };
        let warpgroup = &mut cluster.ctas[rank as usize].asynch.warpgroups[group];
        let common = match warpgroup.step(number) {
            Some(step) => {
                if step.form != form || chain.is_some_and(|chain| chain != step.chain) {
                    let other = step.form.pc;
                    let line = cluster.context.kernel.code[other as usize].location.line;
                    return Err(Problem::Warpgroup { line });
                }
                step.chain
            }
            None => chain.unwrap_or_else(|| warpgroup.new_chain(self.kind.shape)),
        };
        if chain.is_none() {
            warpgroup.start(common, side, rows(&self.d));
            warpgroup.sides[side].fragments.begin(&self.d, common, number, pc);
        }
        if let Some(id) = id {
            let (kind, shares) = (self.kind.clone(), Default::default());
            warpgroup.steps.push_back(Step { form, kind, chain: common, shares, id });
        }
        warpgroup.sides[side].issued += 1;
        if let Some(step) = warpgroup.step(number) {
            step.shares[side] = Some(Share {
                a: match &self.a {
                    OperandA::Registers(slots) => rows(slots),
                    OperandA::Descriptor(_) => Vec::new(),
                },
                metadata: self.metadata.map(|source| warp.registers.load(source)),
            });
            if step.is_joined() {
                let id = step.id;
                cluster.operations.start(id);
            }
        }
        Ok(())
    }

    /// Checks that the registers may be used, and takes those of A; the chain of the accumulator
    /// where it is under way already.
    fn own(
        &self,
        warp: &Warp,
        cluster: &mut Cluster,
        group: usize,
        side: usize,
        number: u64,
    ) -> Result<Option<u64>, Problem> {
        let a: &[Slot] = match &self.a {
            OperandA::Registers(slots) => slots,
            OperandA::Descriptor(_) => &[],
        };
        let warpgroup = &mut cluster.ctas[warp.rank() as usize].asynch.warpgroups[group];
        let fragments = &mut warpgroup.sides[side].fragments;
        let unfenced = fragments.unfenced(&self.d).or_else(|| fragments.unfenced(a));
        if let Some((slot, written)) = unfenced {
            let kernel = &cluster.context.kernel;
            return Err(Problem::WgmmaFence {
                register: kernel.register_names[slot.0 as usize].clone(),
                other_line: kernel.code[written as usize].location.line,
            });
        }
        let chain = fragments.flight_of(&self.d).map(|flight| {
            flight.map(|flight| {
                flight.last = number;
                flight.chain
            })
        });
        let mut held = if a.is_empty() { Ok(()) } else { fragments.hold(a, number, warp.pc()) };
        if let Some(Source::Slot(metadata)) = self.metadata {
            held = held.and_then(|()| fragments.hold_metadata(metadata, number, warp.pc()));
        }
        chain.and_then(|chain| held.map(|()| chain)).map_err(|it| cluster.trespass(it))
    }

    fn form(&self, warp: &Warp) -> Result<Form, Problem> {
        let lanes = warp.registers.condition(self.accumulates);
        if lanes != 0 && lanes != u32::MAX {
            let what = "scale-d is not the same in all lanes of the warp".to_owned();
            return Err(Problem::Operand { what });
        }
        let a = match &self.a {
            OperandA::Registers(_) => Place::Registers,
            OperandA::Descriptor(bits) => Place::Shared(uniform(warp, *bits, "descriptor of A")?),
        };
        let b = uniform(warp, self.b, "descriptor of B")?;
        Ok(Form { pc: warp.pc(), a, b, accumulates: lanes != 0 })
    }

    /// The bytes of shared memory that are read.
    fn footprint(&self, cluster: &Cluster, rank: u32, form: &Form) -> Result<Footprint, Problem> {
        let end = cluster.ctas[rank as usize].shared.end();
        let shape = self.kind.shape;
        let mut operands = vec![("B", shape.b_shared(form.b, self.kind.transposes_b))];
        if let Place::Shared(bits) = form.a {
            operands.push(("A", shape.a_shared(bits, self.kind.transposes_a)));
        }
        let mut runs = Vec::new();
        for (name, operand) in operands {
            let ranges = operand.and_then(|operand| {
                operand.check_rank(rank)?;
                operand.ranges_within(end)
            });
            let ranges = ranges.map_err(|error| Problem::Descriptor { operand: name, error })?;
            runs.extend(ranges.iter().map(|range| (u64::from(range.start), range.len() as u64)));
        }
        Ok(Footprint::new(Space::Shared(rank), Touch::Read, runs))
    }
}
