//! `bar`, `barrier`, `barrier.cluster`, `bar.warp.sync`.
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions: bar, barrier;
//! bar.warp.sync; barrier.cluster".
//!
//! What they order: everything that a thread did and knew when it arrived happens before what a
//! thread does that waited. `barrier.cluster.arrive.relaxed` tells only what a memory fence before
//! it covered, and `arrive` alone learns nothing.

use super::Flow;
use crate::ast::{Instruction, Type};
use crate::error::{ParseError, Problem as ParseProblem};
use crate::machine::registers::{Condition, Predicate, Slot, Source};
use crate::machine::{Cluster, Reduced, WaitFor, Warp, lanes};
use crate::program::{Decoder, Scope};
use crate::report::{Problem, Stop};

/// An instruction of this family.
#[derive(Debug, Clone)]
pub(crate) enum Barrier {
    /// On one of a CTA's barriers.
    Cta(Use),
    /// `barrier.cluster.arrive`; whether it releases.
    ClusterArrive { releases: bool, aligned: bool },
    /// `barrier.cluster.wait`.
    ClusterWait { aligned: bool },
    /// `bar.warp.sync`.
    Warp(Source),
}

/// A use of a CTA's barrier.
#[derive(Debug, Clone)]
pub(crate) struct Use {
    barrier: Source,
    threads: Option<Source>,
    aligned: bool,
    then: Then,
}

#[derive(Debug, Clone)]
enum Then {
    Arrive,
    Sync,
    Count(Slot, Condition),
    And(Predicate, Condition),
    Or(Predicate, Condition),
}

/// Decodes an instruction of this family.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Barrier, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    let always = instruction.opcode == "bar";
    if always && d.take("warp") {
        d.expect("sync")?;
        d.finish(1..=1)?;
        return Ok(Barrier::Warp(d.source(0, Type::B32)?));
    }
    if !always && d.take("cluster") {
        return cluster(d);
    }
    d.take("cta");
    match d.next() {
        Some(which @ ("sync" | "arrive")) => {
            let aligned = d.take("aligned") || always;
            let least = if which == "sync" { 1 } else { 2 };
            d.finish(least..=2)?;
            let threads = if d.n_operands() == 2 { Some(d.source(1, Type::U32)?) } else { None };
            let then = if which == "sync" { Then::Sync } else { Then::Arrive };
            Ok(Barrier::Cta(Use { barrier: d.source(0, Type::U32)?, threads, aligned, then }))
        }
        Some("red") => {
            let how = d.required(&[("popc", 0), ("and", 1), ("or", 2)])?;
            let aligned = d.take("aligned") || always;
            d.expect(if how == 0 { "u32" } else { "pred" })?;
            d.finish(3..=4)?;
            let last = d.n_operands() - 1;
            let threads = if last == 3 { Some(d.source(2, Type::U32)?) } else { None };
            let condition = d.condition(last)?;
            let then = match how {
                0 => Then::Count(d.destination(0, Type::U32)?, condition),
                1 => Then::And(d.predicate(0)?, condition),
                _ => Then::Or(d.predicate(0)?, condition),
            };
            Ok(Barrier::Cta(Use { barrier: d.source(1, Type::U32)?, threads, aligned, then }))
        }
        Some(other) => Err(d.error(ParseProblem::UnknownModifier(other.to_owned()))),
        None => Err(d.error(ParseProblem::MissingModifier("an operation".to_owned()))),
    }
}

fn cluster(mut d: Decoder<'_>) -> Result<Barrier, ParseError> {
    let barrier = if d.take("arrive") {
        let releases = d.choice(&[("release", true), ("relaxed", false)]).unwrap_or(true);
        Barrier::ClusterArrive { releases, aligned: d.take("aligned") }
    } else {
        d.expect("wait")?;
        d.take("acquire");
        Barrier::ClusterWait { aligned: d.take("aligned") }
    };
    d.finish(0..=0)?;
    Ok(barrier)
}

