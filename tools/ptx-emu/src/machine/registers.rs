//! The registers of a warp.
//!
//! A register is a row of 32 lanes, so an instruction is decoded once and its inner loop runs over
//! the lanes. Predicates are masks with a bit per lane.

use std::cell::RefCell;

/// A register's index among a warp's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) u32);

/// A predicate's index among a warp's masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Predicate(pub(crate) u32);

/// One value per lane; values narrower than 64 bits are zero-extended, whatever their type.
pub(crate) type Row = [u64; 32];

/// Where an operand's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A register, or a value that the launch writes into a row: see [`crate::program::Preset`].
    Slot(Slot),
    /// The same bits in every lane.
    Constant(u64),
}

/// Where a predicate operand's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// A predicate register, possibly negated.
    Predicate(Predicate, bool),
    /// The same in every lane.
    Constant(bool),
}

/// A warp's registers.
#[derive(Debug, Clone)]
pub(crate) struct Registers {
    /// One after the other: so the system can give them as zeros.
    rows: Vec<u64>,
    predicates: Vec<u32>,
}

/// The most registers of warps that have finished that a thread keeps.
const KEPT: usize = 32;

thread_local! {
    /// Memory for rows, which the next warps take.
    static FINISHED: RefCell<Vec<Vec<u64>>> = const { RefCell::new(Vec::new()) };
}

impl Registers {
    /// All zero.
    pub(crate) fn new(n_rows: usize, n_predicates: usize) -> Self {
        let rows = match FINISHED.with_borrow_mut(Vec::pop) {
            Some(mut rows) if rows.capacity() >= n_rows * 32 => {
                rows.clear();
                rows.resize(n_rows * 32, 0);
                rows
            }
            _ => vec![0; n_rows * 32],
        };
        Self { rows, predicates: vec![0; n_predicates] }
    }

    /// Keeps the memory of a warp that has finished for another.
    pub(crate) fn finish(self) {
        FINISHED.with_borrow_mut(|finished| {
            if finished.len() < KEPT {
                finished.push(self.rows);
            }
        });
    }

    /// All lanes of a register.
    #[inline]
    pub(crate) fn row(&self, slot: Slot) -> &Row {
        &self.rows.as_chunks().0[slot.0 as usize]
    }

    /// All lanes of a register.
    #[inline]
    pub(crate) fn row_mut(&mut self, slot: Slot) -> &mut Row {
        &mut self.rows.as_chunks_mut().0[slot.0 as usize]
    }

    /// All lanes of an operand.
    #[inline(always)]
    pub(crate) fn load(&self, source: Source) -> Row {
        match source {
            Source::Slot(slot) => *self.row(slot),
            Source::Constant(bits) => [bits; 32],
        }
    }

    /// One lane of an operand.
    #[inline(always)]
    pub(crate) fn value(&self, source: Source, lane: usize) -> u64 {
        match source {
            Source::Slot(slot) => self.row(slot)[lane],
            Source::Constant(bits) => bits,
        }
    }

    /// Writes one lane.
    #[inline(always)]
    pub(crate) fn set(&mut self, slot: Slot, lane: usize, bits: u64) {
        self.row_mut(slot)[lane] = bits;
    }

    /// Writes the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn store(&mut self, slot: Slot, values: &Row, mask: u32) {
        let row = self.row_mut(slot);
        if mask == u32::MAX {
            *row = *values;
        } else {
            for (lane, (to, from)) in row.iter_mut().zip(values).enumerate() {
                *to = if mask >> lane & 1 == 1 { *from } else { *to };
            }
        }
    }

    /// The lanes in which a predicate holds.
    #[inline(always)]
    pub(crate) fn predicate(&self, predicate: Predicate) -> u32 {
        self.predicates[predicate.0 as usize]
    }

    /// The lanes in which a condition holds.
    #[inline(always)]
    pub(crate) fn condition(&self, condition: Condition) -> u32 {
        match condition {
            Condition::Predicate(predicate, false) => self.predicate(predicate),
            Condition::Predicate(predicate, true) => !self.predicate(predicate),
            Condition::Constant(value) => {
                if value {
                    u32::MAX
                } else {
                    0
                }
            }
        }
    }

    /// Writes a predicate in the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn set_predicate(&mut self, predicate: Predicate, lanes: u32, mask: u32) {
        let bits = &mut self.predicates[predicate.0 as usize];
        *bits = *bits & !mask | lanes & mask;
    }
}
