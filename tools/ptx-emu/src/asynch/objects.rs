//! The mbarriers that live in a CTA's shared memory, and what they tell those who wait.

use std::collections::BTreeMap;

use super::mbarrier::{Mbarrier, MbarrierError};
use crate::memory::clock::{Epoch, Message};

/// Bytes of an mbarrier, and its alignment.
pub(crate) const BYTES: u32 = 8;

/// A live mbarrier.
#[derive(Debug)]
pub(crate) struct Object {
    /// Its counts.
    pub(crate) state: Mbarrier,
    /// The agent under whose epochs asynchronous operations complete on it.
    agent: u32,
    /// Counts of the agent before the object's own phases.
    earlier: u32,
    /// What arrivals and completed operations of the current phase tell.
    arriving: Message,
    /// The same of the previous phase.
    arrived: Message,
    /// The last asynchronous operation that completed on it, and its instruction.
    last: Option<(Epoch, u32)>,
    /// When it was made, and the instruction.
    made: Option<(Epoch, u32)>,
}

impl Object {
    /// The epoch of operations that complete in the current phase.
    pub(crate) fn epoch(&self, cluster: u32) -> Epoch {
        Epoch::of_agent(cluster, self.agent, self.count())
    }

    /// What arrivals of the current phase tell so far.
    pub(crate) fn arriving(&mut self) -> &mut Message {
        &mut self.arriving
    }

    /// An asynchronous operation of the instruction at `pc` has completed.
    pub(crate) fn completed(&mut self, epoch: Epoch, pc: u32) {
        self.arriving.completed(epoch);
        self.last = Some((epoch, pc));
    }

    /// Notes when it was made, by the instruction at `pc`.
    pub(crate) fn note_init(&mut self, epoch: Epoch, pc: u32) {
        self.made = Some((epoch, pc));
    }

    /// When it was made, and the instruction.
    pub(crate) fn made(&self) -> Option<(Epoch, u32)> {
        self.made
    }

    /// The last asynchronous operation that completed, and its instruction.
    pub(crate) fn last(&self) -> Option<(Epoch, u32)> {
        self.last
    }

    /// What a thread learns that finds the previous phase complete.
    pub(crate) fn arrived(&self) -> &Message {
        &self.arrived
    }

    /// To be called where an operation on the state says that the phase is complete.
    pub(crate) fn next_phase(&mut self, cluster: u32) {
        self.arrived = std::mem::replace(&mut self.arriving, Message::new(cluster));
    }

    fn count(&self) -> u32 {
        self.earlier + 1 + self.state.phase() as u32
    }
}

/// The live mbarriers of a CTA, by offset.
#[derive(Debug, Default)]
pub(crate) struct Mbarriers {
    live: BTreeMap<u32, Object>,
    /// Where all that ever lived lie: most accesses are elsewhere.
    hull: (u32, u32),
    /// Agents of places where mbarriers have lived, and their counts in use.
    agents: BTreeMap<u32, (u32, u32)>,
}

impl Mbarriers {
    /// Makes an mbarrier; `new_agent` gives an agent that nothing else uses.
    pub(crate) fn init(
        &mut self,
        cluster: u32,
        offset: u32,
        count: u32,
        new_agent: impl FnOnce() -> u32,
    ) -> Result<(), MbarrierError> {
        if self.overlapping(offset, BYTES).is_some() {
            return Err(MbarrierError::Alive);
        }
        let state = Mbarrier::new(count)?;
        let &mut (agent, earlier) = self.agents.entry(offset).or_insert_with(|| (new_agent(), 0));
        self.hull = match self.hull {
            (0, 0) => (offset, offset + BYTES),
            (start, end) => (start.min(offset), end.max(offset + BYTES)),
        };
        let arriving = Message::new(cluster);
        let arrived = Message::new(cluster);
        self.live.insert(
            offset,
            Object { state, agent, earlier, arriving, arrived, last: None, made: None },
        );
        Ok(())
    }

    /// Ends an mbarrier's life.
    pub(crate) fn invalidate(&mut self, offset: u32) -> Result<(), MbarrierError> {
        let object = self.live.remove(&offset).ok_or(MbarrierError::NotInitialized)?;
        if let Some(known) = self.agents.get_mut(&offset) {
            known.1 = object.count();
        }
        Ok(())
    }

    /// The mbarrier at an offset.
    pub(crate) fn get(&self, offset: u32) -> Result<&Object, MbarrierError> {
        self.live.get(&offset).ok_or(MbarrierError::NotInitialized)
    }

    /// The mbarrier at an offset.
    pub(crate) fn get_mut(&mut self, offset: u32) -> Result<&mut Object, MbarrierError> {
        self.live.get_mut(&offset).ok_or(MbarrierError::NotInitialized)
    }

    /// The first live mbarrier that shares a byte with a range.
    pub(crate) fn overlapping(&self, start: u32, bytes: u32) -> Option<u32> {
        if start >= self.hull.1 || start.saturating_add(bytes) <= self.hull.0 {
            return None;
        }
        let first = start.saturating_sub(BYTES - 1);
        self.live.range(first..start.saturating_add(bytes)).next().map(|(&offset, _)| offset)
    }

    /// All of them, by offset.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Object)> {
        self.live.iter().map(|(&offset, object)| (offset, object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_are_found() {
        let mut barriers = Mbarriers::default();
        barriers.init(0, 1024, 1, || 0).unwrap();
        assert_eq!(barriers.overlapping(1016, 8), None);
        assert_eq!(barriers.overlapping(1016, 9), Some(1024));
        assert_eq!(barriers.overlapping(1031, 1), Some(1024));
        assert_eq!(barriers.overlapping(1032, 4), None);
        assert_eq!(barriers.init(0, 1024, 1, || 1), Err(MbarrierError::Alive));
    }

    #[test]
    fn epochs_go_on_where_an_mbarrier_is_made_again() {
        let mut barriers = Mbarriers::default();
        barriers.init(0, 0, 1, || 7).unwrap();
        assert_eq!(barriers.get(0).unwrap().epoch(0), Epoch::of_agent(0, 7, 1));
        assert_eq!(barriers.get_mut(0).unwrap().state.arrive(1), Ok(true));
        assert_eq!(barriers.get(0).unwrap().epoch(0), Epoch::of_agent(0, 7, 2));
        barriers.invalidate(0).unwrap();
        assert!(barriers.get(0).is_err());
        barriers.init(0, 0, 1, || 8).unwrap();
        assert_eq!(barriers.get(0).unwrap().epoch(0), Epoch::of_agent(0, 7, 3));
    }
}
