//! Moving, selecting and permuting values, and addresses between spaces.
//!
//! PTX ISA, "Data Movement and Conversion Instructions": `mov`, `prmt`, `cvta`, `isspacep`;
//! "Comparison and Selection Instructions": `selp`, `slct`.

use super::Op;
use super::rows::{binary, constant, select, ternary, unary, vectorized};
use crate::ast::{self, Instruction, Operand, Type};
use crate::error::{ParseError, Problem};
use crate::machine::registers::{Row, Slot, Source};
use crate::memory::{Space, from_generic, shared_of, space_of, to_generic};
use crate::num::Format;
use crate::program::{Decoder, Preset, Scope};

const MOVED: [Type; 16] = [
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
    Type::Pred,
];

/// Decodes an instruction of this family.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Op, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    let d = &mut d;
    match instruction.opcode.as_str() {
        "mov" => mov(d),
        "selp" => selp(d),
        "slct" => slct(d),
        "prmt" => prmt(d),
        "cvta" => cvta(d),
        "isspacep" => isspacep(d),
        other => Err(d.error(Problem::UnknownOpcode(other.to_owned()))),
    }
}

fn mov(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let ty = d.ty_of(&MOVED)?;
    d.finish(2..=2)?;
    if ty == Type::Pred {
        return move_predicate(d);
    }
    match (d.operand(0)?, d.operand(1)?) {
        (Operand::Vector(parts), _) => unpack(d, ty, parts),
        (_, Operand::Vector(parts)) => pack(d, ty, parts),
        (_, Operand::Moved(..)) => {
            let to = d.destination(0, ty)?;
            let address = d.address(1)?;
            let offset = address.offset.cast_unsigned();
            let mask = u64::MAX >> (64 - ty.bits());
            Ok(unary(to, address.base, move |a: u64| a.wrapping_add(offset) & mask))
        }
        _ => {
            let (to, from) = (d.destination(0, ty)?, d.source(1, ty)?);
            Ok(match from {
                Source::Constant(bits) => constant(to, bits),
                Source::Slot(from) => copy(to, from),
            })
        }
    }
}

fn copy(to: Slot, from: Slot) -> Op {
    vectorized!(|registers, mask| {
        let row = *registers.row(from);
        registers.store(to, &row, mask);
    })
}

fn move_predicate(d: &Decoder<'_>) -> Result<Op, ParseError> {
    let to = d.predicate(0)?;
    // `%is_explicit_cluster` is the one predicate among the special registers.
    if let Operand::Name(name) = d.operand(1)?
        && name == "%is_explicit_cluster"
    {
        let from = d.source(1, Type::Pred)?;
        return Ok(Op::data(move |registers, mask| {
            let set = if registers.value(from, 0) == 0 { 0 } else { u32::MAX };
            registers.set_predicate(to, set, mask);
        }));
    }
    let from = d.condition(1)?;
    Ok(Op::data(move |registers, mask| {
        let lanes = registers.condition(from);
        registers.set_predicate(to, lanes, mask);
    }))
}

/// The type of each part of a value cut into so many.
fn part(d: &Decoder<'_>, ty: Type, n: usize) -> Result<Type, ParseError> {
    match (ty.bits(), n) {
        (64, 2) => Ok(Type::B32),
        (64, 4) | (32, 2) => Ok(Type::B16),
        (64, 8) | (32, 4) | (16, 2) => Ok(Type::B8),
        _ => d.unsupported(format!("{n} parts of a {ty}")),
    }
}

/// `{a, b} = x`: the first part is the lowest.
fn unpack(d: &Decoder<'_>, ty: Type, parts: &[Operand]) -> Result<Op, ParseError> {
    let part_ty = part(d, ty, parts.len())?;
    let from = d.source(1, ty)?;
    let mut slots = Vec::with_capacity(parts.len());
    for operand in parts {
        slots.push(match operand {
            Operand::Sink => None,
            operand => Some(d.register(operand, 0, part_ty.bits()..=part_ty.bits().max(16))?),
        });
    }
    let (bits, mask_of_part) = (part_ty.bits(), u64::MAX >> (64 - part_ty.bits()));
    Ok(Op::data(move |registers, mask| {
        let row = registers.load(from);
        for (index, slot) in slots.iter().enumerate() {
            if let Some(slot) = slot {
                let shift = bits * index as u32;
                let cut: Row = std::array::from_fn(|lane| row[lane] >> shift & mask_of_part);
                registers.store(*slot, &cut, mask);
            }
        }
    }))
}

/// `x = {a, b}`.
fn pack(d: &Decoder<'_>, ty: Type, parts: &[Operand]) -> Result<Op, ParseError> {
    let part_ty = part(d, ty, parts.len())?;
    let to = d.destination(0, ty)?;
    let mut sources = Vec::with_capacity(parts.len());
    for operand in parts {
        sources.push(d.value(operand, 1, part_ty, part_ty.bits().max(16))?);
    }
    let (bits, mask_of_part) = (part_ty.bits(), u64::MAX >> (64 - part_ty.bits()));
    Ok(Op::data(move |registers, mask| {
        let mut row: Row = [0; 32];
        for (index, source) in sources.iter().enumerate() {
            let values = registers.load(*source);
            for (to, from) in row.iter_mut().zip(&values) {
                *to |= (from & mask_of_part) << (bits * index as u32);
            }
        }
        registers.store(to, &row, mask);
    }))
}

fn selp(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let ty = d.ty_of(&MOVED[..MOVED.len() - 1])?;
    d.finish(4..=4)?;
    Ok(select(d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?, d.condition(3)?))
}

