//! `mbarrier.*`.
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions", the sections named after
//! the instructions.

use super::Flow;
use super::window::{Window, value};
use crate::ast::{Instruction, Operand, Type};
use crate::asynch::mbarrier::Mbarrier as State;
use crate::asynch::objects::BYTES;
use crate::error::ParseError;
use crate::machine::registers::{Predicate, Slot, Source};
use crate::machine::{Cluster, WaitFor, Warp, lanes};
use crate::memory::shadow::Access;
use crate::program::{Address, Decoder, Scope};
use crate::report::{AccessKind, Problem, Stop};

/// An instruction on an mbarrier.
#[derive(Debug, Clone)]
pub(crate) enum Mbarrier {
    /// `mbarrier.init`.
    Init { at: Place, count: Source },
    /// `mbarrier.inval`.
    Invalidate { at: Place },
    /// `mbarrier.expect_tx`.
    ExpectTx { at: Place, bytes: Source },
    /// `mbarrier.complete_tx`: what an asynchronous copy would do, without the copy.
    CompleteTx { at: Place, bytes: Source },
    /// `mbarrier.arrive` and `mbarrier.arrive_drop`.
    Arrive(Arrive),
    /// `mbarrier.test_wait` and `mbarrier.try_wait`.
    Wait(Wait),
    /// `mbarrier.pending_count`.
    PendingCount { count: Slot, token: Source },
}

/// Where the mbarrier is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) address: Address,
    pub(crate) window: Window,
}

/// An arrival.
#[derive(Debug, Clone)]
pub(crate) struct Arrive {
    pub(crate) at: Place,
    /// Where the token goes.
    pub(crate) token: Option<Slot>,
    /// Arrivals of each thread.
    pub(crate) count: Source,
    /// `.expect_tx`: bytes expected before the arrival.
    pub(crate) expect_tx: Option<Source>,
    /// `.arrive_drop`: later phases expect as many arrivals less.
    pub(crate) drops: bool,
    /// `.noComplete`.
    pub(crate) no_complete: bool,
    /// Not `.relaxed`.
    pub(crate) releases: bool,
}

/// A test of a phase.
#[derive(Debug, Clone)]
pub(crate) struct Wait {
    pub(crate) at: Place,
    pub(crate) complete: Predicate,
    pub(crate) phase: Phase,
    /// `try_wait`, which may suspend the thread.
    pub(crate) suspends: bool,
    /// Not `.relaxed`.
    pub(crate) acquires: bool,
}

/// The phase that is tested.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Phase {
    /// The one during which an arrive returned this token.
    Token(Source),
    /// The current or previous one, whichever has this parity.
    Parity(Source),
}

/// Decodes an instruction of this family.
pub(crate) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Mbarrier, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    match d.next() {
        Some("init") => {
            let window = Window::of_own(&mut d);
            d.expect("b64")?;
            d.finish(2..=2)?;
            let at = Place { address: d.address(0)?, window };
            Ok(Mbarrier::Init { at, count: d.source(1, Type::U32)? })
        }
        Some("inval") => {
            let window = Window::of_own(&mut d);
            d.expect("b64")?;
            d.finish(1..=1)?;
            Ok(Mbarrier::Invalidate { at: Place { address: d.address(0)?, window } })
        }
        Some(which @ ("expect_tx" | "complete_tx")) => {
            d.take("relaxed");
            take_scope(&mut d);
            let window = Window::of_any(&mut d);
            d.expect("b64")?;
            d.finish(2..=2)?;
            let at = Place { address: d.address(0)?, window };
            let bytes = d.source(1, Type::U32)?;
            Ok(if which == "expect_tx" {
                Mbarrier::ExpectTx { at, bytes }
            } else {
                Mbarrier::CompleteTx { at, bytes }
            })
        }
        Some("arrive") => arrive(d, false),
        Some("arrive_drop") => arrive(d, true),
        Some("test_wait") => wait(d, false),
        Some("try_wait") => wait(d, true),
        Some("pending_count") => {
            d.expect("b64")?;
            d.finish(2..=2)?;
            let count = d.destination(0, Type::U32)?;
            Ok(Mbarrier::PendingCount { count, token: d.source(1, Type::B64)? })
        }
        Some(other) => Err(d.error(crate::error::Problem::UnknownModifier(other.to_owned()))),
        None => Err(d.error(crate::error::Problem::MissingModifier("an operation".to_owned()))),
    }
}

fn take_scope(d: &mut Decoder<'_>) {
    d.choice(&[("cta", ()), ("cluster", ())]);
}

