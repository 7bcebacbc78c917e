//! Families that compute registers from registers, instruction by instruction.

mod convert;
mod float;
mod integer;
mod logic;
mod refused;

use super::Op;
use crate::ast::Statement;
use crate::error::ParseError;
use crate::machine::registers::Registers;
use crate::parse;
use crate::program::{Binding, Names, Scope};

const REGISTERS: &str = ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>;";

/// A thread's registers after some instructions, all lanes alike.
pub(super) struct Ran {
    names: Names,
    registers: Registers,
}

/// Decodes instructions and executes them after setting registers: `%p` by 0 and 1.
pub(super) fn run(instructions: &str, inputs: &[(&str, u64)]) -> Result<Ran, ParseError> {
    let text = format!(".version 8.7 .entry k() {{ {REGISTERS} {instructions} }}");
    let module = parse::module(&text)?;
    let names = Names::new(Default::default());
    let mut ops = Vec::new();
    for statement in module.functions[0].body.as_ref().unwrap() {
        match statement {
            Statement::Registers(registers) => {
                for (name, count) in &registers.names {
                    names.registers(0, name, count.unwrap(), registers.ty).unwrap();
                }
            }
            Statement::Instruction(instruction) => {
                ops.push(super::decode(instruction, &Scope::new(&names, 0))?);
            }
            _ => unreachable!("only registers and instructions"),
        }
    }
    for (name, _) in inputs {
        names.find(0, name).unwrap();
    }
    let mut registers = Registers::new(names.n_rows() as usize, names.n_predicates() as usize);
    for (name, bits) in inputs {
        match names.find(0, name).unwrap() {
            Binding::Register(slot, _) => registers.store(slot, &[*bits; 32], u32::MAX),
            Binding::Predicate(p) => {
                registers.set_predicate(p, if *bits == 0 { 0 } else { u32::MAX }, u32::MAX);
            }
            _ => unreachable!("only registers"),
        }
    }
    for op in &ops {
        match op {
            Op::Data(compute) => compute(&mut registers, u32::MAX),
            other => panic!("{other:?} needs a machine"),
        }
    }
    Ok(Ran { names, registers })
}

impl Ran {
    /// The value of a register, or 0 and 1 for a predicate.
    pub(super) fn get(&self, name: &str) -> u64 {
        match self.names.find(0, name).unwrap() {
            Binding::Register(slot, _) => {
                let row = self.registers.row(slot);
                assert!(row.iter().all(|bits| bits == &row[0]), "lanes differ");
                row[0]
            }
            Binding::Predicate(p) => match self.registers.predicate(p) {
                0 => 0,
                u32::MAX => 1,
                other => panic!("lanes differ: {other:x}"),
            },
            _ => unreachable!("only registers"),
        }
    }
}

/// The value of the first register of an instruction, with `%r1`, `%d1`, … given.
#[track_caller]
pub(super) fn eval(instruction: &str, inputs: &[(&str, u64)]) -> u64 {
    let to = instruction
        .split_whitespace()
        .nth(1)
        .unwrap()
        .trim_matches(&['{', ',', ';'][..])
        .split('|')
        .next()
        .unwrap()
        .to_owned();
    run(instruction, inputs).unwrap_or_else(|error| panic!("{error}")).get(&to)
}

/// Checks `%r0` of instructions on `%r1`, `%r2`, `%r3`.
#[track_caller]
pub(super) fn words(instruction: &str, inputs: &[u64], expected: u64) {
    let names = ["%r1", "%r2", "%r3", "%r4"];
    let inputs: Vec<_> = names.into_iter().zip(inputs.iter().copied()).collect();
    let found = eval(instruction, &inputs);
    assert_eq!(found, expected, "{instruction} {inputs:x?}: {found:x}, not {expected:x}");
}

/// Checks `%d0` of instructions on `%d1`, `%d2`, `%d3`.
#[track_caller]
pub(super) fn doubles(instruction: &str, inputs: &[u64], expected: u64) {
    let names = ["%d1", "%d2", "%d3"];
    let inputs: Vec<_> = names.into_iter().zip(inputs.iter().copied()).collect();
    let found = eval(instruction, &inputs);
    assert_eq!(found, expected, "{instruction} {inputs:x?}: {found:x}, not {expected:x}");
}

/// Checks `%h0` of instructions on `%h1`, `%h2`, `%h3`.
#[track_caller]
pub(super) fn halves(instruction: &str, inputs: &[u64], expected: u64) {
    let names = ["%h1", "%h2", "%h3"];
    let inputs: Vec<_> = names.into_iter().zip(inputs.iter().copied()).collect();
    let found = eval(instruction, &inputs);
    assert_eq!(found, expected, "{instruction} {inputs:x?}: {found:x}, not {expected:x}");
}

#[test]
fn lanes_outside_of_the_mask_keep_their_values() {
    let text = format!(
        ".version 8.7 .entry k() {{ {REGISTERS} add.s32 %r0, %r1, 1; setp.eq.s32 %p0, %r1, %r1; }}"
    );
    let module = parse::module(&text).unwrap();
    let names = Names::new(Default::default());
    for stem in [("%r", crate::ast::Type::B32), ("%p", crate::ast::Type::Pred)] {
        names.registers(0, stem.0, 8, stem.1).unwrap();
    }
    let mut ops = Vec::new();
    for statement in module.functions[0].body.as_ref().unwrap() {
        if let Statement::Instruction(instruction) = statement {
            ops.push(super::decode(instruction, &Scope::new(&names, 0)).unwrap());
        }
    }
    for mask in [0, 1, 0x8000_0001, 0x00FF_00FF, u32::MAX] {
        let mut registers = Registers::new(names.n_rows() as usize, 1);
        for op in &ops {
            let Op::Data(compute) = op else { unreachable!() };
            compute(&mut registers, mask);
        }
        let Ok(Binding::Register(to, _)) = names.find(0, "%r0") else { unreachable!() };
        let Ok(Binding::Predicate(p)) = names.find(0, "%p0") else { unreachable!() };
        let written: u32 =
            registers.row(to).iter().enumerate().map(|(lane, bits)| (*bits as u32) << lane).sum();
        assert_eq!((written, registers.predicate(p)), (mask, mask));
    }
}