/// The first value where the third is not negative, else the second.
fn slct(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let ftz = d.take("ftz");
    let ty = d.ty_of(&MOVED[..11])?;
    let by = d.ty_of(&[Type::S32, Type::F32])?;
    d.finish(4..=4)?;
    let (to, a, b) = (d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?);
    let c = d.source(3, by)?;
    if ftz && by != Type::F32 {
        return d.unsupported(".ftz of an integer");
    }
    Ok(if by == Type::S32 {
        ternary(to, a, b, c, |a: u64, b: u64, c: i32| if c >= 0 { a } else { b })
    } else {
        ternary(to, a, b, c, move |a: u64, b: u64, c: u64| {
            let c = if ftz { Format::F32.flush(c) } else { c };
            if f32::from_bits(c as u32) >= 0.0 { a } else { b }
        })
    })
}

/// Which bytes of `{b, a}` the special modes of `prmt` take, lowest first, by selector.
const MODES: [(&str, [[u32; 4]; 4]); 6] = [
    ("f4e", [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]]),
    ("b4e", [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]]),
    ("rc8", [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
    ("ecl", [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]]),
    ("ecr", [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]]),
    ("rc16", [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]]),
];

fn prmt(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    d.expect("b32")?;
    let mode = d.choice(&MODES);
    d.finish(4..=4)?;
    let ty = Type::B32;
    let (to, a, b) = (d.destination(0, ty)?, d.source(1, ty)?, d.source(2, ty)?);
    let c = d.source(3, ty)?;
    if let (None, Source::Constant(selector)) = (mode, c) {
        // Which bytes is known, and which of them are signs.
        let from: [u32; 4] = std::array::from_fn(|at| (selector >> (4 * at) & 7) as u32 * 8);
        let signs: [bool; 4] = std::array::from_fn(|at| selector >> (4 * at) & 8 != 0);
        return Ok(binary(to, a, b, move |a: u32, b: u32| {
            let both = u64::from(b) << 32 | u64::from(a);
            let byte = |at: usize| {
                let byte = (both >> from[at]) as u8;
                let byte = if signs[at] { (byte as i8 >> 7) as u8 } else { byte };
                u32::from(byte) << (8 * at)
            };
            byte(0) | byte(1) | byte(2) | byte(3)
        }));
    }
    let byte = |both: u64, index: u32| both >> (8 * index) & 0xFF;
    Ok(ternary(to, a, b, c, move |a: u32, b: u32, c: u32| {
        let both = u64::from(b) << 32 | u64::from(a);
        let mut out = 0;
        for position in 0..4 {
            let byte = match mode {
                Some(table) => byte(both, table[(c & 3) as usize][position as usize]),
                None => {
                    let control = c >> (4 * position);
                    let byte = byte(both, control & 7);
                    match (control & 8, byte & 0x80) {
                        (0, _) => byte,
                        (_, 0) => 0,
                        _ => 0xFF,
                    }
                }
            };
            out |= byte << (8 * position);
        }
        out as u32
    }))
}

/// Spaces that `cvta` and `isspacep` name.
const SPACES: [(&str, Space); 8] = [
    ("global", Space::Global),
    ("const", Space::Const),
    ("local", Space::Local),
    ("shared", Space::Shared),
    ("shared::cta", Space::Shared),
    ("shared::cluster", Space::SharedCluster),
    ("param", Space::Param),
    ("param::entry", Space::Param),
];

fn cvta(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let from_generic_address = d.take("to");
    let mut space = d.required(&SPACES)?;
    d.expect("u64")?;
    d.finish(2..=2)?;
    let to = d.destination(0, Type::U64)?;
    let address = match d.operand(1)? {
        Operand::Integer(value) => {
            crate::program::Address { base: Source::Constant(*value), offset: 0, space: None }
        }
        _ => d.address(1)?,
    };
    // Parameters of device functions lie in local memory.
    if address.space == Some(ast::Space::Local) {
        space = Space::Local;
    }
    let offset = address.offset.cast_unsigned();
    Ok(if from_generic_address {
        unary(to, address.base, move |a: u64| from_generic(space, a.wrapping_add(offset)))
    } else {
        unary(to, address.base, move |a: u64| to_generic(space, a.wrapping_add(offset)))
    })
}

fn isspacep(d: &mut Decoder<'_>) -> Result<Op, ParseError> {
    let space = d.required(&SPACES)?;
    d.finish(2..=2)?;
    let (to, address) = (d.predicate(0)?, d.source(1, Type::U64)?);
    let rank = d.scope().preset(Preset::ClusterRank).map_err(|problem| d.error(problem))?;
    let holds = move |address: u64, rank: u64| {
        let lies_in = space_of(address);
        match space {
            // A CTA's own window is the part of the cluster's that its rank is named in.
            Space::Shared => {
                lies_in == Space::SharedCluster
                    && u64::from(shared_of(from_generic(lies_in, address)).0) == rank
            }
            // Constant memory is a part of global memory here.
            Space::Const => lies_in == Space::Global,
            space => lies_in == space,
        }
    };
    Ok(Op::data(move |registers, mask| {
        let (row, rank) = (registers.load(address), registers.value(Source::Slot(rank), 0));
        let mut lanes = 0;
        for (lane, address) in row.iter().enumerate() {
            lanes |= u32::from(holds(*address, rank)) << lane;
        }
        registers.set_predicate(to, lanes, mask);
    }))
}
