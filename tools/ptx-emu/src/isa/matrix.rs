//! `ldmatrix`, `stmatrix`, `movmatrix`.
//!
//! PTX ISA, "Matrix Multiply-Accumulate Instructions: Warp-level matrix load, store and
//! transpose".

use super::Flow;
use super::window::Window;
use crate::ast::{Instruction, Type};
use crate::error::{ParseError, Problem};
use crate::machine::registers::{Row, Slot, Source};
use crate::machine::{Cluster, Warp};
use crate::memory::{Request, Target};
use crate::program::{Address, Decoder, Scope};
use crate::report::{AccessKind, Stop};
use crate::tensor_core::matrix;

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
    // Some write the number of matrices before their shape.
    let counts = [("x1", 1), ("x2", 2), ("x4", 4)];
    let count = if instruction.opcode == "movmatrix" { None } else { d.choice(&counts) };
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
    let count = match count {
        Some(count) => count,
        None => d.required(&counts)?,
    };
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

/// Bytes of a row of eight 16-bit elements, which is also its alignment.
const ROW: u32 = 16;

impl Matrix {
    /// Executes the instruction for a whole warp.
    pub(crate) fn execute(&self, warp: &mut Warp, cluster: &mut Cluster) -> Result<Flow, Stop> {
        match self {
            Self::Load { to, address, window, transposes } => {
                let kind = AccessKind::Read;
                let mut found = Vec::with_capacity(to.len());
                for i in 0..to.len() as u32 {
                    let mut rows = [[0; 8]; 8];
                    for (row, elements) in (0..).zip(&mut rows) {
                        let lane = matrix::address_lane(i, row);
                        let at = (lane, address, *window, kind);
                        let (cta, offset) = row_of(warp, cluster, at)?;
                        let bytes = &cluster.ctas[cta as usize].shared.bytes()[offset as usize..];
                        for (element, bytes) in elements.iter_mut().zip(bytes.chunks_exact(2)) {
                            *element = u16::from_le_bytes([bytes[0], bytes[1]]);
                        }
                    }
                    found.push(matrix::load(&rows, *transposes));
                }
                for (&slot, values) in to.iter().zip(found) {
                    *warp.registers.row_mut(slot) = values.map(u64::from);
                }
            }
            Self::Store { address, window, from, transposes } => {
                for (i, &source) in (0..).zip(from) {
                    let held = warp.registers.load(source).map(|value| value as u32);
                    let rows = matrix::store(&held, *transposes);
                    for (row, elements) in (0..).zip(&rows) {
                        let lane = matrix::address_lane(i, row);
                        let at = (lane, address, *window, AccessKind::Write);
                        let (cta, offset) = row_of(warp, cluster, at)?;
                        let bytes: Vec<u8> =
                            elements.iter().flat_map(|element| element.to_le_bytes()).collect();
                        cluster.ctas[cta as usize].shared.write(offset, &bytes);
                    }
                }
            }
            Self::Transpose { to, from } => {
                let held: Row = warp.registers.load(*from);
                let rows = matrix::store(&held.map(|value| value as u32), false);
                let turned = matrix::load(&rows, true);
                *warp.registers.row_mut(*to) = turned.map(u64::from);
            }
        }
        Ok(Flow::Next)
    }
}

/// Where the row is that a lane gives the address of; it may be accessed.
fn row_of(
    warp: &Warp,
    cluster: &mut Cluster,
    (lane, address, window, kind): (u32, &Address, Window, AccessKind),
) -> Result<(u32, u32), Stop> {
    let found = window.shared(warp, cluster, address, lane as usize, (ROW, ROW), kind);
    let (cta, offset) = found.map_err(|problem| problem.at(lane))?;
    let target = Target::Shared { cta, offset };
    let request =
        Request { bytes: u64::from(ROW), kind, strong: false, volatile: false, pending: true };
    cluster.admit(warp, lane as usize, &target, request)?;
    if kind == AccessKind::Read {
        let initialized = cluster.check_initialized(&target, u64::from(ROW));
        initialized.map_err(|problem| problem.at(lane))?;
    }
    Ok((cta, offset))
}
