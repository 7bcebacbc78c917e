//! Bitwise operations and shifts.
//!
//! PTX ISA, "Logic and Shift Instructions".

use super::Op;
use super::rows::{binary, by_integer, ternary, unary};
use crate::ast::{Instruction, Operand, Type};
use crate::error::{ParseError, Problem};
use crate::machine::registers::Row;
use crate::program::{Decoder, Scope};

const BITS: [Type; 4] = [Type::Pred, Type::B16, Type::B32, Type::B64];

/// Decodes an instruction of this family.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Op, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    let d = &mut d;
    match instruction.opcode.as_str() {
        "and" => two(d, |a, b| a & b),
        "or" => two(d, |a, b| a | b),
        "xor" => two(d, |a, b| a ^ b),
        "not" => not(d),
        "cnot" => cnot(d),
        "lop3" => lop3(d),
        "shl" => shl(d),
        "shr" => shr(d),
        "shf" => shf(d),
        other => Err(d.error(Problem::UnknownOpcode(other.to_owned()))),
    }
}

fn two(
    d: &mut Decoder<'_>,
    f: impl Fn(u64, u64) -> u64 + Copy + Send + Sync + 'static,
) -> Result<Op, ParseError> {
    let ty = d.ty_of(&BITS)?;
    d.finish(3..=3)?;
    if ty == Type::Pred {
        let (to, a, b) = (d.predicate(0)?, d.condition(1)?, d.condition(2)?);
        return Ok(Op::data(move |registers, mask| {
            let (a, b) = (registers.condition(a), registers.condition(b));
            registers.set_predicate(to, f(u64::from(a), u64::from(b)) as u32, mask);
        }));
    }
    Ok(binary(d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?, f))
}

fn not(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let ty = d.ty_of(&BITS)?;
    d.finish(2..=2)?;
    if ty == Type::Pred {
        let (to, a) = (d.predicate(0)?, d.condition(1)?);
        return Ok(Op::data(move |registers, mask| {
            let a = registers.condition(a);
            registers.set_predicate(to, !a, mask);
        }));
    }
    let (to, a) = (d.destination(0, ty)?, d.source(1, ty)?);
    by_integer!(d, ty, T => unary(to, a, |a: T| !a))
}

/// One where the operand is zero, and zero elsewhere.
fn cnot(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let ty = d.ty_of(&[Type::B16, Type::B32, Type::B64])?;
    d.finish(2..=2)?;
    let (to, a) = (d.destination(0, ty)?, d.source(1, ty)?);
    Ok(unary(to, a, |a: u64| u64::from(a == 0)))
}

/// Any function of three bits, by its table; with a predicate, also whether any bit is set.
fn lop3(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let combine = d.choice(&[("or", true), ("and", false)]);
    d.expect("b32")?;
    let n = if combine.is_some() { 6 } else { 5 };
    d.finish(n..=n)?;
    let (a, b, c) = (d.source(1, Type::B32)?, d.source(2, Type::B32)?, d.source(3, Type::B32)?);
    let table = match d.operand(4)? {
        Operand::Integer(table @ 0..=255) => *table,
        _ => return d.wrong(4, "a table of 8 bits"),
    };
    // Each operand's bits, as they lie in the table, choose half of it.
    let function = move |a: u32, b: u32, c: u32| {
        let mut out = 0;
        for row in 0..8 {
            if table >> row & 1 == 1 {
                let a = if row & 4 == 0 { !a } else { a };
                let b = if row & 2 == 0 { !b } else { b };
                let c = if row & 1 == 0 { !c } else { c };
                out |= a & b & c;
            }
        }
        out
    };
    let Some(or) = combine else {
        return Ok(ternary(d.destination(0, Type::B32)?, a, b, c, function));
    };
    let Operand::Pair(to, p) = d.operand(0)? else {
        return d.wrong(0, "a register and a predicate");
    };
    let to = match &**to {
        Operand::Sink => None,
        to => Some(d.register(to, 0, 32..=32)?),
    };
    let (p, q) = (d.predicate_of(p, 0)?, d.condition(5)?);
    Ok(Op::data(move |registers, mask| {
        let (a, b, c) = (registers.load(a), registers.load(b), registers.load(c));
        let mut out: Row = [0; 32];
        let mut any = 0;
        for (lane, out) in out.iter_mut().enumerate() {
            *out = u64::from(function(a[lane] as u32, b[lane] as u32, c[lane] as u32));
            any |= u32::from(*out != 0) << lane;
        }
        let with = registers.condition(q);
        registers.set_predicate(p, if or { any | with } else { any & with }, mask);
        if let Some(to) = to {
            registers.store(to, &out, mask);
        }
    }))
}

/// Amounts past the width shift everything out.
fn shl(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let ty = d.ty_of(&[Type::B16, Type::B32, Type::B64])?;
    d.finish(3..=3)?;
    let (to, a, b) = (d.destination(0, ty)?, d.source(1, ty)?, d.source(2, Type::U32)?);
    by_integer!(d, ty, T => binary(to, a, b, |a: T, b: u32| {
        if b >= T::BITS { 0 } else { a << b }
    }))
}

fn shr(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let ty = d.ty_of(&[
        Type::B16,
        Type::B32,
        Type::B64,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::S16,
        Type::S32,
        Type::S64,
    ])?;
    d.finish(3..=3)?;
    let (to, a, b) = (d.destination(0, ty)?, d.source(1, ty)?, d.source(2, Type::U32)?);
    if ty.is_signed() {
        return by_integer!(d, ty, T => {
            binary(to, a, b, |a: T, b: u32| a >> b.min(T::BITS - 1))
        });
    }
    by_integer!(d, ty, T => binary(to, a, b, |a: T, b: u32| {
        if b >= T::BITS { 0 } else { a >> b }
    }))
}

/// One half of a pair of words, shifted as one.
fn shf(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let left = d.required(&[("l", true), ("r", false)])?;
    let clamp = d.required(&[("clamp", true), ("wrap", false)])?;
    d.expect("b32")?;
    d.finish(4..=4)?;
    let ty = Type::B32;
    let (to, a, b) = (d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?);
    let c = d.source(3, Type::U32)?;
    Ok(ternary(to, a, b, c, move |low: u32, high: u32, n: u32| {
        let n = if clamp { n.min(32) } else { n & 31 };
        let both = u64::from(high) << 32 | u64::from(low);
        if left { (both << n >> 32) as u32 } else { (both >> n) as u32 }
    }))
}
