//! Conversions.
//!
//! PTX ISA, "Data Movement and Conversion Instructions": `cvt`, `cvt.pack`.

use super::Op;
use super::rows::{binary, ternary, unary};
use crate::ast::{Instruction, Type};
use crate::error::{ParseError, Problem};
use crate::machine::registers::Source;
use crate::num::convert::{
    Conversion, Integer, Saturation, float_to_float, float_to_integer, integer_to_float,
    integer_to_integer, round_to_integral,
};
use crate::num::{Format, Rounding};
use crate::program::{Decoder, Scope};

/// Decodes an instruction of this family.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Op, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    if d.take("pack") { pack(&mut d) } else { cvt(&mut d) }
}

/// Modifiers before the types.
#[derive(Debug, Clone, Copy, Default)]
struct Head {
    /// The direction, and whether it is one to an integer (`.rni`).
    rounding: Option<(Rounding, bool)>,
    ftz: bool,
    sat: bool,
    satfinite: bool,
    relu: bool,
}

fn head(d: &mut Decoder<'_>) -> Head {
    let rounding = d.choice(&[
        ("rn", (Rounding::NearestEven, false)),
        ("rz", (Rounding::TowardZero, false)),
        ("rm", (Rounding::Down, false)),
        ("rp", (Rounding::Up, false)),
        ("rna", (Rounding::NearestAway, false)),
        ("rni", (Rounding::NearestEven, true)),
        ("rzi", (Rounding::TowardZero, true)),
        ("rmi", (Rounding::Down, true)),
        ("rpi", (Rounding::Up, true)),
    ]);
    let mut head = Head { rounding, ..Head::default() };
    // Compilers write these in either order.
    loop {
        let flag = match d.peek() {
            Some("ftz") if !head.ftz => &mut head.ftz,
            Some("sat") if !head.sat => &mut head.sat,
            Some("satfinite") if !head.satfinite => &mut head.satfinite,
            Some("relu") if !head.relu => &mut head.relu,
            _ => return head,
        };
        *flag = true;
        d.next();
    }
}

/// What a type is to a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer(Integer),
    Float(Format),
    /// Two values, the first in the upper half.
    Pair(Format),
}

fn kind(d: &Decoder<'_>, ty: Type) -> Result<Kind, ParseError> {
    Ok(match ty {
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => {
            Kind::Integer(Integer { bits: ty.bits(), signed: false })
        }
        Type::S8 | Type::S16 | Type::S32 | Type::S64 => {
            Kind::Integer(Integer { bits: ty.bits(), signed: true })
        }
        Type::F16 => Kind::Float(Format::F16),
        Type::Bf16 => Kind::Float(Format::Bf16),
        Type::Tf32 => Kind::Float(Format::Tf32),
        Type::F32 => Kind::Float(Format::F32),
        Type::F64 => Kind::Float(Format::F64),
        Type::F16x2 => Kind::Pair(Format::F16),
        Type::Bf16x2 => Kind::Pair(Format::Bf16),
        Type::E4m3x2 => Kind::Pair(Format::E4m3),
        Type::E5m2x2 => Kind::Pair(Format::E5m2),
        _ => return d.unsupported(format!("a conversion of type {ty}")),
    })
}

fn cvt(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let head = head(d);
    let (to_ty, from_ty) = (d.ty()?, d.ty()?);
    match (kind(d, to_ty)?, kind(d, from_ty)?) {
        (Kind::Pair(to), from) => pair(d, head, to, to_ty, from, from_ty),
        (_, Kind::Pair(_)) => d.unsupported(format!("{to_ty} from {from_ty}")),
        (to, from) => {
            d.finish(2..=2)?;
            one(d, head, (to, to_ty), (from, from_ty))
        }
    }
}

/// Whether a format holds every value of another.
fn holds(to: Format, from: Format) -> bool {
    to == from
        || matches!(
            (to, from),
            (Format::F64, _)
                | (Format::F32, Format::F16 | Format::Bf16)
                | (Format::Tf32, Format::F16 | Format::Bf16)
        )
}

