//! `mbarrier.*`: decoding.
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions", the sections named after
//! the instructions.

use super::window::Window;
use crate::ast::{Instruction, Operand, Type};
use crate::error::ParseError;
use crate::machine::registers::{Predicate, Slot, Source};
use crate::program::{Address, Decoder, Scope};

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
