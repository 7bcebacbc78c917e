//! Integer arithmetic.
//!
//! PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic
//! Instructions". Where the ISA leaves a result open, in a division by zero, all bits of a
//! quotient are ones and a remainder is the dividend.

use super::rows::{binary, by_integer, carried, ternary, unary};
use super::{Op, bits};
use crate::ast::{Instruction, Type};
use crate::error::ParseError;
use crate::machine::registers::Source;
use crate::program::{Decoder, Scope};

const WIDE: [Type; 6] = [Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64];
const PACKED: [Type; 8] =
    [Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64, Type::U16x2, Type::S16x2];

/// Decodes an instruction of this family.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Op, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    match instruction.opcode.as_str() {
        "add" | "sub" => add_or_sub(&mut d, instruction.opcode == "sub"),
        "addc" | "subc" => with_carry(&mut d, instruction.opcode == "subc", true),
        "mul" => mul(&mut d),
        "mad" => mad(&mut d, false),
        "madc" => mad(&mut d, true),
        "mul24" | "mad24" => short_mul(&mut d, instruction.opcode == "mad24"),
        "sad" => sad(&mut d),
        "div" | "rem" => div_or_rem(&mut d, instruction.opcode == "rem"),
        "min" | "max" => min_or_max(&mut d, instruction.opcode == "max"),
        "abs" | "neg" => abs_or_neg(&mut d, instruction.opcode == "neg"),
        "dp4a" | "dp2a" => dot(&mut d, instruction.opcode == "dp4a"),
        _ => bits::decode(instruction, scope),
    }
}

fn add_or_sub(d: &mut Decoder<'_>, subtract: bool) -> Result<Op, ParseError> {
    if d.peek() == Some("cc") {
        return with_carry(d, subtract, false);
    }
    if d.take("sat") {
        d.expect("s32")?;
        d.finish(3..=3)?;
        let (to, a, b) = operands(d, Type::S32)?;
        return Ok(if subtract {
            binary(to, a, b, i32::saturating_sub)
        } else {
            binary(to, a, b, i32::saturating_add)
        });
    }
    let ty = d.ty_of(&PACKED)?;
    d.finish(3..=3)?;
    let (to, a, b) = operands(d, ty)?;
    if ty.name().ends_with("x2") {
        return Ok(if subtract {
            binary(to, a, b, |a: u32, b: u32| by_half(a, b, u16::wrapping_sub))
        } else {
            binary(to, a, b, |a: u32, b: u32| by_half(a, b, u16::wrapping_add))
        });
    }
    by_integer!(d, ty, T => if subtract {
        binary(to, a, b, T::wrapping_sub)
    } else {
        binary(to, a, b, T::wrapping_add)
    })
}

/// `add.cc`, `addc`, `sub.cc`, `subc`: in a subtraction the carry is a borrow.
fn with_carry(d: &mut Decoder<'_>, subtract: bool, takes: bool) -> Result<Op, ParseError> {
    let gives = d.take("cc");
    let ty = d.ty_of(&[Type::U32, Type::S32, Type::U64, Type::S64])?;
    d.finish(3..=3)?;
    let (to, a, b) = operands(d, ty)?;
    let (carry, bits, mask) = (d.carry()?, ty.bits(), mask(ty));
    let operands = [a, b, Source::Constant(0)];
    Ok(if subtract {
        carried(to, operands, carry, takes, gives, move |a, b, _, borrow| {
            let (a, b) = (i128::from(a), i128::from(b) + i128::from(borrow));
            ((a - b) as u64 & mask, a < b)
        })
    } else {
        carried(to, operands, carry, takes, gives, move |a, b, _, carry| {
            let sum = u128::from(a) + u128::from(b) + u128::from(carry);
            (sum as u64 & mask, sum >> bits != 0)
        })
    })
}

/// Which half of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Low,
    High,
    Wide,
}

const HALVES: [(&str, Half); 3] = [("lo", Half::Low), ("hi", Half::High), ("wide", Half::Wide)];

/// The type of a product of two values of a type.
fn doubled(d: &Decoder<'_>, ty: Type) -> Result<Type, ParseError> {
    match ty {
        Type::U16 => Ok(Type::U32),
        Type::S16 => Ok(Type::S32),
        Type::U32 => Ok(Type::U64),
        Type::S32 => Ok(Type::S64),
        _ => d.unsupported(format!("a wide product of type {ty}")),
    }
}

fn product(half: Half, ty: Type) -> impl Fn(u64, u64) -> u64 + Copy {
    let mask = mask(ty);
    move |a, b| {
        let product = if ty.is_signed() {
            (i128::from(signed(a, ty)) * i128::from(signed(b, ty))) as u128
        } else {
            u128::from(a) * u128::from(b)
        };
        match half {
            Half::Low => product as u64 & mask,
            Half::High => (product >> ty.bits()) as u64 & mask,
            Half::Wide => product as u64 & mask_of(2 * ty.bits()),
        }
    }
}

