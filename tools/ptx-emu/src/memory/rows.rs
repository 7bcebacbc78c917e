//! Accesses of a whole warp to one memory, checked and done together: the common case, made quick.
//! Whatever is not plainly in order here is left to the lane-by-lane way, which knows what to
//! report.

use super::shadow::Access;
use super::shared::pieces;
use super::{Allocation, RANK_SHIFT, SHARED_WINDOW, Space};
use crate::asynch::footprint::Space as Bytes;
use crate::machine::registers::Row;
use crate::machine::{Cluster, Warp, lanes};
use crate::report::AccessKind;

/// Where all lanes' bytes are.
#[derive(Debug, Clone, Copy)]
enum One {
    /// In the shared memory of the CTA of this rank.
    Shared(u32),
    /// In the allocation of this index.
    Global(usize),
}

/// Lanes that follow each other and access the same bytes, or bytes that follow each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    /// The first of them.
    pub(super) lane: u32,
    pub(super) n_lanes: u32,
    /// Where in the memory its bytes are.
    pub(super) offset: u64,
    /// Whether those of the others are the same.
    pub(super) same: bool,
}

impl Segment {
    /// Its bytes by page: the page, the first byte in it, how many, and the lane whose they are at first. Each
    /// lane has `bytes`, which lie in one page.
    #[inline]
    pub(super) fn pieces(
        &self,
        bytes: usize,
    ) -> impl Iterator<Item = (usize, usize, usize, u32)> + use<> {
        let n_lanes = if self.same { 1 } else { self.n_lanes as usize };
        let mut lane = self.lane;
        pieces(self.offset, (n_lanes * bytes) as u64).map(move |(page, start, all)| {
            let first = lane;
            lane += (all / bytes) as u32;
            (page, start, all, first)
        })
    }

    /// Its lanes.
    #[inline]
    pub(super) fn lanes(&self) -> u32 {
        (u32::MAX >> (32 - self.n_lanes)) << self.lane
    }
}

/// How lanes' bytes lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The same bytes for all 32 lanes.
    Same,
    /// Those of all 32 lanes follow each other.
    Dense,
    /// Any other way.
    Any,
}

/// Lanes' accesses to one memory, aligned and within bounds. Their addresses are kept by the caller.
#[derive(Debug)]
pub(crate) struct Rows {
    memory: One,
    /// Address of its first byte.
    base: u64,
    pub(super) mask: u32,
    pub(super) bytes: u32,
    pub(super) shape: Shape,
}

impl Rows {
    /// Where in the memory the bytes of the first lane are, if all lanes access it.
    #[inline]
    pub(super) fn start(&self, at: &Row) -> u64 {
        at[0] - self.base
    }

    /// The lanes of a mask. None of those that write have the same bytes in common.
    #[inline]
    pub(super) fn segments(
        &self,
        at: &Row,
        mask: u32,
        write: bool,
    ) -> impl Iterator<Item = Segment> {
        let (shape, bytes, base) = (self.shape, u64::from(self.bytes), self.base);
        let mut left = mask;
        std::iter::from_fn(move || {
            let lane = left.trailing_zeros();
            let first = *at.get(lane as usize)?;
            // Neighbours in the mask, the first included.
            let most = (left >> lane).trailing_ones();
            let next = at.get(lane as usize + 1).filter(|_| most > 1);
            let step = match next {
                Some(&next) if next == first && !write => 0,
                _ => bytes,
            };
            let n_lanes = match shape {
                Shape::Same if step == 0 => most,
                Shape::Dense => most,
                _ => {
                    let neighbours = &at[lane as usize..(lane + most) as usize];
                    let mut expected = first;
                    let follows = |address: &&u64| {
                        let follows = **address == expected;
                        expected = expected.wrapping_add(step);
                        follows
                    };
                    neighbours.iter().take_while(follows).count() as u32
                }
            };
            let segment = Segment { lane, n_lanes, offset: first - base, same: step == 0 };
            left &= !segment.lanes();
            Some(segment)
        })
    }

    /// Where in the memory a lane's bytes are.
    #[inline]
    pub(super) fn offset(&self, at: &Row, lane: usize) -> u64 {
        at[lane] - self.base
    }
}

