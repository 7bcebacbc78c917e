//! The registers that a warp's `wgmma` own while they are under way.
//!
//! PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions", `wgmma.fence`
//! and `wgmma.wait_group`: from issue to wait, registers of the accumulator and of A may not be accessed,
//! and those of metadata may not be written; of the accumulator and A, registers that were written before
//! need a `wgmma.fence` before the `wgmma` that uses them. Compilers emit copies of accumulators as if
//! nothing was under way, since they become no instructions; a `mov` therefore gives the accumulator
//! another name.

use std::collections::BTreeMap;

use crate::machine::registers::Slot;

/// What an instruction does to registers that some `wgmma` of its kernel uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) reads: Box<[Slot]>,
    pub(crate) writes: Box<[Slot]>,
    /// It is a `mov` from a register to a register.
    pub(crate) copies: bool,
}

/// An access that may not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trespass {
    /// The register.
    pub(crate) slot: Slot,
    /// Index of the `wgmma` that owns it.
    pub(crate) issued: u32,
    /// Whether it is written.
    pub(crate) writes: bool,
}

/// An accumulator under way.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    /// Where its values are.
    pub(crate) chain: u64,
    /// The names of each of its registers.
    pub(crate) names: Vec<Vec<Slot>>,
    /// The last `wgmma` that adds to it, by number in the warpgroup.
    pub(crate) last: u64,
    /// Its instruction.
    pub(crate) pc: u32,
}

#[derive(Debug, Clone)]
struct Operand {
    slots: Vec<Slot>,
    step: u64,
    pc: u32,
}

/// The registers that are under way, or wait for a fence, in one warp.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    flights: Vec<Flight>,
    operands: Vec<Operand>,
    /// Registers of metadata.
    metadata: Vec<Operand>,
    /// Written since the last fence, by which instruction.
    unfenced: BTreeMap<Slot, u32>,
    /// A bit for each register that is in a flight or an operand: most are not.
    held: Vec<u64>,
}

impl Fragments {
    /// An instruction other than a `wgmma` is about to execute.
    pub(crate) fn touch(&mut self, touched: &Touched, pc: u32) -> Result<(), Trespass> {
        for &slot in &touched.reads {
            if touched.copies {
                continue;
            }
            if let Some(issued) = self.owner(slot) {
                return Err(Trespass { slot, issued, writes: false });
            }
        }
        let source = touched.reads.first().copied().filter(|_| touched.copies);
        for &slot in &touched.writes {
            if let Some(reader) = self.metadata.iter().find(|it| it.slots.contains(&slot)) {
                return Err(Trespass { slot, issued: reader.pc, writes: true });
            }
            let owned = source.and_then(|source| self.element(source));
            match owned {
                Some((flight, element)) if !self.held_by_operand(slot) => {
                    match self.element(slot) {
                        None => {
                            self.flights[flight].names[element].push(slot);
                            mark(&mut self.held, slot);
                        }
                        Some(same) if same == (flight, element) => {}
                        Some((other, _)) => {
                            let issued = self.flights[other].pc;
                            return Err(Trespass { slot, issued, writes: true });
                        }
                    }
                }
                _ => {
                    if let Some(issued) = self.owner(slot) {
                        return Err(Trespass { slot, issued, writes: true });
                    }
                }
            }
            match source.map(|source| self.unfenced.get(&source).copied()) {
                Some(Some(written)) => drop(self.unfenced.insert(slot, written)),
                Some(None) => drop(self.unfenced.remove(&slot)),
                None => drop(self.unfenced.insert(slot, pc)),
            }
        }
        Ok(())
    }

    /// `wgmma.fence`.
    pub(crate) fn fence(&mut self) {
        self.unfenced.clear();
    }

    /// The instruction that wrote one of these registers after the last fence.
    pub(crate) fn unfenced(&self, slots: &[Slot]) -> Option<(Slot, u32)> {
        slots.iter().find_map(|slot| Some((*slot, *self.unfenced.get(slot)?)))
    }

