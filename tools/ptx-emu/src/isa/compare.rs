//! Comparisons.
//!
//! PTX ISA, "Comparison and Selection Instructions" and "Half Precision Comparison Instructions".

use super::Op;
use super::half;
use super::rows::{by_integer, compare};
use crate::ast::{Instruction, Operand, Type};
use crate::error::{ParseError, Problem};
use crate::machine::registers::{Condition, Predicate, Registers, Source};
use crate::num::Format;
use crate::program::{Decoder, Scope};
use crate::vectors::either;

/// Decodes an instruction of this family.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Op, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    match instruction.opcode.as_str() {
        "setp" => setp(&mut d),
        "set" => set(&mut d),
        other => Err(d.error(Problem::UnknownOpcode(other.to_owned()))),
    }
}

/// Which of less, equal, greater and unordered make a comparison hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Holds {
    less: bool,
    equal: bool,
    greater: bool,
    unordered: bool,
    /// Whether integers may be compared this way: `lo`, `ls`, `hi`, `hs` only without a sign,
    /// `ltu` and its kin not at all.
    of: Operands,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operands {
    Any,
    Unsigned,
    Float,
}

const fn holds(code: &str, unordered: bool, of: Operands) -> Holds {
    let code = code.as_bytes();
    let (mut less, mut equal, mut greater) = (false, false, false);
    let mut i = 0;
    while i < code.len() {
        match code[i] {
            b'<' => less = true,
            b'=' => equal = true,
            _ => greater = true,
        }
        i += 1;
    }
    Holds { less, equal, greater, unordered, of }
}

const COMPARISONS: [(&str, Holds); 18] = [
    ("eq", holds("=", false, Operands::Any)),
    ("ne", holds("<>", false, Operands::Any)),
    ("lt", holds("<", false, Operands::Any)),
    ("le", holds("<=", false, Operands::Any)),
    ("gt", holds(">", false, Operands::Any)),
    ("ge", holds("=>", false, Operands::Any)),
    ("lo", holds("<", false, Operands::Unsigned)),
    ("ls", holds("<=", false, Operands::Unsigned)),
    ("hi", holds(">", false, Operands::Unsigned)),
    ("hs", holds("=>", false, Operands::Unsigned)),
    ("equ", holds("=", true, Operands::Float)),
    ("neu", holds("<>", true, Operands::Float)),
    ("ltu", holds("<", true, Operands::Float)),
    ("leu", holds("<=", true, Operands::Float)),
    ("gtu", holds(">", true, Operands::Float)),
    ("geu", holds("=>", true, Operands::Float)),
    ("num", holds("<=>", false, Operands::Float)),
    ("nan", holds("", true, Operands::Float)),
];

/// How the comparison is combined with a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Combine {
    And,
    Or,
    Xor,
}

