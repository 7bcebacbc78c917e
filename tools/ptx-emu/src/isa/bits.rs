//! Counting, finding, moving and inserting bits.
//!
//! PTX ISA, "Integer Arithmetic Instructions": `popc` to `szext`.

use super::Op;
use super::rows::{binary, ternary, unary};
use crate::ast::{Instruction, Type};
use crate::error::{ParseError, Problem};
use crate::program::{Decoder, Scope};

/// Decodes an instruction of this family.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Op, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    match instruction.opcode.as_str() {
        "popc" | "clz" => count(&mut d, instruction.opcode == "clz"),
        "bfind" => bfind(&mut d),
        "brev" => brev(&mut d),
        "bfe" => bfe(&mut d),
        "bfi" => bfi(&mut d),
        "fns" => fns(&mut d),
        "bmsk" => bmsk(&mut d),
        "szext" => szext(&mut d),
        other => Err(d.error(Problem::UnknownOpcode(other.to_owned()))),
    }
}

fn count(d: &mut Decoder<'_>, leading: bool) -> Result<Op, ParseError> {
    let ty = d.ty_of(&[Type::B32, Type::B64])?;
    d.finish(2..=2)?;
    let (to, a) = (d.destination(0, Type::U32)?, d.source(1, ty)?);
    Ok(match (leading, ty) {
        (false, _) => unary(to, a, u64::count_ones),
        (true, Type::B32) => unary(to, a, u32::leading_zeros),
        (true, _) => unary(to, a, u64::leading_zeros),
    })
}

/// The highest bit that differs from the sign; all ones where there is none.
fn bfind(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let as_shift = d.take("shiftamt");
    let ty = d.ty_of(&[Type::U32, Type::U64, Type::S32, Type::S64])?;
    d.finish(2..=2)?;
    let (to, a) = (d.destination(0, Type::U32)?, d.source(1, ty)?);
    let unused = 64 - ty.bits();
    Ok(unary(to, a, move |a: u64| {
        let a = if ty.is_signed() {
            let a = (a << unused).cast_signed() >> unused;
            (a ^ a >> 63).cast_unsigned()
        } else {
            a
        };
        match a.checked_ilog2() {
            None => u32::MAX,
            Some(position) if as_shift => ty.bits() - 1 - position,
            Some(position) => position,
        }
    }))
}

fn brev(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let ty = d.ty_of(&[Type::B32, Type::B64])?;
    d.finish(2..=2)?;
    let (to, a) = (d.destination(0, ty)?, d.source(1, ty)?);
    Ok(match ty {
        Type::B32 => unary(to, a, u32::reverse_bits),
        _ => unary(to, a, u64::reverse_bits),
    })
}

/// Bits `start..start + length` of a value, with its sign where it has one.
fn bfe(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let ty = d.ty_of(&[Type::U32, Type::U64, Type::S32, Type::S64])?;
    d.finish(4..=4)?;
    let (to, a) = (d.destination(0, ty)?, d.source(1, ty)?);
    let (b, c) = (d.source(2, Type::U32)?, d.source(3, Type::U32)?);
    let top = ty.bits() - 1;
    let all = u64::MAX >> (63 - top);
    Ok(ternary(to, a, b, c, move |a: u64, start: u32, length: u32| {
        let (start, length) = (start & 0xFF, length & 0xFF);
        let negative = if !ty.is_signed() || length == 0 {
            false
        } else {
            a >> (start + length - 1).min(top) & 1 == 1
        };
        let field = if start > top { 0 } else { a >> start };
        // Bits past the highest one are copies of the sign.
        let kept = length.min((top + 1).saturating_sub(start));
        let low = if kept == 0 { 0 } else { u64::MAX >> (64 - kept) };
        (field & low | if negative { !low } else { 0 }) & all
    }))
}

fn bfi(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let ty = d.ty_of(&[Type::B32, Type::B64])?;
    d.finish(5..=5)?;
    let to = d.destination(0, ty)?;
    let (a, b) = (d.source(1, ty)?, d.source(2, ty)?);
    let (c, e) = (d.source(3, Type::U32)?, d.source(4, Type::U32)?);
    let bits = ty.bits();
    let insert = move |a: u64, b: u64, start: u64, length: u64| {
        let (start, length) = ((start & 0xFF) as u32, (length & 0xFF) as u32);
        if start >= bits || length == 0 {
            return b;
        }
        let field = u64::MAX >> (64 - length.min(bits - start)) << start;
        b & !field | a << start & field
    };
    Ok(Op::data(move |registers, mask| {
        super::rows::each(mask, |lane| {
            let [a, b, start, length] = [a, b, c, e].map(|source| registers.value(source, lane));
            registers.set(to, lane, insert(a, b, start, length));
        });
    }))
}

/// The n-th set bit of a mask, from a base upwards or, with n negative, downwards.
fn fns(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    d.expect("b32")?;
    d.finish(4..=4)?;
    let to = d.destination(0, Type::B32)?;
    let (mask, base, n) =
        (d.source(1, Type::B32)?, d.source(2, Type::B32)?, d.source(3, Type::S32)?);
    Ok(ternary(to, mask, base, n, |mask: u32, base: u32, n: i32| {
        let set = |bit: &u32| mask >> bit & 1 == 1;
        if base > 31 {
            return u32::MAX;
        }
        let found = match n {
            0 => Some(base).filter(set),
            1.. => (base..32).filter(set).nth(n as usize - 1),
            _ => (0..=base).rev().filter(set).nth(n.unsigned_abs() as usize - 1),
        };
        found.unwrap_or(u32::MAX)
    }))
}

fn bmsk(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let clamp = d.required(&[("clamp", true), ("wrap", false)])?;
    d.expect("b32")?;
    d.finish(3..=3)?;
    let to = d.destination(0, Type::B32)?;
    let (a, b) = (d.source(1, Type::B32)?, d.source(2, Type::B32)?);
    Ok(binary(to, a, b, move |start: u32, width: u32| {
        let (start, width) =
            if clamp { (start.min(32), width.min(32)) } else { (start & 31, width & 31) };
        let ones = (1_u64 << width) - 1;
        (ones << start) as u32
    }))
}

fn szext(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let clamp = d.required(&[("clamp", true), ("wrap", false)])?;
    let ty = d.ty_of(&[Type::U32, Type::S32])?;
    d.finish(3..=3)?;
    let to = d.destination(0, ty)?;
    let (a, b) = (d.source(1, ty)?, d.source(2, Type::U32)?);
    Ok(binary(to, a, b, move |a: u32, width: u32| {
        let width = if clamp { width.min(32) } else { width & 31 };
        match width {
            0 => 0,
            _ if ty == Type::S32 => {
                ((a << (32 - width)).cast_signed() >> (32 - width)).cast_unsigned()
            }
            _ => a << (32 - width) >> (32 - width),
        }
    }))
}
