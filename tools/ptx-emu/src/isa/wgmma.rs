//! `wgmma.*`: decoding.
//!
//! PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".

use crate::ast::{Instruction, Operand, Type};
use crate::asynch::warpgroup::Kind;
use crate::error::{ParseError, Problem};
use crate::machine::registers::{Condition, Slot, Source};
use crate::program::{Decoder, Scope};
use crate::tensor_core::wgmma::{A_REGISTERS, Options, Wgmma as Shape};
use crate::tensor_core::{Accumulator, Element};

/// An instruction of the family.
#[derive(Debug, Clone)]
pub(crate) enum Wgmma {
    /// `wgmma.fence`.
    Fence,
    /// `wgmma.commit_group`.
    Commit,
    /// `wgmma.wait_group`: all but the newest groups.
    Wait(u32),
    /// `wgmma.mma_async`.
    Multiply(Box<Multiply>),
}

/// `wgmma.mma_async`: D = A·B + D, with D of 64×n, A of 64×k and B of k×n.
#[derive(Debug, Clone)]
pub(crate) struct Multiply {
    pub(crate) kind: Kind,
    /// Registers of the accumulator.
    pub(crate) d: Vec<Slot>,
    pub(crate) a: OperandA,
    /// Descriptor of B.
    pub(crate) b: Source,
    /// Metadata, where A is sparse.
    pub(crate) metadata: Option<Source>,
    /// A wait for it before which the register of metadata is dead, and something is computed.
    pub(crate) dead_at: Option<u32>,
    /// Where it is false, D = A·B.
    pub(crate) accumulates: Condition,
}

/// Where A is.
#[derive(Debug, Clone)]
pub(crate) enum OperandA {
    Registers(Vec<Slot>),
    Descriptor(Source),
}

/// Decodes an instruction of this family.
pub(crate) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Wgmma, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    let name = d.next().unwrap_or_default();
    let sparse = name == "mma_async" && d.take("sp");
    d.expect("sync")?;
    d.expect("aligned")?;
    match name {
        "fence" => {
            d.finish(0..=0)?;
            Ok(Wgmma::Fence)
        }
        "commit_group" => {
            d.finish(0..=0)?;
            Ok(Wgmma::Commit)
        }
        "wait_group" => {
            d.finish(1..=1)?;
            Ok(Wgmma::Wait(super::immediate(&d, 0)?))
        }
        "mma_async" => multiply(d, sparse).map(|it| Wgmma::Multiply(Box::new(it))),
        other => Err(d.error(Problem::UnknownModifier(other.to_owned()))),
    }
}

fn multiply(mut d: Decoder<'_>, is_sparse: bool) -> Result<Multiply, ParseError> {
    let (n, k) = shape(&mut d)?;
    let d_type = accumulator(&mut d)?;
    let a_type = element(&mut d)?;
    let b_type = element(&mut d)?;
    let integer = a_type.format().is_none();
    let saturate = integer && d.take("satfinite");
    let shape = Shape::try_new(n, k, is_sparse, d_type, a_type, b_type);
    let shape = shape.map_err(|error| d.error(Problem::Invalid(error.to_string())))?;
    // Only 16-bit elements can be stored either way, and integers have no signs to flip.
    let from_registers = matches!(d.operand(1)?, Operand::Vector(_));
    let trans = if a_type.bytes() == 2 { 2 - usize::from(from_registers) } else { 0 };
    let first = 3 + 2 * usize::from(is_sparse);
    let scales = if integer { 0 } else { 2 };
    d.finish(first + 1 + scales + trans..=first + 1 + scales + trans)?;

    let a = if from_registers {
        OperandA::Registers(registers(&d, 1, A_REGISTERS)?)
    } else {
        OperandA::Descriptor(d.source(1, Type::B64)?)
    };
    let sign = |position: usize| match d.operand(position)? {
        Operand::Integer(1) => Ok(false),
        Operand::Integer(value) if value.cast_signed() == -1 => Ok(true),
        _ => d.wrong(position, "1 or -1"),
    };
    let flag = |position: usize| match d.operand(position)? {
        Operand::Integer(value @ 0..=1) => Ok(*value == 1),
        _ => d.wrong(position, "0 or 1"),
    };
    let options = Options {
        negate_a: !integer && sign(first + 1)?,
        negate_b: !integer && sign(first + 2)?,
        saturate,
    };
    let kind = Kind {
        shape,
        options,
        transposes_a: trans == 2 && flag(first + 3)?,
        transposes_b: trans > 0 && flag(first + 2 + trans)?,
        selector: if is_sparse { Some(super::immediate(&d, 4)?) } else { None },
    };
    Ok(Multiply {
        kind,
        d: registers(&d, 0, shape.d_registers())?,
        a,
        b: d.source(2, Type::B64)?,
        metadata: if is_sparse { Some(d.source(3, Type::B32)?) } else { None },
        dead_at: None,
        accumulates: d.condition(first)?,
    })
}

/// `m64n128k16`.
fn shape(d: &mut Decoder<'_>) -> Result<(u32, u32), ParseError> {
    let text = d.next().unwrap_or_default();
    text.strip_prefix("m64n")
        .and_then(|rest| rest.split_once('k'))
        .and_then(|(n, k)| Some((n.parse().ok()?, k.parse().ok()?)))
        .ok_or_else(|| d.error(Problem::UnknownModifier(text.to_owned())))
}

/// The type of C and D.
pub(super) fn accumulator(d: &mut Decoder<'_>) -> Result<Accumulator, ParseError> {
    d.required(&[("f16", Accumulator::F16), ("f32", Accumulator::F32), ("s32", Accumulator::S32)])
}

/// The type of A or B.
pub(super) fn element(d: &mut Decoder<'_>) -> Result<Element, ParseError> {
    if let Some(narrow @ ("b1" | "s4" | "u4")) = d.peek() {
        return d.unsupported(format!("tensor-core operands of type .{narrow}"));
    }
    d.required(&[
        ("f16", Element::F16),
        ("bf16", Element::Bf16),
        ("tf32", Element::Tf32),
        ("e4m3", Element::E4m3),
        ("e5m2", Element::E5m2),
        ("s8", Element::S8),
        ("u8", Element::U8),
    ])
}

/// Exactly `count` registers of 32 bits.
pub(super) fn registers(
    d: &Decoder<'_>,
    position: usize,
    count: u32,
) -> Result<Vec<Slot>, ParseError> {
    let elements = d.elements(position)?;
    if elements.len() != count as usize {
        return d.wrong(position, format!("{count} registers"));
    }
    elements.iter().map(|element| d.register(element, position, 32..=32)).collect()
}