fn one(
    d: &Decoder<'_>,
    head: Head,
    (to_kind, to_ty): (Kind, Type),
    (from_kind, from_ty): (Kind, Type),
) -> Result<Op, ParseError> {
    let to = d.wide_destination(0, to_ty)?;
    let from = d.wide_source(1, from_ty)?;
    // A signed result fills a wider register with its sign.
    let width = d.declared(0)?.bits();
    let Head { rounding, ftz, sat, satfinite, relu } = head;
    let direction = rounding.map_or(Rounding::NearestEven, |(rounding, _)| rounding);
    let to_integer = rounding.is_some_and(|(_, integral)| integral);
    let saturation = match (sat, satfinite) {
        (false, false) => Saturation::None,
        (true, false) => Saturation::Unit,
        (false, true) => Saturation::Finite,
        (true, true) => return d.unsupported(".sat with .satfinite"),
    };
    if ftz && from_ty != Type::F32 && to_ty != Type::F32 {
        return d.unsupported(".ftz without type .f32");
    }
    let how = Conversion { rounding: direction, ftz, saturation, relu };
    let needs = |what: &str| d.error(Problem::MissingModifier(what.to_owned()));
    let from_mask = u64::MAX >> (64 - from_ty.bits());
    match (to_kind, from_kind) {
        (Kind::Integer(to_int), Kind::Integer(from_int)) => {
            if rounding.is_some() || satfinite || relu {
                return d.unsupported("rounding between integers");
            }
            let extend = Integer { bits: width, signed: to_int.signed };
            let keeps_bits =
                to_int.bits > from_int.bits || to_int.bits == from_int.bits && width == to_int.bits;
            Ok(match sat {
                false if !from_int.signed && keeps_bits => {
                    unary(to, from, move |a: u64| a & from_mask)
                }
                false if to_int.bits <= from_int.bits && !to_int.signed => {
                    let mask = u64::MAX >> (64 - to_int.bits);
                    unary(to, from, move |a: u64| a & mask)
                }
                _ => unary(to, from, move |a: u64| {
                    let value = integer_to_integer(a, from_int, to_int, sat);
                    extend.encode(to_int.decode(value))
                }),
            })
        }
        (Kind::Float(format), Kind::Integer(from_int)) => {
            if to_integer || rounding.is_none() {
                return Err(needs("rounding of a floating-point result"));
            }
            if direction == Rounding::NearestAway || satfinite || relu {
                return d.unsupported("these modifiers on an integer");
            }
            Ok(match (format, from_ty, how == Conversion::default()) {
                (Format::F32, Type::S32, true) => unary(to, from, |a: i32| (a as f32).to_bits()),
                (Format::F32, Type::U32, true) => unary(to, from, |a: u32| (a as f32).to_bits()),
                _ => unary(to, from, move |a: u64| integer_to_float(a, from_int, format, how)),
            })
        }
        (Kind::Integer(to_int), Kind::Float(format)) => {
            if !to_integer {
                return Err(needs("rounding to an integer, such as .rzi"));
            }
            if satfinite || relu {
                return d.unsupported("these modifiers of an integer result");
            }
            let extend = Integer { bits: width, signed: to_int.signed };
            Ok(unary(to, from, move |a: u64| {
                let value = float_to_integer(a & from_mask, format, to_int, direction, ftz);
                extend.encode(to_int.decode(value))
            }))
        }
        (Kind::Float(to_format), Kind::Float(format)) => {
            if rounding.is_none() && !holds(to_format, format) {
                return Err(needs("rounding of a narrower result"));
            }
            if satfinite && !matches!(to_format, Format::F16 | Format::Bf16 | Format::Tf32) {
                return d.unsupported(".satfinite of this type");
            }
            if direction == Rounding::NearestAway && to_format != Format::Tf32 {
                return d.unsupported(".rna of anything but .tf32");
            }
            if to_integer && to_format != format {
                return d.unsupported("rounding to an integer between formats");
            }
            Ok(if to_integer {
                unary(to, from, move |a: u64| round_to_integral(a & from_mask, format, how))
            } else {
                unary(to, from, move |a: u64| float_to_float(a & from_mask, format, to_format, how))
            })
        }
        _ => unreachable!("pairs are decoded elsewhere"),
    }
}

