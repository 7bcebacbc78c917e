//! `mma.sync`, `mma.sp.sync`.
//!
//! PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions: mma, mma.sp".

use super::Flow;
use super::wgmma::{accumulator, element};
use crate::ast::{Instruction, Type};
use crate::error::{ParseError, Problem as ParseProblem};
use crate::machine::Warp;
use crate::machine::registers::{Slot, Source};
use crate::num::Rounding;
use crate::program::{Decoder, Scope};
use crate::report::{Problem, Stop};
use crate::tensor_core::mma::{Double, Mma as Shape};

/// An instruction of the family.
#[derive(Debug, Clone)]
pub(crate) struct Mma {
    product: Product,
    d: Vec<Slot>,
    a: Vec<Source>,
    b: Vec<Source>,
    c: Vec<Source>,
    /// Metadata, its selector, and whether it is ordered, where A is sparse.
    sparse: Option<(Source, u32, bool)>,
}

#[derive(Debug, Clone, Copy)]
enum Product {
    /// In 16 rows and 8 columns, with `.satfinite` or without.
    Narrow(Shape, bool),
    /// Of `.f64`.
    Double(Double, Rounding),
}

/// Decodes an instruction of this family.
pub(crate) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Mma, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    let sparse = d.choice(&[("sp", false), ("sp::ordered_metadata", true)]);
    d.expect("sync")?;
    d.expect("aligned")?;
    let (m, n, k) = shape(&mut d)?;
    // With other layouts there were shapes on older machines only.
    d.expect("row")?;
    d.expect("col")?;
    let rounding = d.choice(&[
        ("rn", Rounding::NearestEven),
        ("rz", Rounding::TowardZero),
        ("rm", Rounding::Down),
        ("rp", Rounding::Up),
    ]);
    if d.peek() == Some("f64") {
        return double(d, (m, n, k), rounding.unwrap_or(Rounding::NearestEven), sparse.is_some());
    }
    let saturates = d.take("satfinite");
    if (m, n) != (16, 8) || rounding.is_some() {
        return d.unsupported(format!("mma of shape m{m}n{n}k{k} with these types"));
    }
    let to = accumulator(&mut d)?;
    let a = element(&mut d)?;
    let b = element(&mut d)?;
    if accumulator(&mut d)? != to {
        return d.unsupported("mma with C of another type than D");
    }
    let shape = Shape::try_new(k, sparse.is_some(), to, a, b);
    let shape = shape.map_err(|error| d.error(ParseProblem::Invalid(error.to_string())))?;
    let operands = 4 + 2 * usize::from(sparse.is_some());
    d.finish(operands..=operands)?;
    let sparse = match sparse {
        None => None,
        Some(ordered) => Some((d.source(4, Type::B32)?, super::immediate(&d, 5)?, ordered)),
    };
    Ok(Mma {
        product: Product::Narrow(shape, saturates),
        d: slots(&d, shape.d_registers(), 32)?,
        a: sources(&d, 1, shape.a_registers(), Type::B32)?,
        b: sources(&d, 2, shape.b_registers(), Type::B32)?,
        c: sources(&d, 3, shape.d_registers(), Type::B32)?,
        sparse,
    })
}

fn double(
    mut d: Decoder<'_>,
    (m, n, k): (u32, u32, u32),
    rounding: Rounding,
    sparse: bool,
) -> Result<Mma, ParseError> {
    for _ in 0..4 {
        d.expect("f64")?;
    }
    let shape = Double::try_new(m, k).filter(|_| n == 8 && !sparse);
    let Some(shape) = shape else {
        return d.unsupported(format!("mma of shape m{m}n{n}k{k} with .f64"));
    };
    d.finish(4..=4)?;
    Ok(Mma {
        product: Product::Double(shape, rounding),
        d: slots(&d, shape.d_registers(), 64)?,
        a: sources(&d, 1, shape.a_registers(), Type::F64)?,
        b: sources(&d, 2, shape.b_registers(), Type::F64)?,
        c: sources(&d, 3, shape.d_registers(), Type::F64)?,
        sparse: None,
    })
}

/// `m16n8k16`.
fn shape(d: &mut Decoder<'_>) -> Result<(u32, u32, u32), ParseError> {
    let text = d.next().unwrap_or_default();
    let numbers = || {
        let (m, rest) = text.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some((m.parse().ok()?, n.parse().ok()?, k.parse().ok()?))
    };
    numbers().ok_or_else(|| d.error(ParseProblem::UnknownModifier(text.to_owned())))
}

fn slots(d: &Decoder<'_>, count: u32, bits: u32) -> Result<Vec<Slot>, ParseError> {
    let elements = d.elements(0)?;
    if elements.len() != count as usize {
        return d.wrong(0, format!("{count} registers"));
    }
    elements.iter().map(|element| d.register(element, 0, bits..=bits)).collect()
}

fn sources(
    d: &Decoder<'_>,
    position: usize,
    count: u32,
    ty: Type,
) -> Result<Vec<Source>, ParseError> {
    let elements = d.elements(position)?;
    if elements.len() != count as usize {
        return d.wrong(position, format!("{count} registers"));
    }
    elements.iter().map(|element| d.value(element, position, ty, ty.bits())).collect()
}

impl Mma {
    /// Executes the instruction for a whole warp.
    pub(crate) fn execute(&self, warp: &mut Warp) -> Result<Flow, Stop> {
        let registers = &warp.registers;
        let of = |sources: &[Source], lane: u32, register: u32| {
            registers.value(sources[register as usize], lane as usize)
        };
        let mut results = vec![[0; 32]; self.d.len()];
        let mut write = |lane: u32, register: u32, bits: u64| {
            results[register as usize][lane as usize] = bits;
        };
        match self.product {
            Product::Narrow(shape, saturates) => {
                let selection = match self.sparse {
                    None => None,
                    Some((metadata, selector, ordered)) => {
                        let word = |lane: u32| registers.value(metadata, lane as usize) as u32;
                        let selection = shape.selection(selector, ordered, word);
                        Some(selection.map_err(|error| {
                            Problem::Operand { what: error.to_string() }.of_warp()
                        })?)
                    }
                };
                shape.run(
                    |lane, register| of(&self.a, lane, register) as u32,
                    |lane, register| of(&self.b, lane, register) as u32,
                    |lane, register| of(&self.c, lane, register) as u32,
                    selection.as_ref(),
                    saturates,
                    |lane, register, bits| write(lane, register, u64::from(bits)),
                );
            }
            Product::Double(shape, rounding) => shape.run(
                |lane, register| of(&self.a, lane, register),
                |lane, register| of(&self.b, lane, register),
                |lane, register| of(&self.c, lane, register),
                rounding,
                write,
            ),
        }
        for (&slot, row) in self.d.iter().zip(&results) {
            *warp.registers.row_mut(slot) = *row;
        }
        Ok(Flow::Next)
    }
}
