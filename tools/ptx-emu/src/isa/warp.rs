//! What lanes of a warp do with each other: `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`,
//! `elect.sync`, `activemask`.
//!
//! PTX ISA, "Data Movement and Conversion Instructions: shfl.sync" and "Parallel Synchronization
//! and Communication Instructions: vote.sync, match.sync, activemask, redux.sync, elect.sync". All
//! but `activemask` wait for the lanes that their member mask names. None orders memory accesses.

use super::Flow;
use crate::ast::{Instruction, Operand, Type};
use crate::error::{ParseError, Problem as ParseProblem};
use crate::machine::registers::{Condition, Predicate, Row, Slot, Source};
use crate::machine::{Warp, lanes};
use crate::program::{Decoder, Scope};
use crate::report::{Problem, Stop};

/// An instruction of this family.
#[derive(Debug, Clone)]
pub(crate) enum Together {
    /// `activemask`.
    Active(Slot),
    /// One that waits for members.
    Members(What, Source),
}

/// What members do.
#[derive(Debug, Clone)]
pub(crate) enum What {
    /// `shfl`.
    Shuffle { mode: Mode, to: Slot, inside: Option<Predicate>, from: Source, b: Source, c: Source },
    /// `vote` with a predicate for a result.
    Vote(Vote, Predicate, Condition),
    /// `vote.ballot`.
    Ballot(Slot, Condition),
    /// `match.any`.
    MatchAny(Slot, Source),
    /// `match.all`.
    MatchAll(Slot, Option<Predicate>, Source),
    /// `redux`.
    Reduce(Redux, Slot, Source),
    /// `elect`.
    Elect(Option<Slot>, Predicate),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Mode {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Vote {
    All,
    Any,
    Uniform,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Redux {
    Add,
    MinUnsigned,
    MaxUnsigned,
    MinSigned,
    MaxSigned,
    And,
    Or,
    Xor,
}

/// Decodes an instruction of this family.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Together, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    if instruction.opcode == "activemask" {
        d.expect("b32")?;
        d.finish(1..=1)?;
        return Ok(Together::Active(d.destination(0, Type::B32)?));
    }
    let what = match instruction.opcode.as_str() {
        "shfl" => shuffle(&mut d)?,
        "vote" => vote(&mut d)?,
        "match" => matching(&mut d)?,
        "redux" => reduce(&mut d)?,
        "elect" => {
            d.expect("sync")?;
            d.finish(2..=2)?;
            let Operand::Pair(leader, elected) = d.operand(0)? else {
                return d.wrong(0, "a register and a predicate");
            };
            let leader = match &**leader {
                Operand::Sink => None,
                leader => Some(d.register(leader, 0, 32..=32)?),
            };
            What::Elect(leader, d.predicate_of(elected, 0)?)
        }
        other => return Err(d.error(ParseProblem::UnknownOpcode(other.to_owned()))),
    };
    let members = d.source(d.n_operands() - 1, Type::B32)?;
    Ok(Together::Members(what, members))
}

/// A register, and a predicate after `|` if there is one.
fn pair(d: &Decoder<'_>, ty: Type) -> Result<(Slot, Option<Predicate>), ParseError> {
    match d.operand(0)? {
        Operand::Pair(value, flag) => {
            let flag = match &**flag {
                Operand::Sink => None,
                flag => Some(d.predicate_of(flag, 0)?),
            };
            Ok((d.register(value, 0, ty.bits()..=ty.bits())?, flag))
        }
        _ => Ok((d.destination(0, ty)?, None)),
    }
}

fn shuffle(d: &mut Decoder<'_>) -> Result<What, ParseError> {
    d.expect("sync")?;
    let mode = d.required(&[
        ("up", Mode::Up),
        ("down", Mode::Down),
        ("bfly", Mode::Butterfly),
        ("idx", Mode::Index),
    ])?;
    d.expect("b32")?;
    d.finish(5..=5)?;
    let (to, inside) = pair(d, Type::B32)?;
    let (b, c) = (d.source(2, Type::B32)?, d.source(3, Type::B32)?);
    Ok(What::Shuffle { mode, to, inside, from: d.source(1, Type::B32)?, b, c })
}

fn vote(d: &mut Decoder<'_>) -> Result<What, ParseError> {
    d.expect("sync")?;
    if d.take("ballot") {
        d.expect("b32")?;
        d.finish(3..=3)?;
        return Ok(What::Ballot(d.destination(0, Type::B32)?, d.condition(1)?));
    }
    let vote = d.required(&[("all", Vote::All), ("any", Vote::Any), ("uni", Vote::Uniform)])?;
    d.expect("pred")?;
    d.finish(3..=3)?;
    Ok(What::Vote(vote, d.predicate(0)?, d.condition(1)?))
}

fn matching(d: &mut Decoder<'_>) -> Result<What, ParseError> {
    let all = d.required(&[("any", false), ("all", true)])?;
    d.expect("sync")?;
    let ty = d.ty_of(&[Type::B32, Type::B64])?;
    d.finish(3..=3)?;
    let value = d.source(1, ty)?;
    if all {
        let (to, same) = pair(d, Type::B32)?;
        return Ok(What::MatchAll(to, same, value));
    }
    Ok(What::MatchAny(d.destination(0, Type::B32)?, value))
}

fn reduce(d: &mut Decoder<'_>) -> Result<What, ParseError> {
    d.expect("sync")?;
    let name = d.next();
    let ty = d.ty_of(&[Type::U32, Type::S32, Type::B32])?;
    d.finish(3..=3)?;
    let redux = match (name, ty) {
        (Some("add"), Type::U32 | Type::S32) => Redux::Add,
        (Some("min"), Type::U32) => Redux::MinUnsigned,
        (Some("max"), Type::U32) => Redux::MaxUnsigned,
        (Some("min"), Type::S32) => Redux::MinSigned,
        (Some("max"), Type::S32) => Redux::MaxSigned,
        (Some("and"), Type::B32) => Redux::And,
        (Some("or"), Type::B32) => Redux::Or,
        (Some("xor"), Type::B32) => Redux::Xor,
        _ => return d.unsupported(format!("this reduction of {ty}")),
    };
    Ok(What::Reduce(redux, d.destination(0, Type::B32)?, d.source(1, Type::B32)?))
}

/// The member masks of lanes: each with the lanes that name it.
pub(super) fn members(warp: &Warp, source: Source, mask: u32) -> Result<Vec<(u32, u32)>, Stop> {
    let mut all: Vec<(u32, u32)> = Vec::with_capacity(1);
    for lane in lanes(mask) {
        let named = warp.registers.value(source, lane) as u32;
        if named >> lane & 1 == 0 {
            let what = format!("the member mask {named:08x} leaves out the executing lane {lane}");
            return Err(Problem::Operand { what }.at(lane as u32));
        }
        match all.iter_mut().find(|(known, _)| *known == named) {
            Some((_, here)) => *here |= 1 << lane,
            None => all.push((named, 1 << lane)),
        }
    }
    Ok(all)
}

impl Together {
    /// Executes it for the lanes in `mask`.
    ///
    /// # Errors
    /// Member masks that leave out who names them, and shuffles from lanes that have exited.
    pub(super) fn execute(&self, warp: &mut Warp, mask: u32) -> Result<Flow, Stop> {
        let (what, source) = match self {
            Self::Active(to) => {
                warp.registers.store(*to, &[u64::from(mask); 32], mask);
                return Ok(Flow::Next);
            }
            Self::Members(what, source) => (what, *source),
        };
        let all = members(warp, source, mask)?;
        if all.iter().any(|&(needed, _)| needed & warp.live() & !mask != 0) {
            return Ok(Flow::Gather(all.iter().fold(0, |union, &(needed, _)| union | needed)));
        }
        for (members, here) in all {
            what.execute(warp, here, members & warp.exited())?;
        }
        Ok(Flow::Next)
    }
}

impl What {
    /// Executes it for the lanes in `mask`, which are all the members but for those that have exited.
    fn execute(&self, warp: &mut Warp, mask: u32, exited: u32) -> Result<(), Stop> {
        let registers = &mut warp.registers;
        match *self {
            Self::Shuffle { mode, to, inside, from, b, c } => {
                let (from, b, c) = (registers.load(from), registers.load(b), registers.load(c));
                let (mut values, mut flags) = ([0; 32], 0);
                for lane in lanes(mask) {
                    let (source, within) = mode.source(lane as i32, b[lane] as i32, c[lane] as i32);
                    flags |= u32::from(within) << lane;
                    // What a lane that takes no part holds is undefined.
                    let there = mask >> source & 1 == 1;
                    if exited >> source & 1 == 1 {
                        let what = format!(
                            "lane {lane} takes the value of lane {source}, which the member mask names \
                             and which has exited"
                        );
                        return Err(Problem::Operand { what }.at(lane as u32));
                    }
                    values[lane] = if there { from[source] } else { u64::from(u32::MAX) };
                }
                registers.store(to, &values, mask);
                if let Some(inside) = inside {
                    registers.set_predicate(inside, flags, mask);
                }
            }
            Self::Vote(vote, to, condition) => {
                let votes = registers.condition(condition) & mask;
                let holds = match vote {
                    Vote::All => votes == mask,
                    Vote::Any => votes != 0,
                    Vote::Uniform => votes == mask || votes == 0,
                };
                registers.set_predicate(to, if holds { mask } else { 0 }, mask);
            }
            Self::Ballot(to, condition) => {
                let votes = registers.condition(condition) & mask;
                registers.store(to, &[u64::from(votes); 32], mask);
            }
            Self::MatchAny(to, value) => {
                let values = registers.load(value);
                let same = std::array::from_fn(|lane| u64::from(equal(&values, lane, mask)));
                registers.store(to, &same, mask);
            }
            Self::MatchAll(to, flag, value) => {
                let values = registers.load(value);
                let same = equal(&values, mask.trailing_zeros() as usize, mask) == mask;
                let found = if same { mask } else { 0 };
                registers.store(to, &[u64::from(found); 32], mask);
                if let Some(flag) = flag {
                    registers.set_predicate(flag, found, mask);
                }
            }
            Self::Reduce(redux, to, value) => {
                let values = registers.load(value);
                let all = lanes(mask).map(|lane| values[lane] as u32);
                let result = all.reduce(|a, b| redux.apply(a, b)).unwrap_or(0);
                registers.store(to, &[u64::from(result); 32], mask);
            }
            Self::Elect(leader, elected) => {
                let lane = mask.trailing_zeros();
                if let Some(to) = leader {
                    registers.store(to, &[u64::from(lane); 32], mask);
                }
                registers.set_predicate(elected, 1 << lane, mask);
            }
        }
        Ok(())
    }
}

/// The lanes of a mask that hold what a lane does.
fn equal(values: &Row, lane: usize, mask: u32) -> u32 {
    lanes(mask).filter(|&other| values[other] == values[lane]).fold(0, |m, lane| m | 1 << lane)
}

impl Mode {
    /// The lane that a lane reads, and whether it is within its segment.
    fn source(self, lane: i32, b: i32, c: i32) -> (usize, bool) {
        let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
        let last = lane & segment | clamp & !segment;
        let (source, within) = match self {
            Self::Up => (lane - b, lane - b >= last),
            Self::Down => (lane + b, lane + b <= last),
            Self::Butterfly => (lane ^ b, lane ^ b <= last),
            Self::Index => {
                let source = lane & segment | b & !segment;
                (source, source <= last)
            }
        };
        if within { (source as usize & 31, true) } else { (lane as usize, false) }
    }
}

impl Redux {
    fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::MinUnsigned => a.min(b),
            Self::MaxUnsigned => a.max(b),
            Self::MinSigned => (a as i32).min(b as i32) as u32,
            Self::MaxSigned => (a as i32).max(b as i32) as u32,
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}
