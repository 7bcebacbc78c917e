//! `mov` from special registers that change: clocks and timers.
//!
//! PTX ISA, "Special Registers", for clocks and the global timer. Time is counted in
//! instructions: of the warp for clocks, of the cluster for timers.

use super::Flow;
use crate::ast::{Instruction, Operand, Type};
use crate::error::ParseError;
use crate::machine::registers::Slot;
use crate::machine::{Cluster, Warp};
use crate::program::{Clock, Decoder, Scope};

/// A read of a clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadClock {
    clock: Clock,
    to: Slot,
}

/// The clock that a `mov` reads, if it reads one.
pub(super) fn clock(instruction: &Instruction) -> Option<Clock> {
    match instruction.operands.get(1) {
        Some(Operand::Name(name)) if instruction.opcode == "mov" => Clock::named(name),
        _ => None,
    }
}

/// Decodes a `mov` that reads a clock.
pub(super) fn decode(
    instruction: &Instruction,
    scope: &Scope<'_>,
    clock: Clock,
) -> Result<ReadClock, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    let ty = d.ty_of(&[Type::U32, Type::B32, Type::S32, Type::U64, Type::B64, Type::S64])?;
    d.finish(2..=2)?;
    if ty.bits() != clock.bits() {
        return d.wrong(1, format!("a register of {} bits", ty.bits()));
    }
    Ok(ReadClock { clock, to: d.destination(0, ty)? })
}

impl ReadClock {
    /// Executes it for the lanes in `mask`.
    pub(super) fn execute(self, warp: &mut Warp, cluster: &Cluster, mask: u32) -> Flow {
        let value = match self.clock {
            Clock::Low => warp.steps() & 0xFFFF_FFFF,
            Clock::High => warp.steps() >> 32,
            Clock::Full => warp.steps(),
            Clock::NanosecondsLow => cluster.steps & 0xFFFF_FFFF,
            Clock::NanosecondsHigh => cluster.steps >> 32,
            Clock::Nanoseconds => cluster.steps,
        };
        warp.registers.store(self.to, &[value; 32], mask);
        Flow::Next
    }
}