/// The least and the most of lanes' addresses, bits that are set in any of them, and their shape.
#[inline]
fn look(at: &Row, mask: u32, bytes: u32) -> (u64, u64, u64, Shape) {
    if mask == u32::MAX {
        let (first, step) = (at[0], at[1].wrapping_sub(at[0]));
        let (mut expected, mut differing) = (first, 0);
        for &address in at {
            differing |= address ^ expected;
            expected = expected.wrapping_add(step);
        }
        if differing == 0 && step == 0 {
            return (first, first, first, Shape::Same);
        }
        if differing == 0
            && step == u64::from(bytes)
            && let Some(most) = first.checked_add(31 * step)
        {
            return (first, most, first, Shape::Dense);
        }
    }
    let (mut least, mut most, mut bits) = (u64::MAX, 0, 0);
    for (lane, &address) in at.iter().enumerate() {
        if mask >> lane & 1 == 1 {
            least = least.min(address);
            most = most.max(address);
            bits |= address;
        }
    }
    (least, most, bits, Shape::Any)
}

impl Cluster {
    /// Lanes' accesses of `bytes` bytes, a power of two, if all are aligned and within the bounds of
    /// one shared memory or one allocation.
    #[inline]
    pub(crate) fn rows(
        &self,
        warp: &Warp,
        space: Space,
        addresses: &Row,
        mask: u32,
        bytes: u32,
        kind: AccessKind,
    ) -> Option<Rows> {
        let (least, most, bits, shape) = look(addresses, mask, bytes);
        if bits & u64::from(bytes - 1) != 0 {
            return None;
        }
        let shared = |least: u64, most: u64| {
            let (rank, last_rank) = (least >> RANK_SHIFT, most >> RANK_SHIFT);
            let own = rank == u64::from(warp.rank()) || space != Space::Shared;
            let there = rank == last_rank
                && own
                && rank < self.ctas.len() as u64
                && least & 0xFF_FFFF >= u64::from(self.context.shared_start())
                && (most & 0xFF_FFFF) + u64::from(bytes) <= u64::from(self.context.shared_end());
            there.then_some((One::Shared(rank as u32), rank << RANK_SHIFT))
        };
        let (memory, base) = match space {
            Space::Shared | Space::SharedCluster => shared(least, most)?,
            Space::Generic if (SHARED_WINDOW..SHARED_WINDOW + (1 << 32)).contains(&least) => {
                let (memory, base) =
                    shared(least - SHARED_WINDOW, most.checked_sub(SHARED_WINDOW)?)?;
                (memory, base + SHARED_WINDOW)
            }
            Space::Generic | Space::Global | Space::Const => {
                let index = self.context.global.index_of(least)?;
                let allocation = &self.context.global.allocations()[index];
                let fits = most - allocation.base() + u64::from(bytes) <= allocation.bytes();
                let allowed = kind == AccessKind::Read || allocation.is_writable();
                if !(fits && allowed) {
                    return None;
                }
                (One::Global(index), allocation.base())
            }
            Space::Local | Space::Param => return None,
        };
        if let One::Shared(rank) = memory {
            // Other CTAs may have exited, and mbarriers are nobody's bytes.
            let barriers = &self.ctas[rank as usize].asynch.mbarriers;
            let span = (most - least) as u32 + bytes;
            let start = (least - base) as u32;
            if rank != warp.rank() || barriers.overlapping(start, span).is_some() {
                return None;
            }
        }
        if !self.operations.pending().is_empty() {
            let (space, start) = match memory {
                One::Shared(rank) => (Bytes::Shared(rank), least - base),
                One::Global(_) => (Bytes::Global, least),
            };
            let end = start + (most - least) + u64::from(bytes);
            self.check_pending(space, kind, start, end).ok()?;
        }
        Some(Rows { memory, base, mask, bytes, shape })
    }

    fn allocation(&self, index: usize) -> &Allocation {
        &self.context.global.allocations()[index]
    }

