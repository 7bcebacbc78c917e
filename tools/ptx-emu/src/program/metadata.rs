//! Registers of metadata that die while a sparse `wgmma` still reads them.
//!
//! `wgmma.mma_async.sp` reads the register of its metadata until its group was waited for. `ptxas` keeps
//! registers of A and of accumulators until then, but takes metadata for read where the instruction
//! stands: where that is the last use of a virtual register, its register may go to another value that
//! is computed before the wait. A card then multiplies by other metadata. Here virtual registers are
//! never shared, so lifetimes are checked instead, once for each program: on no way from the `wgmma` to
//! the wait that ends it may anything be computed where nobody will read the register of metadata again.

use std::collections::{BTreeSet, HashMap};

use crate::asynch::fragments::Touched;
use crate::isa::Op;
use crate::isa::control::Control;
use crate::isa::wgmma::Wgmma;
use crate::machine::Code;
use crate::machine::registers::{Slot, Source};

/// Groups that a way through the code is followed for; `wait_group` leaves fewer under way.
const MOST_GROUPS: u32 = 64;

/// Notes with each sparse `wgmma` the wait at which its metadata are dead, if there is one.
pub(super) fn mark(code: &mut [Code], touched: &[Touched]) {
    let mut lives: HashMap<Slot, Vec<bool>> = HashMap::new();
    let mut before: Option<Vec<Vec<u32>>> = None;
    let mut found = Vec::new();
    for (pc, instruction) in code.iter().enumerate() {
        let Op::Wgmma(Wgmma::Multiply(multiply)) = &instruction.op else { continue };
        let Some(Source::Slot(slot)) = multiply.metadata else { continue };
        let before = before.get_or_insert_with(|| predecessors(code));
        let live = lives.entry(slot).or_insert_with(|| live_before(slot, code, touched, before));
        if let Some(wait) = dead_at(pc as u32, code, touched, live) {
            found.push((pc, wait));
        }
    }
    for (pc, wait) in found {
        if let Op::Wgmma(Wgmma::Multiply(multiply)) = &mut code[pc].op {
            multiply.dead_at = Some(wait);
        }
    }
}

/// Where control may go from an instruction.
fn successors(code: &[Code], pc: u32) -> Vec<u32> {
    let instruction = &code[pc as usize];
    let (mut to, ends) = match &instruction.op {
        Op::Control(Control::Branch { target }) => (vec![*target], true),
        Op::Control(Control::Indexed { targets, .. }) => (targets.clone(), true),
        Op::Control(Control::Exit | Control::Trap) => (Vec::new(), true),
        _ => (Vec::new(), false),
    };
    let next = pc + 1;
    if (!ends || instruction.guard.is_some()) && (next as usize) < code.len() {
        to.push(next);
    }
    to
}

fn predecessors(code: &[Code]) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new(); code.len()];
    for pc in 0..code.len() as u32 {
        for next in successors(code, pc) {
            all[next as usize].push(pc);
        }
    }
    all
}

/// Before which instructions a register's value may still be read.
fn live_before(
    slot: Slot,
    code: &[Code],
    touched: &[Touched],
    predecessors: &[Vec<u32>],
) -> Vec<bool> {
    let mut live = vec![false; code.len()];
    let reads = |pc: &u32| touched[*pc as usize].reads.contains(&slot);
    let mut left: Vec<u32> = (0..code.len() as u32).filter(reads).collect();
    while let Some(pc) = left.pop() {
        if std::mem::replace(&mut live[pc as usize], true) {
            continue;
        }
        left.extend(predecessors[pc as usize].iter().copied().filter(|&before| {
            let overwrites = code[before as usize].guard.is_none()
                && touched[before as usize].writes.contains(&slot);
            !overwrites && !live[before as usize]
        }));
    }
    live
}

/// The wait for a `wgmma` before which something is computed where its metadata are dead already.
fn dead_at(issue: u32, code: &[Code], touched: &[Touched], live: &[bool]) -> Option<u32> {
    let mut seen = BTreeSet::new();
    // Where, groups committed since, and whether something may have taken the register.
    let mut left: Vec<(u32, u32, bool)> =
        successors(code, issue).into_iter().map(|next| (next, 0, false)).collect();
    while let Some(state @ (pc, mut groups, mut taken)) = left.pop() {
        if !seen.insert(state) {
            continue;
        }
        let next = successors(code, pc);
        match &code[pc as usize].op {
            Op::Wgmma(Wgmma::Commit) => groups = (groups + 1).min(MOST_GROUPS),
            Op::Wgmma(Wgmma::Wait(newest)) if groups > *newest => {
                if taken {
                    return Some(pc);
                }
                continue;
            }
            Op::Wgmma(_) => {}
            _ => {
                let dead = next.iter().all(|&next| !live[next as usize]);
                taken |= dead && !touched[pc as usize].writes.is_empty();
            }
        }
        left.extend(next.into_iter().map(|next| (next, groups, taken)));
    }
    None
}
