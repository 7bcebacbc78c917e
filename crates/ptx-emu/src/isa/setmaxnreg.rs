//! `setmaxnreg`: registers taken from and given back to the pool of the CTA: decoding.
//!
//! PTX ISA, "Miscellaneous Instructions: setmaxnreg".

use crate::ast::Instruction;
use crate::error::ParseError;
use crate::program::{Decoder, Scope};

/// `setmaxnreg`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SetMaxRegisters {
    /// `.inc`: waits until the pool has as many.
    pub(crate) increases: bool,
    /// Registers of each thread afterwards: 24 to 256, a multiple of 8.
    pub(crate) count: u32,
}

/// Decodes the instruction.
pub(crate) fn decode(
    instruction: &Instruction,
    scope: &Scope<'_>,
) -> Result<SetMaxRegisters, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    let increases = d.required(&[("inc", true), ("dec", false)])?;
    d.expect("sync")?;
    d.expect("aligned")?;
    d.expect("u32")?;
    d.finish(1..=1)?;
    let count = super::immediate(&d, 0)?;
    if !(24..=256).contains(&count) || count % 8 != 0 {
        return d.wrong(0, "a multiple of 8 from 24 to 256");
    }
    Ok(SetMaxRegisters { increases, count })
}
