//! `ld`, `ldu`, `st`; and what only advises caches: `prefetch`, `prefetchu`, `applypriority`,
//! `discard`, `createpolicy`.
//!
//! PTX ISA, "Data Movement and Conversion Instructions: ld, ld.global.nc, ldu, st, prefetch,
//! applypriority, discard, createpolicy", and "Memory Consistency Model" for what each orders.

use crate::ast::{self, Instruction, Operand, Type};
use crate::error::{ParseError, Problem as ParseProblem};
use crate::machine::registers::{Slot, Source};
use crate::memory::published::Reach;
use crate::memory::{Order, Space, Strength};
use crate::program::{Address, Binding, Decoder, Scope};

/// A load or a store.
#[derive(Debug, Clone)]
pub(crate) struct Move {
    /// The space that the instruction names.
    pub(super) space: Space,
    pub(super) address: Address,
    /// Bytes of an element, a power of two up to 8.
    pub(super) bytes: u32,
    pub(super) strength: Strength,
    pub(super) what: What,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    /// To registers: each, and to how many bits it is sign-extended from the element's (0: it is
    /// not). `None` is `_`.
    Load(Vec<Option<(Slot, u32)>>),
    /// From registers.
    Store(Vec<Source>),
}

/// A load, a store, or advice.
#[derive(Debug, Clone)]
pub(crate) enum Memory {
    /// `ld`, `ldu`, `st`.
    Move(Move),
    /// `createpolicy`: a policy that nothing looks at.
    Policy(Slot),
    /// Advice to caches, which are not modelled.
    Advice,
}

const CACHE: [(&str, ()); 18] = [
    ("ca", ()),
    ("cg", ()),
    ("cs", ()),
    ("lu", ()),
    ("cv", ()),
    ("wb", ()),
    ("wt", ()),
    ("L1::evict_normal", ()),
    ("L1::evict_unchanged", ()),
    ("L1::evict_first", ()),
    ("L1::evict_last", ()),
    ("L1::no_allocate", ()),
    ("L2::evict_normal", ()),
    ("L2::evict_first", ()),
    ("L2::evict_last", ()),
    ("L2::64B", ()),
    ("L2::128B", ()),
    ("L2::256B", ()),
];

/// The scopes by name.
pub(super) const SCOPES: [(&str, Reach); 4] =
    [("cta", Reach::Cta), ("cluster", Reach::Cluster), ("gpu", Reach::Gpu), ("sys", Reach::Gpu)];

/// Decodes an instruction of this family.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Memory, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    match instruction.opcode.as_str() {
        "ld" => load(d),
        "ldu" => {
            let space = space(&mut d);
            let (n, ty) = shape(&mut d)?;
            d.finish(2..=2)?;
            let what = What::Load(destinations(&d, 0, n, ty)?);
            finish(&d, 1, space, ty, n, None, what)
        }
        "st" => store(d),
        "createpolicy" => policy(d),
        _ => advice(d),
    }
}

/// `.weak`, `.volatile`, `.relaxed.scope` and so on, as far as they are allowed.
fn strength(d: &mut Decoder<'_>, order: &str, ordered: Order) -> Result<Strength, ParseError> {
    if d.take("weak") {
        return Ok(None);
    }
    if d.take("volatile") {
        return Ok(Some((Order::Volatile, Reach::Gpu)));
    }
    let found = if d.take("mmio") {
        d.expect("relaxed")?;
        Order::Relaxed
    } else if d.take("relaxed") {
        Order::Relaxed
    } else if d.take(order) {
        ordered
    } else {
        return Ok(None);
    };
    Ok(Some((found, d.required(&SCOPES)?)))
}

/// The state space, generic where none is named.
pub(super) fn space(d: &mut Decoder<'_>) -> Space {
    d.choice(&[
        ("global", Space::Global),
        ("shared", Space::Shared),
        ("shared::cta", Space::Shared),
        ("shared::cluster", Space::SharedCluster),
        ("local", Space::Local),
        ("const", Space::Const),
        ("param", Space::Param),
        ("param::entry", Space::Param),
        ("param::func", Space::Param),
    ])
    .unwrap_or(Space::Generic)
}

/// Cache operators, eviction priorities and prefetch sizes; whether there is a cache policy.
pub(super) fn cache(d: &mut Decoder<'_>, non_coherent: bool) -> bool {
    let mut policy = false;
    loop {
        if d.take("L2::cache_hint") {
            policy = true;
        } else if d.choice(&CACHE).is_none() && !(non_coherent && d.take("nc")) {
            return policy;
        }
    }
}

