//! Accesses of a whole warp to one memory, checked and done together: the common case, made quick.
//! Whatever is not plainly in order here is left to the lane-by-lane way, which knows what to
//! report.

use super::shadow::Access;
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

/// The lanes of a mask by offset: the first of neighbours that read the same, and all of them. Lanes
/// that write come one by one.
#[inline]
pub(super) fn runs(at: &Row, mask: u32, write: bool) -> impl Iterator<Item = (usize, u32)> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let first = left.trailing_zeros() as usize;
        if first >= 32 {
            return None;
        }
        let mut run = 1 << first;
        left &= !run;
        if !write {
            for (lane, &offset) in at.iter().enumerate().skip(first + 1) {
                if left >> lane & 1 == 0 || offset != at[first] {
                    break;
                }
                run |= 1 << lane;
            }
            left &= !run;
        }
        Some((first, run))
    })
}

/// Lanes' accesses to one memory, aligned and within bounds.
#[derive(Debug)]
pub(crate) struct Rows {
    memory: One,
    /// Offsets in it.
    at: Row,
    mask: u32,
    bytes: u32,
    /// Whether the lanes' bytes follow each other, all 32 of them.
    dense: bool,
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
        let (mut least, mut most, mut bits) = (u64::MAX, 0, 0);
        for (lane, &address) in addresses.iter().enumerate() {
            if mask >> lane & 1 == 1 {
                least = least.min(address);
                most = most.max(address);
                bits |= address;
            }
        }
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
        let mut at = *addresses;
        for offset in &mut at {
            *offset = offset.wrapping_sub(base);
        }
        let step = u64::from(bytes);
        let dense = mask == u32::MAX
            && most - least == 31 * step
            && (0..32).all(|lane| at[lane] == at[0] + lane as u64 * step);
        Some(Rows { memory, at, mask, bytes, dense })
    }

    fn allocation(&self, index: usize) -> &Allocation {
        &self.context.global.allocations()[index]
    }

    /// Records weak accesses; whether none races.
    #[inline]
    pub(crate) fn admit_rows(&mut self, warp: &Warp, rows: &Rows, write: bool) -> bool {
        if !self.context.races {
            return true;
        }
        let access = Access { write, strong: false, volatile: false };
        match rows.memory {
            One::Shared(rank) => {
                let shared = &mut self.ctas[rank as usize].shared;
                shared.access_row(&rows.at, rows.mask, rows.bytes, access, &warp.clock, warp.pc())
            }
            One::Global(index) => self.allocation(index).access_row(
                &rows.at,
                rows.mask,
                rows.bytes,
                access,
                &warp.clock,
                warp.pc(),
            ),
        }
    }

    /// Whether all the bytes were written.
    #[inline]
    pub(crate) fn rows_are_initialized(&self, rows: &Rows) -> bool {
        if !self.context.poison {
            return true;
        }
        let bytes = rows.bytes;
        match rows.memory {
            One::Shared(rank) => {
                let shared = &self.ctas[rank as usize].shared;
                if rows.dense {
                    return shared.is_initialized(rows.at[0] as u32, 32 * bytes);
                }
                lanes(rows.mask).all(|lane| shared.is_initialized(rows.at[lane] as u32, bytes))
            }
            One::Global(index) => {
                let allocation = self.allocation(index);
                if rows.dense {
                    return allocation.is_initialized(rows.at[0], 32 * u64::from(bytes));
                }
                lanes(rows.mask)
                    .all(|lane| allocation.is_initialized(rows.at[lane], u64::from(bytes)))
            }
        }
    }

    /// Elements of `bytes` bytes, `from` bytes into the access.
    #[inline]
    pub(crate) fn load_rows(&self, rows: &Rows, from: u32, bytes: u32) -> Row {
        let mut values = [0; 32];
        match rows.memory {
            One::Shared(rank) => {
                let shared = &self.ctas[rank as usize].shared;
                if rows.dense && bytes == 4 && rows.bytes == 4 {
                    let from = &shared.bytes()[rows.at[0] as usize..][..128];
                    let words = from.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word));
                    for (value, word) in values.iter_mut().zip(words) {
                        *value = u64::from(word);
                    }
                    return values;
                }
                for lane in lanes(rows.mask) {
                    values[lane] = shared.load(rows.at[lane] as u32 + from, bytes);
                }
            }
            One::Global(index) => {
                let allocation = self.allocation(index);
                for lane in lanes(rows.mask) {
                    values[lane] = allocation.load(rows.at[lane] + u64::from(from), bytes);
                }
            }
        }
        values
    }

    /// Stores elements of `bytes` bytes, `from` bytes into the access.
    #[inline]
    pub(crate) fn store_rows(&mut self, rows: &Rows, from: u32, bytes: u32, values: &Row) {
        match rows.memory {
            One::Shared(rank) => {
                let shared = &mut self.ctas[rank as usize].shared;
                for lane in lanes(rows.mask) {
                    shared.store(rows.at[lane] as u32 + from, bytes, values[lane]);
                }
            }
            One::Global(index) => {
                let allocation = self.allocation(index);
                for lane in lanes(rows.mask) {
                    allocation.store(rows.at[lane] + u64::from(from), bytes, values[lane]);
                }
            }
        }
    }
}