    /// The flight whose registers these are, all of them and in this order; a trespass where only
    /// some are under way, or as others.
    pub(crate) fn flight_of(&mut self, d: &[Slot]) -> Result<Option<&mut Flight>, Trespass> {
        let whole = self.flights.iter().position(|flight| {
            flight.names.len() == d.len()
                && flight.names.iter().zip(d).all(|(names, slot)| names.contains(slot))
        });
        if whole.is_none() {
            for &slot in d {
                if let Some(issued) = self.owner(slot) {
                    return Err(Trespass { slot, issued, writes: true });
                }
            }
        }
        Ok(whole.map(|at| &mut self.flights[at]))
    }

    /// An accumulator begins to be under way.
    pub(crate) fn begin(&mut self, d: &[Slot], chain: u64, step: u64, pc: u32) {
        let names = d.iter().map(|&slot| vec![slot]).collect();
        d.iter().for_each(|&slot| mark(&mut self.held, slot));
        self.flights.push(Flight { chain, names, last: step, pc });
    }

    /// Registers of A begin to be under way. Several `wgmma` may read the same.
    pub(crate) fn hold(&mut self, slots: &[Slot], step: u64, pc: u32) -> Result<(), Trespass> {
        for &slot in slots {
            if let Some((flight, _)) = self.element(slot) {
                let issued = self.flights[flight].pc;
                return Err(Trespass { slot, issued, writes: false });
            }
        }
        slots.iter().for_each(|&slot| mark(&mut self.held, slot));
        self.operands.push(Operand { slots: slots.to_vec(), step, pc });
        Ok(())
    }

    /// A register of metadata begins to be under way. Others may read it.
    pub(crate) fn hold_metadata(&mut self, slot: Slot, step: u64, pc: u32) -> Result<(), Trespass> {
        if let Some((flight, _)) = self.element(slot) {
            return Err(Trespass { slot, issued: self.flights[flight].pc, writes: false });
        }
        self.metadata.push(Operand { slots: vec![slot], step, pc });
        Ok(())
    }

    /// Steps before `step` are over: the accumulators that no later one adds to.
    pub(crate) fn retire(&mut self, step: u64) -> Vec<Flight> {
        self.operands.retain(|operand| operand.step >= step);
        self.metadata.retain(|operand| operand.step >= step);
        let (over, rest) = self.flights.drain(..).partition(|flight| flight.last < step);
        self.flights = rest;
        self.held.fill(0);
        let accumulators = self.flights.iter().flat_map(|flight| flight.names.iter().flatten());
        let slots = self.operands.iter().flat_map(|operand| &operand.slots);
        slots.chain(accumulators).for_each(|&slot| mark(&mut self.held, slot));
        over
    }

    /// Whether a register is in a flight or an operand.
    #[inline]
    fn is_held(&self, slot: Slot) -> bool {
        let word = self.held.get(slot.0 as usize / 64);
        word.is_some_and(|word| word >> (slot.0 % 64) & 1 == 1)
    }

    /// The instruction of a `wgmma` that is still under way.
    pub(crate) fn any(&self) -> Option<u32> {
        self.flights.first().map(|flight| flight.pc)
    }

    fn element(&self, slot: Slot) -> Option<(usize, usize)> {
        if !self.is_held(slot) {
            return None;
        }
        self.flights.iter().enumerate().find_map(|(at, flight)| {
            let element = flight.names.iter().position(|names| names.contains(&slot))?;
            Some((at, element))
        })
    }

    fn held_by_operand(&self, slot: Slot) -> bool {
        self.is_held(slot) && self.operands.iter().any(|operand| operand.slots.contains(&slot))
    }

