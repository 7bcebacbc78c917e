//! One file per instruction family: how it is decoded, and what it does.
//!
//! A family's `decode` reads the modifiers through a [`Decoder`](crate::program::Decoder), whose
//! `finish` refuses what nobody took, so that no modifier is ever ignored.

use std::fmt;

use crate::ast;
use crate::error::{ParseError, Problem};
use crate::machine::warp::Registers;
use crate::program::Scope;

/// What a decoded instruction does.
pub(crate) enum Op {
    /// Computes registers from registers, in the lanes of the mask.
    Data(Data),
}

/// A computation on the registers of the lanes in a mask.
pub(crate) type Data = Box<dyn Fn(&mut Registers, u32) + Send + Sync>;

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(_) => f.write_str("Data"),
        }
    }
}

/// Decodes an instruction by its family.
pub(crate) fn decode(instruction: &ast::Instruction, _scope: &Scope<'_>) -> Result<Op, ParseError> {
    Err(ParseError::new(
        instruction.line,
        &instruction.text,
        Problem::UnknownOpcode(instruction.opcode.clone()),
    ))
}
