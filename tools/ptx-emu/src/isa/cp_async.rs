//! `cp.async`: copies of 4, 8 or 16 bytes a thread, their groups, and their arrivals: decoding.
//!
//! PTX ISA, "Data Movement and Conversion Instructions: Non-bulk copy".

use crate::ast::{Instruction, Operand, Type};
use crate::error::{ParseError, Problem};
use crate::machine::registers::{Condition, Source};
use crate::program::{Address, Decoder, Scope};

use super::mbarrier::Place;
use super::window::Window;

/// An instruction of the family.
#[derive(Debug, Clone)]
pub(crate) enum CpAsync {
    /// `cp.async.ca` and `cp.async.cg`.
    Copy(Copy),
    /// `cp.async.commit_group`.
    Commit,
    /// `cp.async.wait_group`: all but the newest groups; `None` is `wait_all`, which also waits
    /// for what was not committed.
    Wait(Option<u32>),
    /// `cp.async.mbarrier.arrive`.
    Arrive {
        at: Place,
        /// Not `.noinc`: the phase is made to expect the arrival.
        increments: bool,
    },
}

/// A copy from global to shared memory.
#[derive(Debug, Clone)]
pub(crate) struct Copy {
    pub(crate) to: Address,
    pub(crate) from: Address,
    /// Bytes written: 4, 8 or 16.
    pub(crate) bytes: u32,
    /// Bytes read; the rest of what is written is zero.
    pub(crate) read: CopyRead,
}

/// How much of the source is read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CopyRead {
    /// All of it.
    All,
    /// As many bytes as the operand says, at most all.
    Bytes(Source),
    /// Nothing where the predicate holds.
    Unless(Condition),
}

/// Decodes `cp.async…` that is not a bulk copy; the opcode and `.async` are taken.
pub(crate) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<CpAsync, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    d.expect("async")?;
    match d.next() {
        Some("commit_group") => {
            d.finish(0..=0)?;
            Ok(CpAsync::Commit)
        }
        Some("wait_all") => {
            d.finish(0..=0)?;
            Ok(CpAsync::Wait(None))
        }
        Some("wait_group") => {
            d.finish(1..=1)?;
            Ok(CpAsync::Wait(Some(super::immediate(&d, 0)?)))
        }
        Some("mbarrier") => {
            d.expect("arrive")?;
            let increments = !d.take("noinc");
            let window = Window::of_own(&mut d);
            d.expect("b64")?;
            d.finish(1..=1)?;
            Ok(CpAsync::Arrive { at: Place { address: d.address(0)?, window }, increments })
        }
        Some(cache @ ("ca" | "cg")) => copy(d, cache == "cg"),
        Some(other) => Err(d.error(Problem::UnknownModifier(other.to_owned()))),
        None => Err(d.error(Problem::MissingModifier("an operation".to_owned()))),
    }
}

fn copy(mut d: Decoder<'_>, sixteen: bool) -> Result<CpAsync, ParseError> {
    d.required(&[("shared", ()), ("shared::cta", ())])?;
    d.expect("global")?;
    // Hints to the L2 cache change no result.
    let policy = d.take("L2::cache_hint");
    d.choice(&[("L2::64B", ()), ("L2::128B", ()), ("L2::256B", ())]);
    d.finish(3 + usize::from(policy)..=4 + usize::from(policy))?;
    let bytes = super::immediate(&d, 2)?;
    if bytes != 16 && (sixteen || (bytes != 4 && bytes != 8)) {
        return d.wrong(2, if sixteen { "16 bytes" } else { "4, 8 or 16 bytes" });
    }
    let n = d.n_operands() - usize::from(policy);
    if policy {
        d.source(n, Type::B64)?;
    }
    let read = match n {
        3 => CopyRead::All,
        _ => match d.operand(3)? {
            Operand::Integer(_) => CopyRead::Bytes(d.source(3, Type::U32)?),
            _ => match d.condition(3) {
                Ok(condition) => CopyRead::Unless(condition),
                Err(_) => CopyRead::Bytes(d.source(3, Type::U32)?),
            },
        },
    };
    Ok(CpAsync::Copy(Copy { to: d.address(0)?, from: d.address(1)?, bytes, read }))
}
