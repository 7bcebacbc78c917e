//! `atom` and `red`.
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions: atom, red". Lanes of one
//! instruction are served in their order.

use std::cell::Cell;
use std::sync::Arc;

use super::Flow;
use super::memory::{SCOPES, cache, space};
use super::memory_run::{addresses, may_be_pending};
use crate::ast::{Instruction, Operand, Type};
use crate::asynch::reduce::{Reduce, Reduction};
use crate::error::ParseError;
use crate::machine::registers::{Slot, Source};
use crate::machine::spin::Digest;
use crate::machine::{Cluster, Warp, lanes};
use crate::memory::published::Reach;
use crate::memory::{Order, Request, Space, Target};
use crate::num::{Mode, single};
use crate::program::{Address, Decoder, Scope};
use crate::report::{AccessKind, Stop};

/// An atomic operation on one element, or on each of several.
#[derive(Debug, Clone)]
pub(crate) struct Atomic {
    space: Space,
    address: Address,
    strength: (Order, Reach),
    /// Bytes of an element: 2, 4 or 8.
    bytes: u32,
    change: Change,
    /// For each element: where the old value goes, and the operand.
    elements: Vec<(Option<Slot>, Source)>,
    /// `cas`: what is stored if the old value equals the operand.
    swap: Option<Source>,
}

#[derive(Debug, Clone, Copy)]
enum Change {
    Exchange,
    Compare,
    Reduce(Reduce),
    /// `.f16x2`, `.bf16x2`: each half by itself.
    Halves(Reduce),
    /// `.add.f32`, which flushes subnormal numbers in global memory and not in shared.
    AddSingle,
}

/// Decodes an instruction of this family.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Atomic, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    let returns = instruction.opcode == "atom";
    let Modifiers { order, reach, space, operation } = modifiers(&mut d);
    if !matches!(space, Space::Generic | Space::Global | Space::Shared | Space::SharedCluster) {
        return d.unsupported("an atomic operation outside of global and shared memory");
    }
    let keeps_subnormals = d.take("noftz");
    let policy = cache(&mut d, false);
    let n = d.choice(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let ty = d.ty()?;
    let change = change(&d, operation, ty, keeps_subnormals)?;
    if n > 1 && !matches!(change, Change::AddSingle | Change::Halves(_)) && ty.bits() != 16 {
        return d.unsupported("a vector of this type");
    }
    let swaps = matches!(change, Change::Compare);
    let first = usize::from(returns);
    let operands = first + 2 + usize::from(swaps) + usize::from(policy);
    d.finish(operands..=operands)?;
    let values = d.elements(first + 1)?;
    if values.len() != n {
        return d.wrong(first + 1, format!("{n} values"));
    }
    let olds = if returns { Some(d.elements(0)?) } else { None };
    if olds.is_some_and(|olds| olds.len() != n) {
        return d.wrong(0, format!("{n} registers"));
    }
    let mut elements = Vec::with_capacity(n);
    for (i, value) in values.iter().enumerate() {
        let to = match olds.map(|olds| &olds[i]) {
            None | Some(Operand::Sink) => None,
            Some(to) => Some(d.register(to, 0, ty.bits()..=ty.bits())?),
        };
        elements.push((to, d.value(value, first + 1, ty, ty.bits())?));
    }
    let swap = if swaps { Some(d.source(first + 2, ty)?) } else { None };
    if policy {
        d.source(operands - 1, Type::B64)?;
    }
    let address = d.address(first)?;
    let strength = (order, reach);
    Ok(Atomic { space, address, strength, bytes: ty.bytes(), change, elements, swap })
}

struct Modifiers<'a> {
    order: Order,
    reach: Reach,
    space: Space,
    operation: Option<&'a str>,
}

const ORDERS: [(&str, Order); 4] = [
    ("relaxed", Order::Relaxed),
    ("acquire", Order::Acquire),
    ("release", Order::Release),
    ("acq_rel", Order::AcquireRelease),
];

const OPERATIONS: [&str; 10] =
    ["exch", "cas", "add", "min", "max", "inc", "dec", "and", "or", "xor"];

/// Order, scope, space and operation, each at most once. The ISA's syntax has them in this order,
/// but compilers also write `atom.global.cta.add` and `atom.add.acquire.cta`, and assemblers take
/// them.
fn modifiers<'a>(d: &mut Decoder<'a>) -> Modifiers<'a> {
    let (mut order, mut reach, mut place, mut operation) = (None, None, None, None);
    while let Some(next) = d.peek() {
        if order.is_none() && ORDERS.iter().any(|(name, _)| *name == next) {
            order = d.choice(&ORDERS);
        } else if reach.is_none() && SCOPES.iter().any(|(name, _)| *name == next) {
            reach = d.choice(&SCOPES);
        } else if operation.is_none() && OPERATIONS.contains(&next) {
            operation = d.next();
        } else if place.is_none() {
            match space(d) {
                Space::Generic => break,
                found => place = Some(found),
            }
        } else {
            break;
        }
    }
    Modifiers {
        order: order.unwrap_or(Order::Relaxed),
        reach: reach.unwrap_or(Reach::Gpu),
        space: place.unwrap_or(Space::Generic),
        operation,
    }
}