fn shape(d: &mut Decoder<'_>) -> Result<(usize, Type), ParseError> {
    let n = d.choice(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let ty = d.ty()?;
    if !matches!(ty.bits(), 8 | 16 | 32 | 64) {
        return d.unsupported(format!("an access of type {ty}"));
    }
    if n * ty.bytes() as usize > 32 {
        return d.unsupported("an access of more than 32 bytes");
    }
    Ok((n, ty))
}

fn load(mut d: Decoder<'_>) -> Result<Memory, ParseError> {
    let strength = strength(&mut d, "acquire", Order::Acquire)?;
    let space = space(&mut d);
    let policy = cache(&mut d, matches!(space, Space::Global));
    let (n, ty) = shape(&mut d)?;
    let operands = 2 + usize::from(policy);
    d.finish(operands..=operands)?;
    if policy {
        d.source(2, Type::B64)?;
    }
    let what = What::Load(destinations(&d, 0, n, ty)?);
    finish(&d, 1, space, ty, n, strength, what)
}

fn store(mut d: Decoder<'_>) -> Result<Memory, ParseError> {
    let strength = strength(&mut d, "release", Order::Release)?;
    let space = space(&mut d);
    let policy = cache(&mut d, false);
    let (n, ty) = shape(&mut d)?;
    let operands = 2 + usize::from(policy);
    d.finish(operands..=operands)?;
    if policy {
        d.source(2, Type::B64)?;
    }
    let elements = d.elements(1)?;
    if elements.len() != n {
        return d.wrong(1, format!("{n} values"));
    }
    let values =
        elements.iter().map(|element| d.value(element, 1, ty, 64)).collect::<Result<_, _>>()?;
    finish(&d, 0, space, ty, n, strength, What::Store(values))
}

fn destinations(
    d: &Decoder<'_>,
    position: usize,
    n: usize,
    ty: Type,
) -> Result<Vec<Option<(Slot, u32)>>, ParseError> {
    let elements = d.elements(position)?;
    if elements.len() != n {
        return d.wrong(position, format!("{n} registers"));
    }
    let one = |element: &Operand| {
        let Operand::Name(name) = element else {
            return if *element == Operand::Sink {
                Ok(None)
            } else {
                d.wrong(position, "a register")
            };
        };
        match d.scope().find(name).map_err(|problem| d.error(problem))? {
            Binding::Register(slot, declared) if declared.bits() >= ty.bits() => {
                Ok(Some((slot, if ty.is_signed() { declared.bits() } else { 0 })))
            }
            _ => d.wrong(position, format!("a register of {} bits or more", ty.bits())),
        }
    };
    elements.iter().map(one).collect()
}

fn finish(
    d: &Decoder<'_>,
    at: usize,
    space: Space,
    ty: Type,
    n: usize,
    strength: Strength,
    what: What,
) -> Result<Memory, ParseError> {
    let address = d.address(at)?;
    let space = match (space, address.space) {
        (Space::Param, Some(ast::Space::Local)) => Space::Local,
        (Space::Generic, Some(named)) => match named {
            ast::Space::Global => Space::Global,
            ast::Space::Const => Space::Const,
            ast::Space::Shared => Space::Shared,
            ast::Space::Local => Space::Local,
            ast::Space::Param => Space::Param,
            ast::Space::Register => return d.wrong(at, "an address"),
        },
        (space, _) => space,
    };
    let align = ty.bytes() as usize * n;
    if !align.is_power_of_two() {
        return Err(d.error(ParseProblem::Unsupported("a vector of this size".to_owned())));
    }
    Ok(Memory::Move(Move { space, address, bytes: ty.bytes(), strength, what }))
}

fn policy(mut d: Decoder<'_>) -> Result<Memory, ParseError> {
    let priorities = [
        ("L2::evict_last", ()),
        ("L2::evict_normal", ()),
        ("L2::evict_first", ()),
        ("L2::evict_unchanged", ()),
    ];
    if d.take("cvt") {
        d.expect("L2")?;
        d.expect("b64")?;
        d.finish(2..=2)?;
        return Ok(Memory::Policy(d.destination(0, Type::B64)?));
    }
    let operands = if d.take("fractional") { 1..=2 } else { 4..=4 };
    if *operands.start() == 4 {
        d.expect("range")?;
        d.take("global");
    }
    d.required(&priorities)?;
    d.choice(&priorities);
    d.expect("b64")?;
    d.finish(operands)?;
    Ok(Memory::Policy(d.destination(0, Type::B64)?))
}

fn advice(mut d: Decoder<'_>) -> Result<Memory, ParseError> {
    d.choice(&[("global", ()), ("local", ()), ("const", ()), ("param", ())]);
    d.choice(&[("L1", ()), ("L2", ())]);
    d.choice(&[("tensormap", ()), ("L2::evict_last", ()), ("L2::evict_normal", ())]);
    d.finish(1..=2)?;
    d.address(0)?;
    Ok(Memory::Advice)
}