impl Combine {
    fn of(self, a: u32, b: u32) -> u32 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

const COMBINATIONS: [(&str, Combine); 3] =
    [("and", Combine::And), ("or", Combine::Or), ("xor", Combine::Xor)];

const COMPARED: [Type; 15] = [
    Type::B16,
    Type::B32,
    Type::B64,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S16,
    Type::S32,
    Type::S64,
    Type::F32,
    Type::F64,
    Type::F16,
    Type::F16x2,
    Type::Bf16,
    Type::Bf16x2,
];

/// A comparison of two operands: lanes in which it holds, by the halves of a packed type.
type Compare = Box<dyn Fn(&Registers) -> [u32; 2] + Send + Sync>;

/// What `setp` and `set` share.
struct Comparison {
    compare: Compare,
    combine: Option<(Combine, Condition)>,
    /// The type has two values in a register.
    pair: bool,
}

/// Modifiers before the types.
struct Head {
    holds: Holds,
    combine: Option<Combine>,
    ftz: bool,
}

fn head(d: &mut Decoder<'_>) -> Result<Head, ParseError> {
    let holds = d.required(&COMPARISONS)?;
    let combine = d.choice(&COMBINATIONS);
    Ok(Head { holds, combine, ftz: d.take("ftz") })
}

fn comparison(d: &Decoder<'_>, head: &Head, ty: Type) -> Result<Comparison, ParseError> {
    let Head { holds, combine, ftz } = *head;
    let n = if combine.is_some() { 4 } else { 3 };
    d.finish(n..=n)?;
    let (a, b) = (d.source(1, ty)?, d.source(2, ty)?);
    let combine = match combine {
        Some(combine) => Some((combine, d.condition(3)?)),
        None => None,
    };
    let is_float = matches!(ty, Type::F32 | Type::F64) || ty.name().contains("f16");
    let fits = match holds.of {
        Operands::Any => is_float || !ty.name().starts_with('b') || holds.less == holds.greater,
        Operands::Unsigned => matches!(ty, Type::U16 | Type::U32 | Type::U64),
        Operands::Float => is_float,
    };
    if !fits {
        return d.unsupported(format!("this comparison of type {ty}"));
    }
    let pair = matches!(ty, Type::F16x2 | Type::Bf16x2);
    let compare: Compare = match ty {
        Type::F32 if ftz => {
            floats(a, b, holds, |bits| f64::from(f32::from_bits(Format::F32.flush(bits) as u32)))
        }
        _ if ftz && !ty.name().starts_with("f16") => {
            return d.unsupported(format!(".ftz of type {ty}"));
        }
        Type::F32 => floats(a, b, holds, |bits| f64::from(f32::from_bits(bits as u32))),
        Type::F64 => floats(a, b, holds, f64::from_bits),
        _ if is_float => {
            let (format, _) = half::format(ty);
            let decode = move |bits: u64, shift: u32| {
                let bits = bits >> shift & 0xFFFF;
                format.decode(if ftz { format.flush(bits) } else { bits })
            };
            Box::new(move |registers| {
                let low = float_lanes(registers, a, b, holds, |bits| decode(bits, 0));
                let high = if pair {
                    float_lanes(registers, a, b, holds, |bits| decode(bits, 16))
                } else {
                    0
                };
                [low, high]
            })
        }
        _ => by_integer!(d, ty, T => integers::<T>(a, b, holds))?,
    };
    Ok(Comparison { compare, combine, pair })
}

fn integers<T: super::rows::Lane + Ord>(a: Source, b: Source, holds: Holds) -> Compare {
    /// The same loop for each comparison, with its own function inside.
    fn with<T: super::rows::Lane>(
        a: Source,
        b: Source,
        f: impl Fn(T, T) -> bool + Copy + Send + Sync + 'static,
    ) -> Compare {
        either!(|registers: &Registers| [compare(registers, a, b, f), 0])
    }
    match (holds.less, holds.equal, holds.greater) {
        (false, true, false) => with(a, b, |a: T, b: T| a == b),
        (true, false, true) => with(a, b, |a: T, b: T| a != b),
        (true, false, false) => with(a, b, |a: T, b: T| a < b),
        (true, true, false) => with(a, b, |a: T, b: T| a <= b),
        (false, false, true) => with(a, b, |a: T, b: T| a > b),
        _ => with(a, b, |a: T, b: T| a >= b),
    }
}

fn floats(
    a: Source,
    b: Source,
    holds: Holds,
    decode: impl Fn(u64) -> f64 + Copy + Send + Sync + 'static,
) -> Compare {
    either!(|registers: &Registers| [float_lanes(registers, a, b, holds, decode), 0])
}

#[inline(always)]
fn float_lanes(
    registers: &Registers,
    a: Source,
    b: Source,
    holds: Holds,
    decode: impl Fn(u64) -> f64,
) -> u32 {
    compare(registers, a, b, |a: u64, b: u64| {
        let (a, b) = (decode(a), decode(b));
        (holds.less & (a < b))
            | (holds.equal & (a == b))
            | (holds.greater & (a > b))
            | (holds.unordered & (a.is_nan() | b.is_nan()))
    })
}

fn setp(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let head = head(d)?;
    let ty = d.ty_of(&COMPARED)?;
    let Comparison { compare, combine, pair } = comparison(d, &head, ty)?;
    let (p, q) = match d.operand(0)? {
        Operand::Pair(p, q) => (wanted(d, p)?, wanted(d, q)?),
        other => (wanted(d, other)?, None),
    };
    Ok(Op::data(move |registers, mask| {
        let [low, high] = compare(registers);
        // The second result is the opposite, or the upper half's.
        let mut results = [low, if pair { high } else { !low }];
        if let Some((combine, condition)) = combine {
            let with = registers.condition(condition);
            results = results.map(|lanes| combine.of(lanes, with));
        }
        for (to, lanes) in [p, q].into_iter().zip(results) {
            if let Some(to) = to {
                registers.set_predicate(to, lanes, mask);
            }
        }
    }))
}

fn wanted(d: &Decoder<'_>, operand: &Operand) -> Result<Option<Predicate>, ParseError> {
    match operand {
        Operand::Sink => Ok(None),
        operand => d.predicate_of(operand, 0).map(Some),
    }
}

/// `set`: ones, or the value one, where the comparison holds, and zero elsewhere.
fn set(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let head = head(d)?;
    let to_ty = d.ty_of(&[
        Type::U16,
        Type::S16,
        Type::U32,
        Type::S32,
        Type::F16,
        Type::F16x2,
        Type::Bf16,
        Type::Bf16x2,
        Type::F32,
    ])?;
    let ty = d.ty_of(&COMPARED)?;
    let Comparison { compare, combine, pair } = comparison(d, &head, ty)?;
    let to = d.destination(0, to_ty)?;
    let [low, high] = match (to_ty, pair) {
        (Type::U16 | Type::S16, false) => [0xFFFF, 0],
        (Type::U32 | Type::S32, false) => [0xFFFF_FFFF, 0],
        (Type::U32 | Type::S32, true) => [0x0000_FFFF, 0xFFFF_0000],
        (Type::F32, false) => [0x3F80_0000, 0],
        (Type::F16, false) => [0x3C00, 0],
        (Type::Bf16, false) => [0x3F80, 0],
        (Type::F16x2, true) => [0x3C00, 0x3C00_0000],
        (Type::Bf16x2, true) => [0x3F80, 0x3F80_0000],
        _ => return d.unsupported(format!("a result {to_ty} of a comparison of {ty}")),
    };
    Ok(Op::data(move |registers, mask| {
        let mut lanes = compare(registers);
        if let Some((combine, condition)) = combine {
            let with = registers.condition(condition);
            lanes = lanes.map(|lanes| combine.of(lanes, with));
        }
        let row = std::array::from_fn(|lane| {
            let [in_low, in_high] = lanes.map(|lanes| lanes >> lane & 1 == 1);
            (if in_low { low } else { 0 }) | (if in_high { high } else { 0 })
        });
        registers.store(to, &row, mask);
    }))
}
