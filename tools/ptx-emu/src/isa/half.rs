//! Arithmetic on `f16` and `bf16`, one value or two in a register.
//!
//! PTX ISA, "Half Precision Floating-Point Instructions".

use super::Op;
use super::rows::{binary, ternary, unary};
use crate::ast::{Instruction, Type};
use crate::error::{ParseError, Problem};
use crate::num::order::Choice;
use crate::num::{Format, Mode, approx, narrow, order};
use crate::program::{Decoder, Scope};

const TYPES: [Type; 4] = [Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2];

/// Decodes an instruction of this family.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Op, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    let d = &mut d;
    match instruction.opcode.as_str() {
        "add" => two(d, narrow::add),
        "sub" => two(d, narrow::sub),
        "mul" => two(d, narrow::mul),
        "fma" => fma(d),
        "abs" => sign(d, |bits, sign| bits & !sign),
        "neg" => sign(d, |bits, sign| bits ^ sign),
        "min" => min_or_max(d, order::min),
        "max" => min_or_max(d, order::max),
        "tanh" => approximate(d, |a, _| approx::tanh(a)),
        "ex2" => approximate(d, approx::ex2),
        other => Err(d.error(Problem::UnknownOpcode(other.to_owned()))),
    }
}

/// The format of a type, and whether a register holds two.
pub(super) fn format(ty: Type) -> (Format, bool) {
    match ty {
        Type::F16 => (Format::F16, false),
        Type::F16x2 => (Format::F16, true),
        Type::Bf16 => (Format::Bf16, false),
        _ => (Format::Bf16, true),
    }
}

/// Applies a function of one value, or to both halves.
fn map1(pair: bool, a: u64, f: impl Fn(u64) -> u64) -> u64 {
    if pair { f(a & 0xFFFF) | f(a >> 16) << 16 } else { f(a) }
}

fn map2(pair: bool, a: u64, b: u64, f: impl Fn(u64, u64) -> u64) -> u64 {
    if pair { f(a & 0xFFFF, b & 0xFFFF) | f(a >> 16, b >> 16) << 16 } else { f(a, b) }
}

fn two(d: &mut Decoder<'_>, function: fn(Format, u64, u64, Mode) -> u64) -> Result<Op, ParseError> {
    d.take("rn");
    let mode = Mode { ftz: d.take("ftz"), saturate: d.take("sat"), ..Mode::NEAREST };
    let ty = d.ty_of(&TYPES)?;
    let (format, pair) = format(ty);
    if format == Format::Bf16 && mode != Mode::NEAREST {
        return d.unsupported(format!(".ftz or .sat of type {ty}"));
    }
    d.finish(3..=3)?;
    let (to, a, b) = (d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?);
    Ok(binary(to, a, b, move |a, b| map2(pair, a, b, |a, b| function(format, a, b, mode))))
}

fn fma(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    d.expect("rn")?;
    let mode = Mode { ftz: d.take("ftz"), saturate: d.take("sat"), ..Mode::NEAREST };
    let relu = d.take("relu");
    if d.peek() == Some("oob") {
        return d.unsupported(".oob");
    }
    let ty = d.ty_of(&TYPES)?;
    let (format, pair) = format(ty);
    if format == Format::Bf16 && mode != Mode::NEAREST || relu && mode.saturate {
        return d.unsupported(format!("these modifiers of type {ty}"));
    }
    d.finish(4..=4)?;
    let (to, a, b) = (d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?);
    let c = d.source(3, ty)?;
    let one = move |a, b, c| {
        let value = narrow::fma(format, a, b, c, mode);
        if relu { narrow::relu(format, value) } else { value }
    };
    Ok(ternary(to, a, b, c, move |a: u64, b: u64, c: u64| {
        if pair {
            one(a & 0xFFFF, b & 0xFFFF, c & 0xFFFF) | one(a >> 16, b >> 16, c >> 16) << 16
        } else {
            one(a, b, c)
        }
    }))
}

fn sign(
    d: &mut Decoder<'_>,
    change: impl Fn(u64, u64) -> u64 + Copy + Send + Sync + 'static,
) -> Result<Op, ParseError> {
    let ftz = d.take("ftz");
    let ty = d.ty_of(&TYPES)?;
    d.finish(2..=2)?;
    let (to, a) = (d.destination(0, ty)?, d.source(1, ty)?);
    let (format, pair) = format(ty);
    Ok(unary(to, a, move |a| {
        map1(pair, a, |a| {
            let a = if ftz { format.flush(a) } else { a };
            if format.is_nan(a) { format.nan() } else { change(a, format.sign()) }
        })
    }))
}

fn min_or_max(
    d: &mut Decoder<'_>,
    choose: fn(Format, u64, u64, Choice) -> u64,
) -> Result<Op, ParseError> {
    let ftz = d.take("ftz");
    let propagate_nan = d.take("NaN");
    let xorsign_abs = d.take("xorsign");
    if xorsign_abs {
        d.expect("abs")?;
    }
    let ty = d.ty_of(&TYPES)?;
    let (format, pair) = format(ty);
    if format == Format::Bf16 && ftz {
        return d.unsupported(format!(".ftz of type {ty}"));
    }
    d.finish(3..=3)?;
    let (to, a, b) = (d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?);
    let choice = Choice { propagate_nan, xorsign_abs, ftz };
    Ok(binary(to, a, b, move |a, b| map2(pair, a, b, |a, b| choose(format, a, b, choice))))
}

/// `tanh` and `ex2`: computed in `f32`, rounded once more.
fn approximate(d: &mut Decoder<'_>, function: fn(u32, bool) -> u32) -> Result<Op, ParseError> {
    d.expect("approx")?;
    let ftz = d.take("ftz");
    let ty = d.ty_of(&TYPES)?;
    d.finish(2..=2)?;
    let (to, a) = (d.destination(0, ty)?, d.source(1, ty)?);
    let (format, pair) = format(ty);
    Ok(unary(to, a, move |a| {
        map1(pair, a, |a| {
            let a = format.decode(if ftz { format.flush(a) } else { a });
            let value = function(Format::F32.encode(a, Default::default()) as u32, false);
            let bits = format.encode(Format::F32.decode(u64::from(value)), Default::default());
            if ftz { format.flush(bits) } else { bits }
        })
    }))
}