    /// Records weak accesses; whether none races.
    #[inline]
    pub(crate) fn admit_rows(&mut self, warp: &Warp, rows: &Rows, at: &Row, write: bool) -> bool {
        if !self.context.races {
            return true;
        }
        let access = Access { write, strong: false, volatile: false };
        match rows.memory {
            One::Shared(rank) => {
                let shared = &mut self.ctas[rank as usize].shared;
                shared.access_row(rows, at, access, &warp.clock, warp.pc())
            }
            One::Global(index) => {
                let allocation = self.allocation(index);
                allocation.access_row(rows, at, access, &warp.clock, warp.pc())
            }
        }
    }

    /// Whether all the bytes were written.
    #[inline]
    pub(crate) fn rows_are_initialized(&self, rows: &Rows, at: &Row) -> bool {
        if !self.context.poison {
            return true;
        }
        let bytes = rows.bytes;
        let together = match rows.shape {
            Shape::Same => bytes,
            Shape::Dense => 32 * bytes,
            Shape::Any => 0,
        };
        match rows.memory {
            One::Shared(rank) => {
                let shared = &self.ctas[rank as usize].shared;
                if together != 0 {
                    return shared.is_initialized(rows.start(at) as u32, together);
                }
                let initialized = |lane| shared.is_initialized(rows.offset(at, lane) as u32, bytes);
                lanes(rows.mask).all(initialized)
            }
            One::Global(index) => {
                let allocation = self.allocation(index);
                if together != 0 {
                    return allocation.is_initialized(rows.start(at), u64::from(together));
                }
                let bytes = u64::from(bytes);
                lanes(rows.mask).all(|lane| allocation.is_initialized(rows.offset(at, lane), bytes))
            }
        }
    }

    /// Elements of `bytes` bytes, `from` bytes into the access.
    #[inline]
    pub(crate) fn load_rows(&self, rows: &Rows, at: &Row, from: u32, bytes: u32) -> Row {
        let mut values = [0; 32];
        match rows.memory {
            One::Shared(rank) => {
                let shared = &self.ctas[rank as usize].shared;
                match rows.shape {
                    Shape::Same => return [shared.load(rows.start(at) as u32 + from, bytes); 32],
                    Shape::Dense if bytes == 4 => {
                        let start = rows.start(at) as u32;
                        shared.load_words(start, rows.bytes, from, &mut values);
                        return values;
                    }
                    _ => {}
                }
                for lane in lanes(rows.mask) {
                    values[lane] = shared.load(rows.offset(at, lane) as u32 + from, bytes);
                }
            }
            One::Global(index) => {
                let allocation = self.allocation(index);
                match rows.shape {
                    Shape::Same => {
                        return [allocation.load(rows.start(at) + u64::from(from), bytes); 32];
                    }
                    Shape::Dense if bytes == 4 => {
                        allocation.load_words(rows.start(at), rows.bytes, from, &mut values);
                        return values;
                    }
                    _ => {}
                }
                for lane in lanes(rows.mask) {
                    values[lane] = allocation.load(rows.offset(at, lane) + u64::from(from), bytes);
                }
            }
        }
        values
    }

    /// Stores elements of `bytes` bytes, `from` bytes into the access. Those of an access come in order.
    #[inline]
    pub(crate) fn store_rows(
        &mut self,
        rows: &Rows,
        at: &Row,
        from: u32,
        bytes: u32,
        values: &Row,
    ) {
        let is_last = from + bytes == rows.bytes;
        match rows.memory {
            One::Shared(rank) => {
                let shared = &mut self.ctas[rank as usize].shared;
                if rows.shape == Shape::Dense && bytes == 4 {
                    let start = rows.start(at) as u32;
                    shared.store_words(start, rows.bytes, from, values);
                    if is_last {
                        shared.initialize(start, 32 * rows.bytes);
                    }
                    return;
                }
                for lane in lanes(rows.mask) {
                    shared.store(rows.offset(at, lane) as u32 + from, bytes, values[lane]);
                }
            }
            One::Global(index) => {
                let allocation = self.allocation(index);
                if rows.shape == Shape::Dense && bytes == 4 {
                    let start = rows.start(at);
                    allocation.store_words(start, rows.bytes, from, values);
                    if is_last {
                        allocation.initialize(start, 32 * u64::from(rows.bytes));
                    }
                    return;
                }
                for lane in lanes(rows.mask) {
                    allocation.store(rows.offset(at, lane) + u64::from(from), bytes, values[lane]);
                }
            }
        }
    }
}
