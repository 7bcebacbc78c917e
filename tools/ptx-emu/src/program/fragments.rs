//! Which instructions touch registers that a `wgmma` of the kernel uses.

use std::collections::HashSet;

use super::flatten::{Flattener, Placed};
use super::scope::{Binding, Names, Scope};
use crate::ast::Operand;
use crate::asynch::fragments::Touched;
use crate::isa::Op;
use crate::isa::wgmma::{OperandA, Wgmma};
use crate::machine::Code;
use crate::machine::registers::{Slot, Source};

/// Notes with each instruction what it does to such registers, and to those that they are copied to
/// or from.
pub(super) fn mark(code: &mut [Code], flat: &Flattener<'_, '_>) {
    let mut used: HashSet<Slot> = HashSet::new();
    let mut metadata: HashSet<Slot> = HashSet::new();
    for instruction in &*code {
        if let Op::Wgmma(Wgmma::Multiply(multiply)) = &instruction.op {
            used.extend(&multiply.d);
            if let OperandA::Registers(slots) = &multiply.a {
                used.extend(slots);
            }
            if let Some(Source::Slot(slot)) = multiply.metadata {
                metadata.insert(slot);
            }
        }
    }
    if used.is_empty() {
        return;
    }
    let all: Vec<Touched> = flat.steps.iter().map(|placed| touched(placed, &flat.names)).collect();
    super::metadata::mark(code, &all);
    let mut before = 0;
    while before < used.len() {
        before = used.len();
        for touched in all.iter().filter(|touched| touched.copies) {
            let both = || touched.reads.iter().chain(&touched.writes);
            if both().any(|slot| used.contains(slot)) {
                used.extend(both());
            }
        }
    }
    for (instruction, mut touched) in code.iter_mut().zip(all) {
        let keep = |slots: &[Slot], also: &HashSet<Slot>| {
            slots.iter().copied().filter(|it| used.contains(it) || also.contains(it)).collect()
        };
        // Metadata may be read by anybody at any time.
        touched.reads = keep(&touched.reads, &HashSet::new());
        touched.writes = keep(&touched.writes, &metadata);
        let any = !touched.reads.is_empty() || !touched.writes.is_empty();
        if any && !matches!(instruction.op, Op::Wgmma(_)) {
            instruction.fragments = Some(Box::new(touched));
        }
    }
}

fn touched(placed: &Placed<'_>, names: &Names) -> Touched {
    let scope = Scope::new(names, placed.scope);
    let instruction = &*placed.instruction;
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    let only_reads =
        matches!(instruction.opcode.as_str(), "bar" | "barrier" | "brx" | "nanosleep" | "call");
    for (position, operand) in instruction.operands.iter().enumerate() {
        let written = position == 0
            && !only_reads
            && matches!(operand, Operand::Name(_) | Operand::Vector(_) | Operand::Pair(..));
        slots(operand, &scope, if written { &mut writes } else { &mut reads });
    }
    let copies = instruction.opcode == "mov"
        && matches!(instruction.operands[..], [Operand::Name(_), Operand::Name(_)])
        && reads.len() == 1
        && writes.len() == 1;
    Touched { reads: reads.into(), writes: writes.into(), copies }
}

fn slots(operand: &Operand, scope: &Scope<'_>, into: &mut Vec<Slot>) {
    match operand {
        Operand::Name(name) | Operand::Moved(name, _) => {
            if let Ok(Binding::Register(slot, _)) = scope.find(name) {
                into.push(slot);
            }
        }
        Operand::Address { base, .. } => slots(base, scope, into),
        Operand::Tensor { map, coordinates } => {
            slots(map, scope, into);
            coordinates.iter().for_each(|operand| slots(operand, scope, into));
        }
        Operand::Vector(operands) | Operand::List(operands) => {
            operands.iter().for_each(|operand| slots(operand, scope, into));
        }
        Operand::Pair(a, b) => {
            slots(a, scope, into);
            slots(b, scope, into);
        }
        Operand::Not(inner) => slots(inner, scope, into),
        Operand::Integer(_) | Operand::Single(_) | Operand::Double(_) | Operand::Sink => {}
    }
}
