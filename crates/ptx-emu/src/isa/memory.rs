//! `ld`, `ldu`, `st`; and what only advises caches: `prefetch`, `prefetchu`, `applypriority`,
//! `discard`, `createpolicy`.
//!
//! PTX ISA, "Data Movement and Conversion Instructions: ld, ld.global.nc, ldu, st, prefetch,
//! applypriority, discard, createpolicy", and "Memory Consistency Model" for what each orders.

use std::sync::Arc;

use super::Flow;
use crate::ast::{self, Instruction, Operand, Type};
use crate::asynch::footprint::Space as Bytes;
use crate::error::{ParseError, Problem as ParseProblem};
use crate::machine::registers::{Row, Slot, Source};
use crate::machine::{Cluster, Warp, lanes};
use crate::memory::published::Reach;
use crate::memory::{Order, Request, Space, Strength, shared_of};
use crate::program::{Address, Binding, Decoder, Scope};
use crate::report::{AccessKind, Stop};

/// A load or a store.
#[derive(Debug, Clone)]
pub(crate) struct Move {
    /// The space that the instruction names.
    space: Space,
    address: Address,
    /// Bytes of an element, a power of two up to 8.
    bytes: u32,
    strength: Strength,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
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
        return Ok(Some((Order::Relaxed, Reach::Gpu)));
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

/// The addresses of a warp's lanes.
#[inline]
pub(super) fn addresses(warp: &Warp, address: &Address) -> Row {
    let mut row = warp.registers.load(address.base);
    if address.offset != 0 {
        for lane in &mut row {
            *lane = lane.wrapping_add_signed(address.offset);
        }
    }
    row
}

/// Whether any lane's access can meet an operation in flight: a first look at all of them together.
#[inline]
pub(super) fn may_be_pending(
    warp: &Warp,
    cluster: &Cluster,
    space: Space,
    addresses: &Row,
    mask: u32,
    bytes: u64,
    kind: AccessKind,
) -> bool {
    if cluster.operations.pending().is_empty() {
        return false;
    }
    let touched = lanes(mask).map(|lane| addresses[lane]);
    let (least, most) = touched.fold((u64::MAX, 0), |(a, b), at| (a.min(at), b.max(at)));
    let ((cta, start), (last_cta, end)) = match space {
        Space::Local | Space::Param | Space::Const => return false,
        Space::Generic => return true,
        Space::Global => {
            return cluster
                .check_pending(Bytes::Global, kind, least, most.saturating_add(bytes))
                .is_err();
        }
        Space::Shared | Space::SharedCluster => {
            (shared_of(least, warp.rank()), shared_of(most, warp.rank()))
        }
    };
    let end = u64::from(end) + bytes;
    cta != last_cta
        || cluster.check_pending(Bytes::Shared(cta), kind, u64::from(start), end).is_err()
}

impl Memory {
    /// Executes it for the lanes in `mask`.
    pub(super) fn execute(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<Flow, Stop> {
        match self {
            Self::Move(access) => match &access.what {
                What::Load(to) => access.load(to, warp, cluster, mask)?,
                What::Store(from) => access.store(from, warp, cluster, mask)?,
            },
            Self::Policy(to) => warp.registers.store(*to, &[0; 32], mask),
            Self::Advice => {}
        }
        Ok(Flow::Next)
    }
}

impl Move {
    fn load(
        &self,
        to: &[Option<(Slot, u32)>],
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<(), Stop> {
        let at = addresses(warp, &self.address);
        let total = u64::from(self.bytes) * to.len() as u64;
        if self.space == Space::Param && matches!(self.address.base, Source::Constant(_)) {
            return self.load_param(to, warp, cluster, at[0], mask);
        }
        let kind = AccessKind::Read;
        let context = Arc::clone(&cluster.context);
        let pending = may_be_pending(warp, cluster, self.space, &at, mask, total, kind);
        let strong = self.strength.is_some();
        let request = Request { bytes: total, kind, strong, pending };
        let mut rows = [[0; 32]; 8];
        for lane in lanes(mask) {
            let align = total as u32;
            let target = context
                .resolve(warp.rank(), self.space, at[lane], total, align, kind)
                .map_err(|problem| problem.at(lane as u32))?;
            cluster.admit(warp, lane, &target, request)?;
            cluster.check_initialized(&target, total).map_err(|problem| problem.at(lane as u32))?;
            for (i, row) in rows.iter_mut().take(to.len()).enumerate() {
                let element = target.plus(i as u32 * self.bytes);
                row[lane] = cluster.load(warp, lane, &element, self.bytes);
            }
            if let Some(strength) = self.strength {
                cluster.learn(warp, lane, &target, strength);
            }
        }
        self.set(to, &mut rows, warp, mask);
        Ok(())
    }

    /// A parameter is the same for all lanes, and nobody writes it.
    fn load_param(
        &self,
        to: &[Option<(Slot, u32)>],
        warp: &mut Warp,
        cluster: &Cluster,
        at: u64,
        mask: u32,
    ) -> Result<(), Stop> {
        let lane = mask.trailing_zeros();
        let total = u64::from(self.bytes) * to.len() as u64;
        let target = cluster
            .context
            .resolve(warp.rank(), self.space, at, total, self.bytes, AccessKind::Read)
            .map_err(|problem| problem.at(lane))?;
        let mut rows = [[0; 32]; 8];
        for (i, row) in rows.iter_mut().take(to.len()).enumerate() {
            let element = target.plus(i as u32 * self.bytes);
            *row = [cluster.load(warp, 0, &element, self.bytes); 32];
        }
        self.set(to, &mut rows, warp, mask);
        Ok(())
    }

    fn set(&self, to: &[Option<(Slot, u32)>], rows: &mut [Row; 8], warp: &mut Warp, mask: u32) {
        for (to, row) in to.iter().zip(rows) {
            if let Some((slot, extended)) = *to {
                if extended > self.bytes * 8 {
                    for value in row.iter_mut() {
                        *value = sign_extend(*value, self.bytes * 8, extended);
                    }
                }
                warp.registers.store(slot, row, mask);
            }
        }
    }

    fn store(
        &self,
        from: &[Source],
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<(), Stop> {
        let at = addresses(warp, &self.address);
        let total = u64::from(self.bytes) * from.len() as u64;
        let kind = AccessKind::Write;
        let context = Arc::clone(&cluster.context);
        let pending = may_be_pending(warp, cluster, self.space, &at, mask, total, kind);
        let strong = self.strength.is_some();
        let request = Request { bytes: total, kind, strong, pending };
        for lane in lanes(mask) {
            let align = total as u32;
            let target = context
                .resolve(warp.rank(), self.space, at[lane], total, align, kind)
                .map_err(|problem| problem.at(lane as u32))?;
            if let Err(stop) = cluster.admit(warp, lane, &target, request) {
                // Lanes of one instruction may store the same value to the same place.
                let same = |other: usize| {
                    at[other] == at[lane]
                        && from.iter().all(|&value| {
                            warp.registers.value(value, other) == warp.registers.value(value, lane)
                        })
                };
                if lanes(mask & ((1 << lane) - 1)).any(same) {
                    continue;
                }
                return Err(stop);
            }
            if let Some(strength) = self.strength {
                cluster.tell(warp, lane, &target, strength, true);
            }
            for (i, source) in from.iter().enumerate() {
                let value = warp.registers.value(*source, lane);
                let element = target.plus(i as u32 * self.bytes);
                cluster.store(warp, lane, &element, self.bytes, value);
            }
        }
        Ok(())
    }
}

/// The low `bits` bits as a signed number of `to` bits.
fn sign_extend(value: u64, bits: u32, to: u32) -> u64 {
    let wide = (value << (64 - bits)) as i64 >> (64 - bits);
    wide as u64 & u64::MAX >> (64 - to)
}