fn change(
    d: &Decoder<'_>,
    operation: Option<&str>,
    ty: Type,
    keeps_subnormals: bool,
) -> Result<Change, ParseError> {
    let refuse = || d.unsupported(format!("this operation on {ty}"));
    let bits = matches!(ty, Type::B16 | Type::B32 | Type::B64 | Type::U32 | Type::U64)
        || matches!(ty, Type::S32 | Type::S64 | Type::F32 | Type::F64);
    let reduction = match operation {
        Some("exch") if bits && ty.bits() >= 32 => return Ok(Change::Exchange),
        Some("cas") if bits => return Ok(Change::Compare),
        Some("add") => Reduction::Add,
        Some("min") => Reduction::Min,
        Some("max") => Reduction::Max,
        Some("inc") => Reduction::Increment,
        Some("dec") => Reduction::Decrement,
        Some("and") => Reduction::And,
        Some("or") => Reduction::Or,
        Some("xor") => Reduction::Xor,
        _ => return refuse(),
    };
    let half = match ty {
        Type::F16x2 => Some(Type::F16),
        Type::Bf16x2 => Some(Type::Bf16),
        _ => None,
    };
    let small = half.unwrap_or(ty);
    if keeps_subnormals != matches!(small, Type::F16 | Type::Bf16) {
        return refuse();
    }
    match (Reduce::new(reduction, small), half, ty) {
        (Some(reduce), Some(_), _) => Ok(Change::Halves(reduce)),
        (Some(_), None, Type::F32) => Ok(Change::AddSingle),
        (Some(reduce), None, _) => Ok(Change::Reduce(reduce)),
        (None, ..) => refuse(),
    }
}

impl Atomic {
    /// Executes it for the lanes in `mask`.
    pub(super) fn execute(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<Flow, Stop> {
        let at = addresses(warp, &self.address);
        let total = u64::from(self.bytes) * self.elements.len() as u64;
        let kind = AccessKind::Atomic;
        let context = Arc::clone(&cluster.context);
        let pending = may_be_pending(cluster, self.space, &at, mask, total, kind);
        let (mut changed, mut found) = (false, Digest::default());
        let request = Request { bytes: total, kind, strong: true, volatile: false, pending };
        for lane in lanes(mask) {
            let target = context
                .resolve(warp.rank(), self.space, at[lane], total, total as u32, kind)
                .map_err(|problem| problem.at(lane as u32))?;
            cluster.admit(warp, lane, &target, request)?;
            cluster.check_initialized(&target, total).map_err(|problem| problem.at(lane as u32))?;
            cluster.in_one_step(&target, |cluster, told| {
                cluster.learn(warp, lane, &target, self.strength, told);
                cluster.tell(warp, lane, &target, self.strength, false, told);
                changed |= self.change_elements(warp, cluster, lane, &target, &mut found);
            });
        }
        // One that changes nothing is a look, like a load.
        if changed {
            warp.spin.acted();
        } else {
            warp.spin.looked(warp.pc(), mask, found);
            if warp.spin.is_in_vain() {
                return Ok(Flow::Yield);
            }
        }
        Ok(Flow::Next)
    }

    /// Changes the elements of a lane, and adds the old ones to those found; whether any is another now.
    fn change_elements(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        lane: usize,
        target: &Target<'_>,
        found: &mut Digest,
    ) -> bool {
        let mut changed = false;
        let global = matches!(target, Target::Global { .. });
        for (i, &(to, operand)) in self.elements.iter().enumerate() {
            let element = target.plus(i as u32 * self.bytes);
            let operand = warp.registers.value(operand, lane);
            let swap = self.swap.map_or(0, |swap| warp.registers.value(swap, lane));
            let new = Cell::new(0);
            let old = cluster.update(&element, self.bytes, |old| {
                new.set(self.new_value(old, operand, swap, global));
                new.get()
            });
            if let Some(to) = to {
                warp.registers.set(to, lane, old);
            }
            changed |= new.get() != old;
            found.add(old);
        }
        changed
    }

    fn new_value(&self, old: u64, operand: u64, swap: u64, global: bool) -> u64 {
        match self.change {
            Change::Exchange => operand,
            Change::Compare => {
                if old == operand {
                    swap
                } else {
                    old
                }
            }
            Change::Reduce(reduce) => reduce.apply(old, operand),
            Change::Halves(reduce) => {
                let low = reduce.apply(old & 0xFFFF, operand & 0xFFFF);
                low | reduce.apply(old >> 16, operand >> 16) << 16
            }
            Change::AddSingle => {
                let mode = Mode { ftz: global, ..Mode::NEAREST };
                u64::from(single::add(old as u32, operand as u32, mode))
            }
        }
    }
}
