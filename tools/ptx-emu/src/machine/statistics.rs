//! What a launch executed.

use std::collections::BTreeMap;

use super::{Code, Kernel};

/// Executions by instruction.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    /// Of a warp, and of its threads.
    by_pc: Vec<(u64, u64)>,
}

impl Counts {
    pub(super) fn new(kernel: &Kernel) -> Self {
        Self { by_pc: vec![(0, 0); kernel.code.len()] }
    }

    #[inline]
    pub(super) fn add(&mut self, pc: u32, mask: u32) {
        let (warps, threads) = &mut self.by_pc[pc as usize];
        *warps += 1;
        *threads += u64::from(mask.count_ones());
    }

    pub(super) fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.by_pc.iter_mut().zip(&other.by_pc) {
            mine.0 += theirs.0;
            mine.1 += theirs.1;
        }
    }
}

/// How often an instruction was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Executions {
    /// By warps.
    pub warps: u64,
    /// By threads: a warp's execution counts once for each lane whose guard held.
    pub threads: u64,
}

/// What a launch executed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics {
    /// All instructions.
    pub total: Executions,
    /// By opcode with its modifiers, as written.
    pub by_opcode: BTreeMap<String, Executions>,
}

impl Statistics {
    pub(super) fn new(kernel: &Kernel, counts: &Counts) -> Self {
        let Opcodes { names, by_pc } = &kernel.opcodes;
        let mut by_opcode = vec![Executions::default(); names.len()];
        for (&opcode, &(warps, threads)) in by_pc.iter().zip(&counts.by_pc) {
            let executions = &mut by_opcode[opcode as usize];
            executions.warps += warps;
            executions.threads += threads;
        }
        let mut statistics = Self::default();
        for (name, executions) in names.iter().zip(by_opcode).filter(|(_, it)| it.warps != 0) {
            statistics.total.warps += executions.warps;
            statistics.total.threads += executions.threads;
            statistics.by_opcode.insert(name.clone(), executions);
        }
        statistics
    }
}

/// The opcodes of a kernel with their modifiers, as written.
#[derive(Debug)]
pub(crate) struct Opcodes {
    names: Vec<String>,
    /// Which of them an instruction has.
    by_pc: Vec<u32>,
}

impl Opcodes {
    pub(crate) fn new(code: &[Code]) -> Self {
        let mut known: BTreeMap<&str, u32> = BTreeMap::new();
        let mut by_pc = Vec::with_capacity(code.len());
        for code in code {
            let next = known.len() as u32;
            by_pc.push(*known.entry(opcode(&code.location.text)).or_insert(next));
        }
        let mut names = vec![String::new(); known.len()];
        for (name, at) in known {
            names[at as usize] = name.to_owned();
        }
        Self { names, by_pc }
    }
}

/// What of an instruction's text is neither guard nor operands.
fn opcode(text: &str) -> &str {
    let guardless = if text.starts_with('@') {
        text.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start())
    } else {
        text
    };
    let opcode = guardless.split(|c: char| c.is_whitespace() || c == ';').next();
    opcode.unwrap_or_default()
}
