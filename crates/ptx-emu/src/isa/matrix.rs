//! `ldmatrix`, `stmatrix`, `movmatrix`: decoding.
//!
//! PTX ISA, "Matrix Multiply-Accumulate Instructions: Warp-level matrix load, store and
//! transpose".

use crate::ast::{Instruction, Type};
use crate::error::{ParseError, Problem};
use crate::machine::registers::{Slot, Source};
use crate::program::{Address, Decoder, Scope};

use super::window::Window;

/// An instruction of the family.
#[derive(Debug, Clone)]
pub(crate) enum Matrix {
    /// `ldmatrix`: one register per 8×8 matrix.
    Load { to: Vec<Slot>, address: Address, window: Window, transposes: bool },
    /// `stmatrix`.
    Store { address: Address, window: Window, from: Vec<Source>, transposes: bool },
    /// `movmatrix`.
    Transpose { to: Slot, from: Source },
}

/// Decodes an instruction of this family.
pub(crate) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Matrix, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    d.expect("sync")?;
    d.expect("aligned")?;
    if d.peek().is_some_and(|shape| shape == "m8n16" || shape == "m16n16" || shape == "m16n8") {
        return d.unsupported("matrices of 6 or 8 bits, which sm_90 does not have");
    }
    d.expect("m8n8")?;
    if instruction.opcode == "movmatrix" {
        d.expect("trans")?;
        d.expect("b16")?;
        d.finish(2..=2)?;
        return Ok(Matrix::Transpose {
            to: d.destination(0, Type::B32)?,
            from: d.source(1, Type::B32)?,
        });
    }
    let count = d.required(&[("x1", 1), ("x2", 2), ("x4", 4)])?;
    let transposes = d.take("trans");
    let window = Window::of_own(&mut d);
    d.expect("b16")?;
    d.finish(2..=2)?;
    let loads = match instruction.opcode.as_str() {
        "ldmatrix" => true,
        "stmatrix" => false,
        other => return Err(d.error(Problem::UnknownOpcode(other.to_owned()))),
    };
    let position = usize::from(!loads);
    let elements = d.elements(position)?;
    if elements.len() != count {
        return d.wrong(position, format!("{count} registers"));
    }
    if loads {
        let to = elements.iter().map(|e| d.register(e, 0, 32..=32)).collect::<Result<_, _>>()?;
        Ok(Matrix::Load { to, address: d.address(1)?, window, transposes })
    } else {
        let from =
            elements.iter().map(|e| d.value(e, 1, Type::B32, 32)).collect::<Result<_, _>>()?;
        Ok(Matrix::Store { address: d.address(0)?, window, from, transposes })
    }
}
