//! `cp.async.bulk`, `cp.reduce.async.bulk`: copies of byte ranges, and the groups that they and
//! tensor copies form.
//!
//! PTX ISA, "Data Movement and Conversion Instructions: Bulk copy".

use crate::ast::{Instruction, Type};
use crate::asynch::reduce::{Reduce, Reduction};
use crate::error::{ParseError, Problem};
use crate::machine::registers::Source;
use crate::program::{Address, Decoder, Scope};

use super::window::Window;

/// An instruction of the family.
#[derive(Debug, Clone)]
pub(crate) enum Bulk {
    /// A copy or a reduction.
    Copy(BulkCopy),
    /// `cp.async.bulk.prefetch.L2`: no effect but its checks.
    Prefetch { from: Address, bytes: Source },
    /// `cp.async.bulk.commit_group`.
    Commit,
    /// `cp.async.bulk.wait_group`: all but the newest groups; `.read`: until their sources are
    /// read.
    Wait { newest: u32, read: bool },
}

/// A copy or a reduction of a byte range.
#[derive(Debug, Clone)]
pub(crate) struct BulkCopy {
    pub(crate) to: Address,
    pub(crate) to_window: Window,
    pub(crate) from: Address,
    pub(crate) from_window: Window,
    pub(crate) bytes: Source,
    /// How completion is told.
    pub(crate) completion: Completion,
    /// `.multicast::cluster`: the ranks that receive the bytes.
    pub(crate) multicast: Option<Source>,
    /// `.cp_mask`: which of every 16 bytes are copied.
    pub(crate) byte_mask: Option<Source>,
    /// How the destination is combined with the bytes, instead of overwritten.
    pub(crate) reduce: Option<Reduce>,
}

/// How the end of a bulk operation is told.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Completion {
    /// Transactions of the mbarrier in the CTA that receives the bytes.
    Mbarrier(Address),
    /// The bulk group of the thread.
    Group,
}

/// Decodes `cp.async.bulk…` other than tensor copies, and `cp.reduce.async.bulk…`.
pub(crate) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Bulk, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    let reduces = d.take("reduce");
    d.expect("async")?;
    d.expect("bulk")?;
    if reduces {
        return copy(d, true);
    }
    match d.peek() {
        Some("commit_group") => {
            d.next();
            d.finish(0..=0)?;
            Ok(Bulk::Commit)
        }
        Some("wait_group") => {
            d.next();
            let read = d.take("read");
            d.finish(1..=1)?;
            Ok(Bulk::Wait { newest: super::immediate(&d, 0)?, read })
        }
        Some("prefetch") => {
            d.next();
            d.expect("L2")?;
            d.expect("global")?;
            let policy = d.take("L2::cache_hint");
            d.finish(2 + usize::from(policy)..=2 + usize::from(policy))?;
            Ok(Bulk::Prefetch { from: d.address(0)?, bytes: d.source(1, Type::U32)? })
        }
        _ => copy(d, false),
    }
}

fn copy(mut d: Decoder<'_>, reduces: bool) -> Result<Bulk, ParseError> {
    let spaces = [
        ("shared::cluster", Window::Cluster),
        ("shared::cta", Window::Cta),
        ("global", Window::Global),
    ];
    let to_window = d.required(&spaces)?;
    let from_window = d.required(&spaces)?;
    let legal = matches!(
        (to_window, from_window),
        (Window::Cluster | Window::Cta, Window::Global)
            | (Window::Cluster, Window::Cta)
            | (Window::Global, Window::Cta)
    );
    if !legal || (reduces && from_window != Window::Cta) {
        return Err(d.error(Problem::Invalid("no copy between these spaces".to_owned())));
    }
    let by_mbarrier = to_window != Window::Global;
    d.expect(if by_mbarrier { "mbarrier::complete_tx::bytes" } else { "bulk_group" })?;
    let multicast = to_window == Window::Cluster
        && from_window == Window::Global
        && d.take("multicast::cluster");
    let policy = from_window != to_window
        && (from_window == Window::Global || to_window == Window::Global)
        && d.take("L2::cache_hint");
    let masked = !by_mbarrier && !reduces && d.take("cp_mask");
    let reduce = if reduces { Some(reduction(&mut d, by_mbarrier)?) } else { None };
    let extra = usize::from(multicast) + usize::from(policy) + usize::from(masked);
    let fixed = if by_mbarrier { 4 } else { 3 };
    d.finish(fixed + extra..=fixed + extra)?;
    // Multicast and policy, or policy and byte mask: no form has all three.
    let multicast = if multicast { Some(d.source(fixed, Type::U16)?) } else { None };
    if policy {
        d.source(fixed + usize::from(multicast.is_some()), Type::B64)?;
    }
    let byte_mask = if masked { Some(d.source(fixed + extra - 1, Type::U16)?) } else { None };
    let completion =
        if by_mbarrier { Completion::Mbarrier(d.address(3)?) } else { Completion::Group };
    Ok(Bulk::Copy(BulkCopy {
        to: d.address(0)?,
        to_window,
        from: d.address(1)?,
        from_window,
        bytes: d.source(2, Type::U32)?,
        completion,
        multicast,
        byte_mask,
        reduce,
    }))
}

/// `.add.f32` and the like.
fn reduction(d: &mut Decoder<'_>, shared: bool) -> Result<Reduce, ParseError> {
    let operation = d.required(&REDUCTIONS)?;
    let keeps_subnormals = d.take("noftz");
    let ty = d.ty()?;
    let reduce = Reduce::new(operation, ty)
        .filter(|_| {
            keeps_subnormals == matches!(ty, Type::F16 | Type::Bf16) || operation != Reduction::Add
        })
        .filter(|_| {
            !shared || !(ty.is_float() || (ty.bits() == 64 && operation != Reduction::Add))
        });
    reduce.ok_or_else(|| d.error(Problem::Unsupported(format!("this reduction of {ty}"))))
}

/// The reductions by name.
pub(super) const REDUCTIONS: [(&str, Reduction); 8] = [
    ("add", Reduction::Add),
    ("min", Reduction::Min),
    ("max", Reduction::Max),
    ("inc", Reduction::Increment),
    ("dec", Reduction::Decrement),
    ("and", Reduction::And),
    ("or", Reduction::Or),
    ("xor", Reduction::Xor),
];