/// Conversions to two packed values.
fn pair(
    d: &Decoder<'_>,
    head: Head,
    to_format: Format,
    to_ty: Type,
    from: Kind,
    from_ty: Type,
) -> Result<Op, ParseError> {
    let Head { rounding, ftz, sat, satfinite, relu } = head;
    let tiny = matches!(to_format, Format::E4m3 | Format::E5m2);
    let Some((direction @ (Rounding::NearestEven | Rounding::TowardZero), false)) = rounding else {
        return Err(d.error(Problem::MissingModifier(".rn or .rz".into())));
    };
    if ftz || sat || tiny && direction != Rounding::NearestEven {
        return d.unsupported(format!("these modifiers of a result {to_ty}"));
    }
    if tiny && !satfinite {
        return Err(d.error(Problem::MissingModifier(".satfinite".into())));
    }
    let saturation = if satfinite { Saturation::Finite } else { Saturation::None };
    let how = Conversion { rounding: direction, ftz, saturation, relu };
    let shift = to_format.bits();
    match from {
        Kind::Float(Format::F32) => {
            d.finish(3..=3)?;
            let to = d.destination(0, to_ty)?;
            let (a, b) = (d.source(1, from_ty)?, d.source(2, from_ty)?);
            let convert = move |bits| float_to_float(bits, Format::F32, to_format, how);
            Ok(binary(to, a, b, move |a, b| convert(a) << shift | convert(b)))
        }
        Kind::Pair(format) if tiny != matches!(format, Format::E4m3 | Format::E5m2) => {
            if !tiny && (to_format != Format::F16 || satfinite) {
                return d.unsupported(format!("{to_ty} from {from_ty}"));
            }
            d.finish(2..=2)?;
            let (to, a) = (d.destination(0, to_ty)?, d.source(1, from_ty)?);
            let from_shift = format.bits();
            let mask = u64::MAX >> (64 - from_shift);
            let convert = move |bits| float_to_float(bits, format, to_format, how);
            Ok(unary(to, a, move |a: u64| {
                convert(a >> from_shift & mask) << shift | convert(a & mask)
            }))
        }
        _ => d.unsupported(format!("{to_ty} from {from_ty}")),
    }
}

/// `cvt.pack`: two integers, clamped, beside bits of a third.
fn pack(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    d.expect("sat")?;
    let (bits, signed) = d.required(&[
        ("u16", (16, false)),
        ("s16", (16, true)),
        ("u8", (8, false)),
        ("s8", (8, true)),
        ("u4", (4, false)),
        ("s4", (4, true)),
        ("u2", (2, false)),
        ("s2", (2, true)),
    ])?;
    d.expect("s32")?;
    let n = if bits == 16 {
        3
    } else {
        d.expect("b32")?;
        4
    };
    d.finish(n..=n)?;
    let to = d.destination(0, Type::U32)?;
    let (a, b) = (d.source(1, Type::S32)?, d.source(2, Type::S32)?);
    let c = if n == 4 { d.source(3, Type::B32)? } else { Source::Constant(0) };
    let to_int = Integer { bits, signed };
    let word = Integer { bits: 32, signed: true };
    Ok(ternary(to, a, b, c, move |a: u64, b: u64, c: u64| {
        let [a, b] = [a, b].map(|value| integer_to_integer(value, word, to_int, true));
        (c << (2 * bits) | a << bits | b) & 0xFFFF_FFFF
    }))
}
