//! Who accessed memory last: the shadow in which races are seen.
//!
//! For every piece of memory a cell keeps the epoch of its last write and of the reads since. An
//! access races with one of these if it is not ordered after it, at least one of the two writes, and
//! not both are strong. A page's pieces are as wide as its first access, 16 bytes at most, until
//! something narrower is accessed there; then the page is refined.

use super::cell::Cell;
use super::clock::{Clock, Epoch};
use super::known::Known;
use super::readers::Lists;
use super::rows::Segment;

/// What an access is to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    /// It stores, alone or together with a load.
    pub(crate) write: bool,
    /// Atomic, volatile, or with a memory scope: does not race with its like.
    pub(crate) strong: bool,
    /// Volatile, in shared memory: races with its like by other lanes of the same warp. Lanes are not in
    /// step, so that `bar.warp.sync` has to order them.
    pub(crate) volatile: bool,
}

impl Access {
    /// Whether the access and an earlier one may come in any order, since both are strong.
    pub(super) fn mixes_with(self, earlier: Epoch, actor: &Actor<'_>) -> bool {
        self.strong
            && earlier.is_strong()
            && !(self.volatile && earlier.of_lanes().same_thread(actor.epoch.of_lanes()))
    }
}

/// Who makes an access, and what happened before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Actor<'a> {
    /// The thread and its count.
    pub(crate) epoch: Epoch,
    /// What it knows.
    pub(crate) seen: &'a Clock,
    /// The instruction, by index.
    pub(crate) pc: u32,
}

/// An earlier access that the present one is not ordered after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unordered {
    /// Its thread.
    pub(crate) epoch: Epoch,
    /// Whether it wrote.
    pub(crate) wrote: bool,
    /// Its instruction, by index.
    pub(crate) pc: u32,
}

/// Bytes of a page.
pub(crate) const PAGE: usize = 256;

/// Readers of a piece kept beside the last, where clusters share it: enough to see a write race
/// with one of them.
pub(crate) const FOREIGN_READERS: usize = 4;

/// log₂ of the most bytes of a piece.
const WIDEST: u32 = 4;

/// The shadow of [`PAGE`] bytes.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// log₂ of the bytes of a piece.
    shift: u32,
    /// By piece; none before the first access.
    cells: Vec<Cell>,
    more: Lists,
    /// The most readers that a list keeps.
    readers: usize,
}

impl Page {
    /// Nobody has accessed it. Of unordered readers of one piece it remembers `readers`.
    pub(crate) fn new(readers: usize) -> Self {
        Self { shift: WIDEST, cells: Vec::new(), more: Lists::default(), readers }
    }

    /// As [`Page::new`], in the memory of this one.
    pub(crate) fn renew(&mut self, readers: usize) {
        self.cells.clear();
        self.more.clear();
        self.readers = readers;
    }

    /// Cuts all pieces into such of `1 << shift` bytes.
    #[cold]
    fn refine(&mut self, shift: u32) {
        let before = self.cells.len();
        if before == 0 {
            self.shift = shift;
            self.cells.resize(PAGE >> shift, Cell::default());
            return;
        }
        let times = 1 << (self.shift - shift);
        self.cells.resize(before * times, Cell::default());
        // From the end, so that each is read before its place is taken.
        for at in (0..before).rev() {
            let cell = self.cells[at];
            self.cells[at * times..][..times].fill(cell);
            if cell.more != 0 {
                for copy in at * times + 1..(at + 1) * times {
                    self.cells[copy].more = self.more.copy(cell.more as usize - 1);
                }
            }
        }
        self.shift = shift;
    }

    #[inline]
    fn pieces(&mut self, start: usize, bytes: usize) -> std::ops::Range<usize> {
        let aligned = (start | bytes).trailing_zeros().min(WIDEST);
        if aligned < self.shift || self.cells.is_empty() {
            self.refine(aligned);
        }
        start >> self.shift..(start + bytes) >> self.shift
    }

    /// Records an access of bytes within the page, unless it races.
    #[inline]
    pub(crate) fn access(
        &mut self,
        start: usize,
        bytes: usize,
        access: Access,
        actor: &Actor<'_>,
    ) -> Result<(), Unordered> {
        for at in self.pieces(start, bytes) {
            let cell = &mut self.cells[at];
            if let Some(unordered) = cell.unordered(&self.more, access, actor) {
                return Err(unordered);
            }
            if access.write {
                cell.wrote(&mut self.more, access, actor);
            } else {
                let lanes = 1 << actor.epoch.lane();
                let follows = |cell: &Cell| actor.seen.covers_lanes(cell.read, cell.read_lanes);
                cell.was_read(&mut self.more, access, actor, lanes, self.readers, follows);
            }
        }
        Ok(())
    }