fn arrive(mut d: Decoder<'_>, drops: bool) -> Result<Mbarrier, ParseError> {
    let expects = d.take("expect_tx");
    let no_complete = !expects && d.take("noComplete");
    let releases = d.choice(&[("release", true), ("relaxed", false)]).unwrap_or(true);
    take_scope(&mut d);
    let window = Window::of_any(&mut d);
    d.expect("b64")?;
    // A remote arrive has no token, and older compilers leave out even the sink.
    let first = usize::from(!matches!(d.operand(0)?, Operand::Address { .. }));
    d.finish(first + 1..=first + 2)?;
    let token = match d.operand(0)? {
        Operand::Sink | Operand::Address { .. } => None,
        _ => Some(d.destination(0, Type::B64)?),
    };
    let at = Place { address: d.address(first)?, window };
    let given =
        if d.n_operands() > first + 1 { Some(d.source(first + 1, Type::U32)?) } else { None };
    if given.is_none() && (expects || no_complete) {
        d.operand(first + 1)?;
    }
    let (count, expect_tx) = if expects {
        (Source::Constant(1), given)
    } else {
        (given.unwrap_or(Source::Constant(1)), None)
    };
    Ok(Mbarrier::Arrive(Arrive { at, token, count, expect_tx, drops, no_complete, releases }))
}

fn wait(mut d: Decoder<'_>, suspends: bool) -> Result<Mbarrier, ParseError> {
    let parity = d.take("parity");
    let acquires = d.choice(&[("acquire", true), ("relaxed", false)]).unwrap_or(true);
    take_scope(&mut d);
    let window = Window::of_own(&mut d);
    d.expect("b64")?;
    // The hint limits how long a try_wait suspends; suspension here ends when the phase does.
    d.finish(3..=if suspends { 4 } else { 3 })?;
    if d.n_operands() == 4 {
        d.source(3, Type::U32)?;
    }
    let phase = if parity {
        Phase::Parity(d.source(2, Type::U32)?)
    } else {
        Phase::Token(d.source(2, Type::B64)?)
    };
    let at = Place { address: d.address(1)?, window };
    Ok(Mbarrier::Wait(Wait { at, complete: d.predicate(0)?, phase, suspends, acquires }))
}

impl Place {
    /// Rank and offset of the mbarrier in a lane.
    pub(crate) fn locate(
        &self,
        warp: &Warp,
        cluster: &Cluster,
        lane: usize,
    ) -> Result<(u32, u32), Problem> {
        let shape = (BYTES, BYTES);
        self.window.shared(warp, cluster, &self.address, lane, shape, AccessKind::Atomic)
    }

    /// As [`Place::locate`], of an mbarrier that the lane is about to use: its init must have
    /// happened before.
    pub(crate) fn found(
        &self,
        warp: &Warp,
        cluster: &mut Cluster,
        lane: usize,
    ) -> Result<(u32, u32), Problem> {
        let (rank, offset) = self.locate(warp, cluster, lane)?;
        cluster.visit(warp, lane as u32, rank)?;
        cluster.use_mbarrier(warp, lane as u32, rank, offset)?;
        Ok((rank, offset))
    }
}