    fn owner(&self, slot: Slot) -> Option<u32> {
        if !self.is_held(slot) {
            return None;
        }
        let operand = self.operands.iter().find(|operand| operand.slots.contains(&slot));
        let flight = || self.element(slot).map(|(flight, _)| self.flights[flight].pc);
        operand.map(|operand| operand.pc).or_else(flight)
    }
}

/// Sets the bit of a register.
fn mark(held: &mut Vec<u64>, slot: Slot) {
    let (word, bit) = (slot.0 as usize / 64, slot.0 % 64);
    if held.len() <= word {
        held.resize(word + 1, 0);
    }
    held[word] |= 1 << bit;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(reads: &[u32], writes: &[u32], copies: bool) -> Touched {
        let slots = |all: &[u32]| all.iter().map(|&slot| Slot(slot)).collect();
        Touched { reads: slots(reads), writes: slots(writes), copies }
    }

    #[test]
    fn registers_under_way_are_not_touched() {
        let mut fragments = Fragments::default();
        fragments.begin(&[Slot(1), Slot(2)], 0, 5, 40);
        fragments.hold(&[Slot(3)], 5, 40).unwrap();
        let trespass = |slot, writes| Err(Trespass { slot: Slot(slot), issued: 40, writes });
        assert_eq!(fragments.touch(&touched(&[1], &[9], false), 0), trespass(1, false));
        assert_eq!(fragments.touch(&touched(&[9], &[2], false), 0), trespass(2, true));
        assert_eq!(fragments.touch(&touched(&[9], &[3], true), 0), trespass(3, true));
        assert_eq!(fragments.touch(&touched(&[3], &[9], false), 0), trespass(3, false));
        assert!(fragments.retire(5).is_empty());
        assert_eq!(fragments.retire(6).len(), 1);
        assert_eq!(fragments.touch(&touched(&[1, 3], &[2], false), 0), Ok(()));
    }

    #[test]
    fn metadata_are_read_and_not_written() {
        let mut fragments = Fragments::default();
        fragments.hold_metadata(Slot(7), 2, 40).unwrap();
        fragments.hold_metadata(Slot(7), 3, 41).unwrap();
        assert_eq!(fragments.touch(&touched(&[7], &[9], true), 0), Ok(()));
        let trespass = |issued| Err(Trespass { slot: Slot(7), issued, writes: true });
        assert_eq!(fragments.touch(&touched(&[9], &[7], true), 0), trespass(40));
        fragments.retire(3);
        assert_eq!(fragments.touch(&touched(&[9], &[7], false), 0), trespass(41));
        fragments.retire(4);
        assert_eq!(fragments.touch(&touched(&[9], &[7], false), 0), Ok(()));
    }

    #[test]
    fn copies_are_other_names() {
        let mut fragments = Fragments::default();
        fragments.begin(&[Slot(1), Slot(2)], 0, 0, 40);
        fragments.touch(&touched(&[1], &[11], true), 0).unwrap();
        fragments.touch(&touched(&[2], &[12], true), 0).unwrap();
        fragments.touch(&touched(&[11], &[1], true), 0).unwrap();
        assert!(fragments.touch(&touched(&[11], &[12], true), 0).is_err());
        assert!(fragments.flight_of(&[Slot(11), Slot(12)]).unwrap().is_some());
        assert!(fragments.flight_of(&[Slot(11), Slot(1)]).is_err());
        assert!(fragments.flight_of(&[Slot(5), Slot(6)]).unwrap().is_none());
    }

    #[test]
    fn what_is_written_needs_a_fence() {
        let mut fragments = Fragments::default();
        fragments.touch(&touched(&[], &[1], false), 7).unwrap();
        fragments.touch(&touched(&[1], &[2], true), 8).unwrap();
        assert_eq!(fragments.unfenced(&[Slot(3), Slot(2)]), Some((Slot(2), 7)));
        fragments.fence();
        fragments.touch(&touched(&[1], &[2], true), 9).unwrap();
        assert_eq!(fragments.unfenced(&[Slot(1), Slot(2)]), None);
    }
}