fn mul(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let half = d.required(&HALVES)?;
    let ty = d.ty_of(&WIDE)?;
    d.finish(3..=3)?;
    let to_ty = if half == Half::Wide { doubled(d, ty)? } else { ty };
    let (to, a, b) = (d.destination(0, to_ty)?, d.source(1, ty)?, d.source(2, ty)?);
    Ok(match (half, ty) {
        (Half::Low, Type::U32 | Type::S32) => binary(to, a, b, u32::wrapping_mul),
        (Half::Low, Type::U64 | Type::S64) => binary(to, a, b, u64::wrapping_mul),
        (Half::Wide, Type::U32) => binary(to, a, b, |a: u32, b: u32| u64::from(a) * u64::from(b)),
        (Half::Wide, Type::S32) => binary(to, a, b, |a: i32, b: i32| i64::from(a) * i64::from(b)),
        _ => binary(to, a, b, product(half, ty)),
    })
}

fn mad(d: &mut Decoder<'_>, takes: bool) -> Result<Op, ParseError> {
    let half = d.required(&HALVES)?;
    let gives = d.take("cc");
    let saturate = half == Half::High && !takes && d.take("sat");
    let ty = d.ty_of(&WIDE)?;
    d.finish(4..=4)?;
    let to_ty = if half == Half::Wide { doubled(d, ty)? } else { ty };
    let (to, a, b) = (d.destination(0, to_ty)?, d.source(1, ty)?, d.source(2, ty)?);
    let c = d.source(3, to_ty)?;
    let (mask, multiply) = (mask(to_ty), product(half, ty));
    if takes || gives {
        if half == Half::Wide || ty.bits() < 32 {
            return d.unsupported("carries of such a product");
        }
        let bits = ty.bits();
        return Ok(carried(to, [a, b, c], d.carry()?, takes, gives, move |a, b, c, carry| {
            let sum = u128::from(multiply(a, b)) + u128::from(c) + u128::from(carry);
            (sum as u64 & mask, sum >> bits != 0)
        }));
    }
    if saturate {
        if ty != Type::S32 {
            return d.unsupported(format!(".sat of type {ty}"));
        }
        return Ok(ternary(to, a, b, c, move |a: u64, b: u64, c: i32| {
            (multiply(a, b) as i32).saturating_add(c)
        }));
    }
    Ok(match (half, ty) {
        (Half::Low, Type::U32 | Type::S32) => {
            ternary(to, a, b, c, |a: u32, b: u32, c: u32| a.wrapping_mul(b).wrapping_add(c))
        }
        (Half::Wide, Type::U32) => ternary(to, a, b, c, |a: u32, b: u32, c: u64| {
            (u64::from(a) * u64::from(b)).wrapping_add(c)
        }),
        (Half::Wide, Type::S32) => ternary(to, a, b, c, |a: i32, b: i32, c: i64| {
            (i64::from(a) * i64::from(b)).wrapping_add(c)
        }),
        _ => ternary(to, a, b, c, move |a: u64, b: u64, c: u64| {
            multiply(a, b).wrapping_add(c) & mask
        }),
    })
}

/// `mul24` and `mad24`: products of the low 24 bits, of which there are 48.
fn short_mul(d: &mut Decoder<'_>, add: bool) -> Result<Op, ParseError> {
    let high = d.required(&[("lo", false), ("hi", true)])?;
    let saturate = add && high && d.take("sat");
    let ty = d.ty_of(&[Type::U32, Type::S32])?;
    let n = if add { 4 } else { 3 };
    d.finish(n..=n)?;
    let (to, a, b) = operands(d, ty)?;
    let c = if add { d.source(3, ty)? } else { Source::Constant(0) };
    let product = move |a: u32, b: u32| {
        let product = if ty == Type::S32 {
            let [a, b] = [a, b].map(|value| i64::from(value << 8) as i32 >> 8);
            i64::from(a) * i64::from(b)
        } else {
            i64::from(a & 0xFF_FFFF) * i64::from(b & 0xFF_FFFF)
        };
        (if high { product >> 16 } else { product }) as u32
    };
    if saturate && ty != Type::S32 {
        return d.unsupported(format!(".sat of type {ty}"));
    }
    Ok(ternary(to, a, b, c, move |a: u32, b: u32, c: u32| {
        let product = product(a, b);
        if saturate {
            product.cast_signed().saturating_add(c.cast_signed()).cast_unsigned()
        } else {
            product.wrapping_add(c)
        }
    }))
}

fn sad(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let ty = d.ty_of(&WIDE)?;
    d.finish(4..=4)?;
    let (to, a, b) = operands(d, ty)?;
    let c = d.source(3, ty)?;
    by_integer!(d, ty, T => ternary(to, a, b, c, |a: T, b: T, c: T| {
        let distance = if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) };
        c.wrapping_add(distance)
    }))
}

