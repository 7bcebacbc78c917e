//! Arithmetic on `f32` and `f64`.
//!
//! PTX ISA, "Floating-Point Instructions". Instructions that the ISA defines exactly are exact;
//! what stands in for `.approx` is in [`num::approx`](crate::num::approx).

use super::Op;
use super::rows::{binary, ternary, unary};
use crate::ast::{Instruction, Type};
use crate::error::{ParseError, Problem};
use crate::machine::registers::{Predicate, Source};
use crate::num::order::Choice;
use crate::num::{Format, Mode, Rounding, approx, double, order, single};
use crate::program::{Decoder, Scope};

const BOTH: [Type; 2] = [Type::F32, Type::F64];

const ROUNDINGS: [(&str, Rounding); 4] = [
    ("rn", Rounding::NearestEven),
    ("rz", Rounding::TowardZero),
    ("rm", Rounding::Down),
    ("rp", Rounding::Up),
];

/// Decodes an instruction of this family.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Op, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    let d = &mut d;
    match instruction.opcode.as_str() {
        "add" => two(d, single::add, double::add),
        "sub" => two(d, single::sub, double::sub),
        "mul" => two(d, single::mul, double::mul),
        "fma" | "mad" => fma(d),
        "div" => div(d),
        "rcp" => one(d, Kind::Reciprocal),
        "sqrt" => one(d, Kind::Root),
        "rsqrt" => one(d, Kind::ReciprocalRoot),
        "sin" => approximate(d, approx::sin),
        "cos" => approximate(d, approx::cos),
        "lg2" => approximate(d, approx::lg2),
        "ex2" => approximate(d, approx::ex2),
        "tanh" => {
            d.expect("approx")?;
            d.expect("f32")?;
            d.finish(2..=2)?;
            Ok(unary(d.destination(0, Type::F32)?, d.source(1, Type::F32)?, approx::tanh))
        }
        "abs" => sign(d, |bits, sign| bits & !sign),
        "neg" => sign(d, |bits, sign| bits ^ sign),
        "min" => min_or_max(d, order::min),
        "max" => min_or_max(d, order::max),
        "copysign" => copysign(d),
        "testp" => testp(d),
        other => Err(d.error(Problem::UnknownOpcode(other.to_owned()))),
    }
}

/// `{.rnd}{.ftz}{.sat}.type`.
fn mode(d: &mut Decoder<'_>, needs_rounding: bool) -> Result<(Mode, Type), ParseError> {
    let rounding = if needs_rounding {
        d.required(&ROUNDINGS)?
    } else {
        d.choice(&ROUNDINGS).unwrap_or_default()
    };
    let mode = Mode { rounding, ftz: d.take("ftz"), saturate: d.take("sat") };
    let ty = d.ty_of(&BOTH)?;
    if ty == Type::F64 && (mode.ftz || mode.saturate) {
        return d.unsupported(".ftz or .sat of type .f64");
    }
    Ok((mode, ty))
}

fn two(
    d: &mut Decoder<'_>,
    narrow: impl Fn(u32, u32, Mode) -> u32 + Copy + Send + Sync + 'static,
    wide: impl Fn(u64, u64, Rounding) -> u64 + Copy + Send + Sync + 'static,
) -> Result<Op, ParseError> {
    let (mode, ty) = mode(d, false)?;
    d.finish(3..=3)?;
    let (to, a, b) = (d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?);
    Ok(match (ty, mode) {
        (Type::F64, _) => binary(to, a, b, move |a, b| wide(a, b, mode.rounding)),
        // The common modes get loops of their own.
        (_, Mode::NEAREST) => binary(to, a, b, move |a, b| narrow(a, b, Mode::NEAREST)),
        (_, FLUSHING) => binary(to, a, b, move |a, b| narrow(a, b, FLUSHING)),
        _ => binary(to, a, b, move |a, b| narrow(a, b, mode)),
    })
}

const FLUSHING: Mode = Mode { rounding: Rounding::NearestEven, ftz: true, saturate: false };