impl Mbarrier {
    /// Executes the instruction for the lanes in `mask`.
    pub(crate) fn execute(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<Flow, Stop> {
        if let Self::Wait(wait) = self {
            return wait.execute(warp, cluster, mask);
        }
        if let Self::PendingCount { count, token } = self {
            for lane in lanes(mask) {
                let pending = State::token_pending(warp.registers.value(*token, lane));
                warp.registers.set(*count, lane, u64::from(pending));
            }
            return Ok(Flow::Next);
        }
        for lane in lanes(mask) {
            self.act(warp, cluster, lane).map_err(|problem| problem.at(lane as u32))?;
        }
        Ok(Flow::Next)
    }

    fn act(&self, warp: &mut Warp, cluster: &mut Cluster, lane: usize) -> Result<(), Problem> {
        let write = Access { write: true, strong: false };
        match self {
            Self::Init { at, count } => {
                let (rank, offset) = at.locate(warp, cluster, lane)?;
                cluster.touch_shared(warp, lane as u32, (rank, offset, BYTES), write)?;
                let count = value(warp, *count, lane);
                let (id, agents) = (cluster.id, &mut cluster.agents);
                let cta = &mut cluster.ctas[rank as usize];
                let made = cta.asynch.mbarriers.init(id, offset, count, || agents.one());
                made.map_err(|error| cluster.mbarrier_problem(rank, offset, error))?;
                cluster.ctas[rank as usize].shared.initialize(offset, BYTES);
            }
            Self::Invalidate { at } => {
                let (rank, offset) = at.locate(warp, cluster, lane)?;
                cluster.touch_shared(warp, lane as u32, (rank, offset, BYTES), write)?;
                let cta = &mut cluster.ctas[rank as usize];
                let ended = cta.asynch.mbarriers.invalidate(offset);
                ended.map_err(|error| cluster.mbarrier_problem(rank, offset, error))?;
                // What an invalidated mbarrier leaves behind is no value to read.
                cluster.ctas[rank as usize].shared.poison(offset, BYTES);
                cluster.wake();
            }
            Self::ExpectTx { at, bytes } => {
                let (rank, offset) = at.found(warp, cluster, lane)?;
                let bytes = value(warp, *bytes, lane);
                let barriers = &mut cluster.ctas[rank as usize].asynch.mbarriers;
                let done = barriers.get_mut(offset).and_then(|it| it.state.expect_tx(bytes));
                done.map_err(|error| cluster.mbarrier_problem(rank, offset, error))?;
            }
            Self::CompleteTx { at, bytes } => {
                let (rank, offset) = at.found(warp, cluster, lane)?;
                cluster.complete_tx(rank, offset, value(warp, *bytes, lane), None)?;
            }
            Self::Arrive(arrive) => arrive.act(warp, cluster, lane)?,
            Self::Wait(_) | Self::PendingCount { .. } => {}
        }
        Ok(())
    }
}

impl Arrive {
    fn act(&self, warp: &mut Warp, cluster: &mut Cluster, lane: usize) -> Result<(), Problem> {
        let (rank, offset) = self.at.found(warp, cluster, lane)?;
        let count = value(warp, self.count, lane);
        let expect_tx = self.expect_tx.map(|bytes| value(warp, bytes, lane));
        let id = cluster.id;
        let barriers = &mut cluster.ctas[rank as usize].asynch.mbarriers;
        let arrived = barriers.get_mut(offset).and_then(|object| {
            let token = object.state.token();
            if let Some(bytes) = expect_tx {
                object.state.expect_tx(bytes)?;
            }
            if self.drops {
                object.state.drop_expected(count)?;
            }
            if self.releases {
                warp.clock.release(1 << lane, object.arriving());
            }
            let complete = if self.no_complete {
                object.state.arrive_no_complete(count)?;
                false
            } else {
                object.state.arrive(count)?
            };
            if complete {
                object.next_phase(id);
            }
            Ok((token, complete))
        });
        let (token, complete) =
            arrived.map_err(|error| cluster.mbarrier_problem(rank, offset, error))?;
        if complete {
            cluster.wake();
        }
        if let Some(slot) = self.token {
            if rank != warp.rank() {
                let what = "an arrive on another CTA's mbarrier returns no token".to_owned();
                return Err(Problem::Operand { what });
            }
            warp.registers.set(slot, lane, token);
        }
        Ok(())
    }
}

impl Wait {
    fn execute(&self, warp: &mut Warp, cluster: &mut Cluster, mask: u32) -> Result<Flow, Stop> {
        let mut passed = 0;
        let mut waits: Vec<(u32, u32, u64)> = Vec::new();
        for lane in lanes(mask) {
            let at = |problem: Problem| problem.at(lane as u32);
            let (rank, offset) = self.at.found(warp, cluster, lane).map_err(at)?;
            if rank != warp.rank() {
                let what = "a CTA can wait for its own mbarriers only".to_owned();
                return Err(at(Problem::Operand { what }));
            }
            let barriers = &cluster.ctas[rank as usize].asynch.mbarriers;
            let tested = barriers.get(offset).and_then(|object| {
                let over = match self.phase {
                    Phase::Parity(parity) => {
                        object.state.parity_passed(value(warp, parity, lane) & 1 == 1)
                    }
                    Phase::Token(token) => {
                        object.state.token_passed(warp.registers.value(token, lane))?
                    }
                };
                Ok((over, object.state.phase(), object.arrived().clone()))
            });
            let (over, phase, message) =
                tested.map_err(|error| at(cluster.mbarrier_problem(rank, offset, error)))?;
            if over {
                passed |= 1 << lane;
                if self.acquires {
                    warp.clock.acquire(1 << lane, &message);
                }
            } else if !waits.contains(&(rank, offset, phase)) {
                waits.push((rank, offset, phase));
            }
        }
        // A thread may be suspended until its phase is over, but not while others of its warp could
        // go on; one that was resumed has waited long enough.
        if passed == 0 && self.suspends && warp.resumed().is_none() {
            return Ok(Flow::Wait(WaitFor::Mbarriers(waits)));
        }
        warp.registers.set_predicate(self.complete, passed, mask);
        // Who spins lets others go on.
        Ok(if passed == 0 { Flow::Yield } else { Flow::Next })
    }
}