fn div_or_rem(d: &mut Decoder<'_>, remainder: bool) -> Result<Op, ParseError> {
    let ty = d.ty_of(&WIDE)?;
    d.finish(3..=3)?;
    let (to, a, b) = operands(d, ty)?;
    by_integer!(d, ty, T => if remainder {
        binary(to, a, b, |a: T, b: T| if b == 0 { a } else { a.wrapping_rem(b) })
    } else {
        binary(to, a, b, |a: T, b: T| if b == 0 { !0 } else { a.wrapping_div(b) })
    })
}

fn min_or_max(d: &mut Decoder<'_>, max: bool) -> Result<Op, ParseError> {
    let relu = d.take("relu");
    let ty = d.ty_of(&PACKED)?;
    d.finish(3..=3)?;
    let (to, a, b) = operands(d, ty)?;
    let choose = move |a: i16, b: i16| {
        let chosen = if max { a.max(b) } else { a.min(b) };
        if relu { chosen.max(0) } else { chosen }
    };
    match ty {
        Type::S16x2 => Ok(binary(to, a, b, move |a: u32, b: u32| {
            by_half(a, b, |a, b| choose(a.cast_signed(), b.cast_signed()).cast_unsigned())
        })),
        Type::U16x2 if !relu => Ok(binary(to, a, b, move |a: u32, b: u32| {
            by_half(a, b, |a, b| if max { a.max(b) } else { a.min(b) })
        })),
        Type::S32 if relu => Ok(binary(to, a, b, move |a: i32, b: i32| {
            (if max { a.max(b) } else { a.min(b) }).max(0)
        })),
        _ if relu => d.unsupported(format!(".relu of type {ty}")),
        _ => by_integer!(d, ty, T => if max {
            binary(to, a, b, |a: T, b: T| a.max(b))
        } else {
            binary(to, a, b, |a: T, b: T| a.min(b))
        }),
    }
}

fn abs_or_neg(d: &mut Decoder<'_>, negate: bool) -> Result<Op, ParseError> {
    let ty = d.ty_of(&[Type::S16, Type::S32, Type::S64])?;
    d.finish(2..=2)?;
    let (to, a) = (d.destination(0, ty)?, d.source(1, ty)?);
    let shift = 64 - ty.bits();
    let mask = mask(ty);
    Ok(unary(to, a, move |a: u64| {
        let a = (a << shift).cast_signed() >> shift;
        (if negate { a.wrapping_neg() } else { a.wrapping_abs() }).cast_unsigned() & mask
    }))
}

/// `dp4a` and `dp2a`: dot products of bytes, and of 16 bits by bytes, added to a sum.
fn dot(d: &mut Decoder<'_>, four: bool) -> Result<Op, ParseError> {
    let high = if four { false } else { d.required(&[("lo", false), ("hi", true)])? };
    let a_ty = d.ty_of(&[Type::U32, Type::S32])?;
    let b_ty = d.ty_of(&[Type::U32, Type::S32])?;
    d.finish(4..=4)?;
    let ty = if a_ty == Type::S32 || b_ty == Type::S32 { Type::S32 } else { Type::U32 };
    let (to, a, b, c) =
        (d.destination(0, ty)?, d.source(1, a_ty)?, d.source(2, b_ty)?, d.source(3, ty)?);
    let part = |value: u32, ty: Type, bits: u32, index: u32| {
        let piece = value >> (bits * index) << (32 - bits);
        if ty == Type::S32 {
            i64::from(piece.cast_signed() >> (32 - bits))
        } else {
            i64::from(piece >> (32 - bits))
        }
    };
    Ok(ternary(to, a, b, c, move |a: u32, b: u32, c: u32| {
        let sum: i64 = if four {
            (0..4).map(|i| part(a, a_ty, 8, i) * part(b, b_ty, 8, i)).sum()
        } else {
            let first = if high { 2 } else { 0 };
            (0..2).map(|i| part(a, a_ty, 16, i) * part(b, b_ty, 8, first + i)).sum()
        };
        c.wrapping_add(sum as u32)
    }))
}

/// Destination and two sources of one type.
fn operands(
    d: &Decoder<'_>,
    ty: Type,
) -> Result<(crate::machine::registers::Slot, Source, Source), ParseError> {
    Ok((d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?))
}

/// The bits that a value of a type may have.
fn mask(ty: Type) -> u64 {
    mask_of(ty.bits())
}

fn mask_of(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

fn signed(bits: u64, ty: Type) -> i64 {
    let unused = 64 - ty.bits();
    (bits << unused).cast_signed() >> unused
}

fn by_half(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    let low = f(a as u16, b as u16);
    let high = f((a >> 16) as u16, (b >> 16) as u16);
    u32::from(low) | u32::from(high) << 16
}
