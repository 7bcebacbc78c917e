//! What a launch executed.

use std::collections::BTreeMap;

use super::Kernel;

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
        let mut statistics = Self::default();
        for (code, &(warps, threads)) in kernel.code.iter().zip(&counts.by_pc) {
            if warps == 0 {
                continue;
            }
            let text = &code.location.text;
            let guardless = if text.starts_with('@') {
                text.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start())
            } else {
                text
            };
            let opcode = guardless.split(|c: char| c.is_whitespace() || c == ';').next();
            let opcode = opcode.unwrap_or_default();
            if !statistics.by_opcode.contains_key(opcode) {
                statistics.by_opcode.insert(opcode.to_owned(), Executions::default());
            }
            let of_opcode = statistics.by_opcode.get_mut(opcode);
            for executions in of_opcode.into_iter().chain([&mut statistics.total]) {
                executions.warps += warps;
                executions.threads += threads;
            }
        }
        statistics
    }
}
