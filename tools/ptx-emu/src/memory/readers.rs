//! Who has read a piece of memory, besides whoever did last.

use std::ops::{Deref, DerefMut};

use super::clock::Epoch;
use super::shadow::{Access, Actor, Unordered};

/// Lanes of a warp that read at one of its counts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reader {
    /// Of any lane of the warp.
    pub(super) read: Epoch,
    /// Which of its lanes did.
    pub(super) lanes: u32,
    /// The instruction, by index.
    pub(super) pc: u32,
}

impl Reader {
    /// The first lane whose read an access by the actor may come before or after.
    #[inline]
    pub(super) fn unordered(&self, access: Access, actor: &Actor<'_>) -> Option<Unordered> {
        if access.mixes_with(self.read, actor) {
            return None;
        }
        let own = self.read.with_lane(actor.epoch.lane()).same_thread(actor.epoch);
        let others = if own { self.lanes & !(1 << actor.epoch.lane()) } else { self.lanes };
        if actor.seen.covers_lanes(self.read, others) {
            return None;
        }
        let lane = crate::machine::lanes(others)
            .map(|lane| lane as u32)
            .find(|&lane| !actor.seen.covers(self.read.with_lane(lane)))?;
        Some(Unordered { epoch: self.read.with_lane(lane), wrote: false, pc: self.pc })
    }
}

/// Readers that a list has room for in place.
const FEW: usize = 4;

/// A list of readers. Most are short, and take no memory of their own.
#[derive(Debug, Clone, Default)]
pub(super) struct Readers {
    /// Those in `few`, while there is none in `many`.
    n_few: usize,
    few: [Reader; FEW],
    many: Vec<Reader>,
}

impl Readers {
    /// Oldest first, as far as none was taken out.
    #[inline]
    pub(super) fn as_slice(&self) -> &[Reader] {
        if self.many.is_empty() { &self.few[..self.n_few] } else { &self.many }
    }

    /// Takes all out.
    pub(super) fn clear(&mut self) {
        self.n_few = 0;
        self.many.clear();
    }

    /// Adds one, in place of the oldest if there are `most`.
    pub(super) fn push(&mut self, reader: Reader, most: usize) {
        if !self.many.is_empty() {
            if self.many.len() >= most {
                self.many.remove(0);
            }
            return self.many.push(reader);
        }
        if self.n_few >= most && self.n_few > 0 {
            self.few.copy_within(1..self.n_few, 0);
            self.n_few -= 1;
        }
        match self.few.get_mut(self.n_few) {
            Some(free) => {
                *free = reader;
                self.n_few += 1;
            }
            None => {
                self.many.extend(self.few);
                self.many.push(reader);
                self.n_few = 0;
            }
        }
    }

    /// Leaves those that the function says, which may change them.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut Reader) -> bool) {
        if !self.many.is_empty() {
            return self.many.retain_mut(keep);
        }
        let mut kept = 0;
        for at in 0..self.n_few {
            if keep(&mut self.few[at]) {
                self.few[kept] = self.few[at];
                kept += 1;
            }
        }
        self.n_few = kept;
    }

    /// Takes out the lanes of a warp at one count: none, if they are not here.
    pub(super) fn take(&mut self, read: Epoch) -> u32 {
        let Some(at) = self.as_slice().iter().position(|reader| reader.read == read) else {
            return 0;
        };
        if !self.many.is_empty() {
            return self.many.swap_remove(at).lanes;
        }
        let lanes = self.few[at].lanes;
        self.n_few -= 1;
        self.few[at] = self.few[self.n_few];
        lanes
    }
}

/// The lists of a page. Those of an earlier launch are used again.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    all: Vec<Readers>,
    used: usize,
}

impl Lists {
    /// Leaves none.
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    /// Adds an empty one; one more than its index.
    pub(super) fn add(&mut self) -> u32 {
        match self.all.get_mut(self.used) {
            Some(list) => list.clear(),
            None => self.all.push(Readers::default()),
        }
        self.used += 1;
        self.used as u32
    }

    /// Adds a copy of the one at an index; one more than the copy's.
    pub(super) fn copy(&mut self, index: usize) -> u32 {
        let copy = self.all[index].clone();
        let added = self.add();
        self.all[added as usize - 1] = copy;
        added
    }
}

impl Deref for Lists {
    type Target = [Readers];

    #[inline]
    fn deref(&self) -> &[Readers] {
        &self.all
    }
}

impl DerefMut for Lists {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Readers] {
        &mut self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(warp: u32) -> Reader {
        Reader { read: Epoch::new(0, warp, 0, 1), lanes: 1 << warp, pc: warp }
    }

    fn pcs(list: &Readers) -> Vec<u32> {
        list.as_slice().iter().map(|reader| reader.pc).collect()
    }

    #[test]
    fn a_list_keeps_what_it_is_given_whether_short_or_long() {
        for n in [1, 3, 4, 5, 9] {
            let mut list = Readers::default();
            (0..n).for_each(|warp| list.push(reader(warp), usize::MAX));
            assert_eq!(pcs(&list), (0..n).collect::<Vec<_>>());
            assert_eq!(list.take(reader(n).read), 0);
            assert_eq!(list.take(reader(0).read), 1);
            assert_eq!(list.as_slice().len() as u32, n - 1);
            list.retain(|reader| reader.pc % 2 == 0);
            assert!(list.as_slice().iter().all(|reader| reader.pc % 2 == 0));
            list.clear();
            list.push(reader(7), usize::MAX);
            assert_eq!(pcs(&list), [7]);
        }
    }

    #[test]
    fn a_full_list_forgets_the_oldest() {
        for most in [1, 4, 6] {
            let mut list = Readers::default();
            (0..8).for_each(|warp| list.push(reader(warp), most));
            assert_eq!(pcs(&list), (8 - most as u32..8).collect::<Vec<_>>());
        }
    }
}