/// The value of an operand that must be the same for all lanes of a mask.
fn uniform(warp: &Warp, source: Source, mask: u32, what: &str) -> Result<u64, Stop> {
    let first = mask.trailing_zeros() as usize;
    let value = warp.registers.value(source, first);
    match lanes(mask).find(|&lane| warp.registers.value(source, lane) != value) {
        None => Ok(value),
        Some(lane) => {
            let what = format!("{what} differs between lanes {first} and {lane}");
            Err(Problem::Operand { what }.at(lane as u32))
        }
    }
}

impl Barrier {
    /// Whether all lanes of the warp must execute it together.
    pub(super) fn is_aligned(&self) -> bool {
        match self {
            Self::Cta(Use { aligned, .. })
            | Self::ClusterArrive { aligned, .. }
            | Self::ClusterWait { aligned } => *aligned,
            Self::Warp(_) => false,
        }
    }

    /// Executes it for the lanes in `mask`.
    pub(super) fn execute(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<Flow, Stop> {
        match self {
            Self::Cta(barrier) => barrier.execute(warp, cluster, mask),
            Self::ClusterArrive { releases, .. } => {
                cluster.arrive(warp, mask, *releases)?;
                Ok(Flow::Next)
            }
            Self::ClusterWait { .. } => cluster.wait(warp, mask),
            Self::Warp(members) => warp_sync(*members, warp, mask),
        }
    }
}

impl Use {
    fn execute(&self, warp: &mut Warp, cluster: &mut Cluster, mask: u32) -> Result<Flow, Stop> {
        let number = uniform(warp, self.barrier, mask, "the barrier")?;
        let cta = warp.rank();
        if number > 15 {
            let what = format!("there is no barrier {number}: a CTA has 0 to 15");
            return Err(Problem::Operand { what }.at(mask.trailing_zeros()));
        }
        let barrier = number as u32;
        if !matches!(warp.resumed(), Some(WaitFor::Barrier { .. })) {
            let threads = match self.threads {
                None => None,
                Some(source) => Some(uniform(warp, source, mask, "the thread count")?),
            };
            let votes = match self.then {
                Then::Arrive | Then::Sync => None,
                Then::Count(_, condition) | Then::And(_, condition) | Then::Or(_, condition) => {
                    Some(warp.registers.condition(condition))
                }
            };
            let phase = cluster.arrive_at(warp, barrier, threads, mask, votes)?;
            if matches!(self.then, Then::Arrive) {
                return Ok(Flow::Next);
            }
            let waits = WaitFor::Barrier { cta, barrier, phase };
            if !waits.is_over(cluster) {
                return Ok(Flow::Wait(waits));
            }
        }
        let state = &cluster.ctas[cta as usize].barriers[barrier as usize];
        if let Some(message) = &state.told {
            warp.clock.acquire(mask, message);
        }
        let Reduced { count, all, .. } = state.reduced;
        match self.then {
            Then::Arrive | Then::Sync => {}
            Then::Count(to, _) => warp.registers.store(to, &[u64::from(count); 32], mask),
            Then::And(to, _) => warp.registers.set_predicate(to, spread(all), mask),
            Then::Or(to, _) => warp.registers.set_predicate(to, spread(count > 0), mask),
        }
        Ok(Flow::Next)
    }
}

fn spread(value: bool) -> u32 {
    if value { u32::MAX } else { 0 }
}

/// `bar.warp.sync`: lanes that name the same members wait for each other.
fn warp_sync(members: Source, warp: &mut Warp, mask: u32) -> Result<Flow, Stop> {
    let all = super::warp::members(warp, members, mask)?;
    let missing = |needed: u32| needed & warp.live() & !mask != 0;
    if let [(needed, _)] = all[..]
        && (missing(needed) || warp.resumed().is_some())
    {
        if warp.resumed().is_none() {
            warp.tell_members(needed, mask);
            return Ok(Flow::Wait(WaitFor::Warp { needed }));
        }
        warp.learn_from_members(needed, mask);
        return Ok(Flow::Next);
    }
    if all.iter().any(|&(needed, _)| missing(needed)) {
        return Ok(Flow::Gather(all.iter().fold(0, |union, &(needed, _)| union | needed)));
    }
    for (needed, here) in all {
        warp.tell_members(needed, here);
        warp.learn_from_members(needed, here);
    }
    Ok(Flow::Next)
}
