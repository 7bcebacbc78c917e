//! Who accessed a piece of memory last, and since.

use super::clock::{Clock, Epoch};
use super::readers::{Lists, Reader, Readers};
use super::shadow::{Access, Actor, Unordered};

/// The last write of a piece, and the reads since.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub(super) write: Epoch,
    /// Of any lane of the warp that read last.
    pub(super) read: Epoch,
    pub(super) write_pc: u32,
    read_pc: u32,
    /// Which of its lanes did.
    pub(super) read_lanes: u32,
    /// One more than the index among the page's lists of further readers.
    pub(super) more: u32,
}

impl Cell {
    /// Whether the same accesses are kept of both, further readers aside, of which there are none.
    #[inline]
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.write, self.read, self.read_lanes) == (other.write, other.read, other.read_lanes)
            && self.more == 0
            && other.more == 0
    }

    /// The access kept here that races with a new one, if one does.
    #[inline]
    pub(super) fn unordered(
        &self,
        more: &[Readers],
        access: Access,
        actor: &Actor<'_>,
    ) -> Option<Unordered> {
        let write = self.write;
        let ordered = write.0 == 0
            || write.same_thread(actor.epoch)
            || access.mixes_with(write, actor)
            || actor.seen.covers(write);
        if !ordered {
            return Some(Unordered { epoch: write, wrote: true, pc: self.write_pc });
        }
        if !access.write || self.read.0 == 0 {
            return None;
        }
        let last = Reader { read: self.read, lanes: self.read_lanes, pc: self.read_pc };
        if let Some(found) = last.unordered(access, actor) {
            return Some(found);
        }
        if self.more == 0 {
            return None;
        }
        let more = more[self.more as usize - 1].as_slice();
        more.iter().find_map(|reader| reader.unordered(access, actor))
    }

    /// Keeps a write, and no read before it.
    #[inline]
    pub(super) fn wrote(&mut self, more: &mut [Readers], access: Access, actor: &Actor<'_>) {
        self.write = actor.epoch.strong(access.strong);
        self.write_pc = actor.pc;
        // What happened before this write is covered by whatever is ordered after it.
        self.read = Epoch::default();
        self.read_lanes = 0;
        if self.more != 0 {
            more[self.more as usize - 1].clear();
        }
    }

    /// Keeps a read by `lanes` of the actor's warp, and that before it unless it `follows` that one.
    #[inline]
    pub(super) fn was_read(
        &mut self,
        more: &mut Lists,
        access: Access,
        actor: &Actor<'_>,
        mut lanes: u32,
        most: usize,
        follows: impl FnOnce(&Self) -> bool,
    ) {
        let read = actor.epoch.of_lanes().strong(access.strong);
        if self.read == read {
            self.read_lanes |= lanes;
            return;
        }
        let forgets = self.read.0 == 0
            || (self.read.of_lanes().same_thread(read)
                && self.read_lanes & !lanes == 0
                && (access.strong <= self.read.is_strong()))
            || follows(self);
        if !forgets {
            self.keep(more, actor.seen, read, most);
        }
        // This warp's lanes at this count may be among those kept.
        if self.more != 0 {
            lanes |= more[self.more as usize - 1].take(read);
        }
        self.read = read;
        self.read_lanes = lanes;
        self.read_pc = actor.pc;
    }

    /// Moves the last reader to the list of further ones, from which those that happened before the
    /// present one go.
    fn keep(&mut self, more: &mut Lists, seen: &Clock, read: Epoch, most: usize) {
        if self.more == 0 {
            self.more = more.add();
        }
        let list = &mut more[self.more as usize - 1];
        // A lane's older reads happened before its newer ones.
        let last = self.read;
        list.retain(|kept| {
            if kept.read.same_thread(last) && kept.read.is_strong() == last.is_strong() {
                kept.lanes &= !self.read_lanes;
            }
            kept.lanes != 0
        });
        if list.as_slice().len() >= 8 {
            list.retain(|kept| kept.read == read || !seen.covers_lanes(kept.read, kept.lanes));
        }
        list.push(Reader { read: last, lanes: self.read_lanes, pc: self.read_pc }, most);
    }
}
