//! `wgmma.*`: decoding.
//!
//! PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".

use crate::ast::{Instruction, Operand, Type};
use crate::error::{ParseError, Problem};
use crate::machine::registers::{Condition, Slot, Source};
use crate::program::{Decoder, Scope};

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
    pub(crate) n: u32,
    pub(crate) k: u32,
    pub(crate) d_type: Type,
    pub(crate) a_type: Type,
    pub(crate) b_type: Type,
    /// Registers of the accumulator.
    pub(crate) d: Vec<Slot>,
    pub(crate) a: OperandA,
    /// Descriptor of B.
    pub(crate) b: Source,
    /// Metadata and its selector, where A is sparse.
    pub(crate) sparse: Option<(Source, u32)>,
    /// Where it is false, D = A·B.
    pub(crate) accumulates: Condition,
    pub(crate) negates_a: bool,
    pub(crate) negates_b: bool,
    /// A is stored with M contiguous.
    pub(crate) transposes_a: bool,
    /// B is stored with N contiguous.
    pub(crate) transposes_b: bool,
    /// `.satfinite` of integer sums.
    pub(crate) saturates: bool,
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

fn multiply(mut d: Decoder<'_>, sparse: bool) -> Result<Multiply, ParseError> {
    let (n, k) = shape(&mut d)?;
    let d_type = d.ty_of(&[Type::F16, Type::F32, Type::S32])?;
    let a_type = element(&mut d)?;
    let b_type = element(&mut d)?;
    let integer = matches!(a_type, Type::S8 | Type::U8);
    let saturates = integer && d.take("satfinite");
    check_types(&d, (d_type, a_type, b_type), n, k, sparse)?;
    // Only 16-bit elements can be stored either way, and integers have no signs to flip.
    let half = matches!(a_type, Type::F16 | Type::Bf16);
    let from_registers = matches!(d.operand(1)?, Operand::Vector(_));
    let trans = if half { 2 - usize::from(from_registers) } else { 0 };
    let first = 3 + 2 * usize::from(sparse);
    let scales = if integer { 0 } else { 2 };
    d.finish(first + 1 + scales + trans..=first + 1 + scales + trans)?;

    let n_d = n / if d_type == Type::F16 { 4 } else { 2 };
    let a = if from_registers {
        OperandA::Registers(registers(&d, 1, 4)?)
    } else {
        OperandA::Descriptor(d.source(1, Type::B64)?)
    };
    let sparse =
        if sparse { Some((d.source(3, Type::B32)?, super::immediate(&d, 4)?)) } else { None };
    let sign = |position: usize| match d.operand(position)? {
        Operand::Integer(1) => Ok(false),
        Operand::Integer(value) if value.cast_signed() == -1 => Ok(true),
        _ => d.wrong(position, "1 or -1"),
    };
    let flag = |position: usize| match d.operand(position)? {
        Operand::Integer(value @ 0..=1) => Ok(*value == 1),
        _ => d.wrong(position, "0 or 1"),
    };
    Ok(Multiply {
        n,
        k,
        d_type,
        a_type,
        b_type,
        d: registers(&d, 0, n_d as usize)?,
        a,
        b: d.source(2, Type::B64)?,
        sparse,
        accumulates: d.condition(first)?,
        negates_a: !integer && sign(first + 1)?,
        negates_b: !integer && sign(first + 2)?,
        transposes_a: trans == 2 && flag(first + 3)?,
        transposes_b: trans > 0 && flag(first + 2 + trans)?,
        saturates,
    })
}

/// `m64n128k16`.
fn shape(d: &mut Decoder<'_>) -> Result<(u32, u32), ParseError> {
    let text = d.next().unwrap_or_default();
    text.strip_prefix("m64n")
        .and_then(|rest| rest.split_once('k'))
        .and_then(|(n, k)| Some((n.parse().ok()?, k.parse().ok()?)))
        .filter(|&(n, _): &(u32, u32)| n % 8 == 0 && (8..=256).contains(&n))
        .ok_or_else(|| d.error(Problem::UnknownModifier(text.to_owned())))
}

fn element(d: &mut Decoder<'_>) -> Result<Type, ParseError> {
    if d.peek() == Some("b1") {
        return d.unsupported("wgmma of single bits");
    }
    d.ty_of(&[Type::F16, Type::Bf16, Type::Tf32, Type::E4m3, Type::E5m2, Type::S8, Type::U8])
}

fn check_types(
    d: &Decoder<'_>,
    (d_type, a_type, b_type): (Type, Type, Type),
    n: u32,
    k: u32,
    sparse: bool,
) -> Result<(), ParseError> {
    let eight = [Type::E4m3, Type::E5m2];
    let integers = [Type::S8, Type::U8];
    let legal = match d_type {
        Type::S32 => {
            integers.contains(&a_type)
                && integers.contains(&b_type)
                && (n.is_multiple_of(16) || n == 8 || n == 24)
        }
        Type::F16 => {
            (a_type == Type::F16 && b_type == Type::F16)
                || (eight.contains(&a_type) && eight.contains(&b_type))
        }
        _ => {
            (a_type == b_type && !integers.contains(&a_type))
                || (eight.contains(&a_type) && eight.contains(&b_type))
        }
    };
    let k_of_type = 256 / a_type.bits() * if sparse { 2 } else { 1 };
    if legal && k == k_of_type {
        Ok(())
    } else {
        let what = format!("no wgmma of m64n{n}k{k} with {d_type}{a_type}{b_type}");
        Err(d.error(Problem::Invalid(what)))
    }
}

/// Exactly `count` registers of 32 bits.
fn registers(d: &Decoder<'_>, position: usize, count: usize) -> Result<Vec<Slot>, ParseError> {
    let elements = d.elements(position)?;
    if elements.len() != count {
        return d.wrong(position, format!("{count} registers"));
    }
    elements.iter().map(|element| d.register(element, position, 32..=32)).collect()
}