    /// Records an access by some lanes, of which the actor is the first, unless it might race;
    /// whether it did. Several lanes may only read.
    #[inline]
    fn quick(
        &mut self,
        start: usize,
        bytes: usize,
        access: Access,
        actor: &Actor<'_>,
        lanes: u32,
        known: &mut Known,
    ) -> bool {
        let alone = lanes.is_power_of_two();
        for at in self.pieces(start, bytes) {
            let cell = &mut self.cells[at];
            if !known.follows_write(cell.write, actor, alone) {
                return false;
            }
            if !access.write {
                let read = actor.epoch.of_lanes();
                if cell.read == read {
                    cell.read_lanes |= lanes;
                } else {
                    let follows =
                        |cell: &Cell| known.follows_reads(cell.read, cell.read_lanes, actor);
                    cell.was_read(&mut self.more, access, actor, lanes, self.readers, follows);
                }
                continue;
            }
            let quick = cell.more == 0 && known.follows_reads(cell.read, cell.read_lanes, actor);
            if !quick && cell.unordered(&self.more, access, actor).is_some() {
                return false;
            }
            cell.wrote(&mut self.more, access, actor);
        }
        true
    }

    /// As [`quick`](Self::quick), by lanes of a segment, of which the actor is the first in this page.
    #[inline]
    pub(super) fn quick_segment(
        &mut self,
        segment: &Segment,
        (start, all): (usize, usize),
        bytes: usize,
        access: Access,
        actor: &Actor<'_>,
        known: &mut Known,
    ) -> bool {
        if segment.same {
            self.quick(start, bytes, access, actor, segment.lanes(), known)
        } else {
            self.quick_row((start, all), bytes, access, actor, known)
        }
    }

    /// As [`quick`](Self::quick), by lanes side by side, each of which accesses `bytes` bytes of those from
    /// `start` on. The first of them is the actor.
    #[inline]
    fn quick_row(
        &mut self,
        (start, all): (usize, usize),
        bytes: usize,
        access: Access,
        actor: &Actor<'_>,
        known: &mut Known,
    ) -> bool {
        let first = self.pieces(start, bytes).start;
        let pieces = first..first + (all >> self.shift);
        // log₂ of a lane's pieces.
        let of_lane = bytes.trailing_zeros() - self.shift;
        let (read, lane) = (actor.epoch.of_lanes(), actor.epoch.lane());
        let (more, readers) = (&mut self.more, self.readers);
        for (at, cell) in self.cells[pieces].iter_mut().enumerate() {
            let lane = lane + (at >> of_lane) as u32;
            let actor = Actor { epoch: read.with_lane(lane), ..*actor };
            if !known.follows_write(cell.write, &actor, true) {
                return false;
            }
            if access.write {
                let quick =
                    cell.more == 0 && known.follows_reads(cell.read, cell.read_lanes, &actor);
                if !quick && cell.unordered(more, access, &actor).is_some() {
                    return false;
                }
                cell.wrote(more, access, &actor);
            } else if cell.read == read {
                cell.read_lanes |= 1 << lane;
            } else {
                let follows = |cell: &Cell| known.follows_reads(cell.read, cell.read_lanes, &actor);
                cell.was_read(more, access, &actor, 1 << lane, readers, follows);
            }
        }
        true
    }

    /// Whether an access would race, without recording it.
    pub(crate) fn check(
        &mut self,
        start: usize,
        bytes: usize,
        access: Access,
        actor: &Actor<'_>,
    ) -> Result<(), Unordered> {
        let pieces = self.pieces(start, bytes);
        let mut before: Option<&Cell> = None;
        for cell in &self.cells[pieces] {
            // Neighbours have mostly been accessed together.
            if before.is_some_and(|before| before.is_like(cell)) {
                continue;
            }
            if let Some(unordered) = cell.unordered(&self.more, access, actor) {
                return Err(unordered);
            }
            before = Some(cell);
        }
        Ok(())
    }

    /// Records an access without looking for races.
    pub(crate) fn record(&mut self, start: usize, bytes: usize, access: Access, actor: &Actor<'_>) {
        for at in self.pieces(start, bytes) {
            if access.write {
                self.cells[at].wrote(&mut self.more, access, actor);
            } else {
                let lanes = 1 << actor.epoch.lane();
                let follows = |cell: &Cell| actor.seen.covers_lanes(cell.read, cell.read_lanes);
                let cell = &mut self.cells[at];
                cell.was_read(&mut self.more, access, actor, lanes, self.readers, follows);
            }
        }
    }

    /// A write by a thread that a clock of what is [proxied](super::clock::WarpClock::proxied) does
    /// not cover.
    pub(crate) fn unfenced(
        &mut self,
        start: usize,
        bytes: usize,
        proxied: &Clock,
    ) -> Option<Unordered> {
        let pieces = self.pieces(start, bytes);
        let mut before = Epoch::default();
        self.cells[pieces].iter().find_map(|cell| {
            if cell.write == before {
                return None;
            }
            before = cell.write;
            let fenced = cell.write.0 == 0 || cell.write.is_agent() || proxied.covers(cell.write);
            (!fenced).then_some(Unordered { epoch: cell.write, wrote: true, pc: cell.write_pc })
        })
    }
}