fn fma(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let (mode, ty) = mode(d, true)?;
    d.finish(4..=4)?;
    let (to, a, b) = (d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?);
    let c = d.source(3, ty)?;
    Ok(match (ty, mode) {
        (Type::F64, _) => ternary(to, a, b, c, move |a, b, c| double::fma(a, b, c, mode.rounding)),
        (_, Mode::NEAREST) => ternary(to, a, b, c, |a, b, c| single::fma(a, b, c, Mode::NEAREST)),
        _ => ternary(to, a, b, c, move |a, b, c| single::fma(a, b, c, mode)),
    })
}

fn div(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let full = d.take("full");
    if full || d.take("approx") {
        let ftz = d.take("ftz");
        d.expect("f32")?;
        d.finish(3..=3)?;
        let ty = Type::F32;
        let (to, a, b) = (d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?);
        let mode = Mode { ftz, ..Mode::default() };
        return Ok(if full {
            binary(to, a, b, move |a, b| single::div(a, b, mode))
        } else {
            binary(to, a, b, move |a, b| approx::div(a, b, ftz))
        });
    }
    let (mode, ty) = mode(d, true)?;
    if mode.saturate {
        return d.unsupported(".sat of a division");
    }
    d.finish(3..=3)?;
    let (to, a, b) = (d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?);
    Ok(match ty {
        Type::F64 => binary(to, a, b, move |a, b| double::div(a, b, mode.rounding)),
        _ => binary(to, a, b, move |a, b| single::div(a, b, mode)),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Reciprocal,
    Root,
    ReciprocalRoot,
}

const ONE: u32 = 0x3F80_0000;
const WIDE_ONE: u64 = 0x3FF0_0000_0000_0000;

/// `rcp`, `sqrt` and `rsqrt`.
fn one(d: &mut Decoder<'_>, kind: Kind) -> Result<Op, ParseError> {
    if d.take("approx") {
        let ftz = d.take("ftz");
        let ty = d.ty_of(&BOTH)?;
        d.finish(2..=2)?;
        let (to, a) = (d.destination(0, ty)?, d.source(1, ty)?);
        return match (kind, ty) {
            (Kind::Reciprocal, Type::F32) => Ok(unary(to, a, move |a| approx::rcp(a, ftz))),
            (Kind::Root, Type::F32) => Ok(unary(to, a, move |a| approx::sqrt(a, ftz))),
            (Kind::ReciprocalRoot, Type::F32) => Ok(unary(to, a, move |a| approx::rsqrt(a, ftz))),
            (Kind::Reciprocal, _) if ftz => Ok(unary(to, a, |a| coarse(a, |a| 1.0 / a))),
            (Kind::ReciprocalRoot, _) => Ok(unary(to, a, move |a: u64| {
                let root = |a: f64| if a == 0.0 { 1.0 / a } else { 1.0 / a.sqrt() };
                if ftz { coarse(a, root) } else { root(f64::from_bits(a)).to_bits() }
            })),
            _ => d.unsupported("an approximation of type .f64 without .ftz"),
        };
    }
    if kind == Kind::ReciprocalRoot {
        return Err(d.error(Problem::MissingModifier(".approx".into())));
    }
    let (mode, ty) = mode(d, true)?;
    if mode.saturate {
        return d.unsupported(".sat of a reciprocal or root");
    }
    d.finish(2..=2)?;
    let (to, a) = (d.destination(0, ty)?, d.source(1, ty)?);
    let rounding = mode.rounding;
    Ok(match (kind, ty) {
        (Kind::Reciprocal, Type::F64) => unary(to, a, move |a| double::div(WIDE_ONE, a, rounding)),
        (Kind::Reciprocal, _) => unary(to, a, move |a| single::div(ONE, a, mode)),
        (_, Type::F64) => unary(to, a, move |a| double::sqrt(a, rounding)),
        _ => unary(to, a, move |a| single::sqrt(a, mode)),
    })
}

/// `.approx.ftz.f64`: the upper word of the operand in, an upper word out.
fn coarse(a: u64, function: impl Fn(f64) -> f64) -> u64 {
    let upper = |bits: u64| Format::F64.flush(bits & 0xFFFF_FFFF_0000_0000);
    let result = function(f64::from_bits(upper(a)));
    if result.is_nan() { 0x7FFF_FFFF_0000_0000 } else { upper(result.to_bits()) }
}

fn approximate(d: &mut Decoder<'_>, function: fn(u32, bool) -> u32) -> Result<Op, ParseError> {
    d.expect("approx")?;
    let ftz = d.take("ftz");
    d.expect("f32")?;
    d.finish(2..=2)?;
    let (to, a) = (d.destination(0, Type::F32)?, d.source(1, Type::F32)?);
    Ok(unary(to, a, move |a| function(a, ftz)))
}

fn sign(
    d: &mut Decoder<'_>,
    change: impl Fn(u64, u64) -> u64 + Copy + Send + Sync + 'static,
) -> Result<Op, ParseError> {
    let ftz = d.take("ftz");
    let ty = d.ty_of(&BOTH)?;
    d.finish(2..=2)?;
    let (to, a) = (d.destination(0, ty)?, d.source(1, ty)?);
    let sign = format(ty).sign();
    Ok(match (ftz, ty) {
        (true, Type::F64) => return d.unsupported(".ftz of type .f64"),
        // The sign of a NaN stays.
        (_, Type::F64) => {
            unary(
                to,
                a,
                move |a: u64| {
                    if Format::F64.is_nan(a) { a | 1 << 51 } else { change(a, sign) }
                },
            )
        }
        _ => unary(to, a, move |a: u64| {
            let a = if ftz { Format::F32.flush(a) } else { a };
            if Format::F32.is_nan(a) { Format::F32.nan() } else { change(a, sign) }
        }),
    })
}

/// `min` and `max` of two or, for `f32`, three.
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
    let ty = d.ty_of(&BOTH)?;
    let choice = Choice { propagate_nan, xorsign_abs, ftz };
    if ty == Type::F64 && choice != Choice::default() {
        return d.unsupported("modifiers of type .f64");
    }
    d.finish(3..=3)?;
    let (to, a, b) = (d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?);
    let format = format(ty);
    Ok(binary(to, a, b, move |a: u64, b: u64| choose(format, a, b, choice)))
}

fn copysign(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let ty = d.ty_of(&BOTH)?;
    d.finish(3..=3)?;
    let (to, a, b) = (d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?);
    let sign = format(ty).sign();
    // The sign is the first operand's, the magnitude the second's.
    Ok(binary(to, a, b, move |a: u64, b: u64| a & sign | b & !sign))
}

#[derive(Debug, Clone, Copy)]
enum Property {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

fn testp(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let property = d.required(&[
        ("finite", Property::Finite),
        ("infinite", Property::Infinite),
        ("number", Property::Number),
        ("notanumber", Property::NotANumber),
        ("normal", Property::Normal),
        ("subnormal", Property::Subnormal),
    ])?;
    let ty = d.ty_of(&BOTH)?;
    d.finish(2..=2)?;
    let (to, a): (Predicate, Source) = (d.predicate(0)?, d.source(1, ty)?);
    let holds = move |bits: u64| {
        // Widening is exact, but makes subnormal values normal.
        let value = format(ty).decode(bits);
        let subnormal = format(ty).is_subnormal(bits);
        match property {
            Property::Finite => value.is_finite(),
            Property::Infinite => value.is_infinite(),
            Property::Number => !value.is_nan(),
            Property::NotANumber => value.is_nan(),
            // Zeros count as normal.
            Property::Normal => value.is_finite() && !subnormal,
            Property::Subnormal => subnormal,
        }
    };
    Ok(Op::data(move |registers, mask| {
        let row = registers.load(a);
        let mut lanes = 0;
        for (lane, bits) in row.iter().enumerate() {
            lanes |= u32::from(holds(*bits)) << lane;
        }
        registers.set_predicate(to, lanes, mask);
    }))
}

fn format(ty: Type) -> Format {
    if ty == Type::F64 { Format::F64 } else { Format::F32 }
}
