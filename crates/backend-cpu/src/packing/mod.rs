//! Panels of B, packed: [`pays`] says when, and how wide.

mod pays;

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, TryLockError};

use girih_formats::Scalar;

use crate::aligned::Aligned;
use crate::room::Room;
pub(crate) use pays::Panels;

/// Rows of B that are packed at a time.
pub(crate) const PACKED_ROWS: usize = 256;

/// Room for packed panels of B: their rows next to each other, a few lines wide.
///
/// Where rows of A meet rows of B far apart, more of B passes through the caches than they hold. A
/// panel of a few columns is small enough to stay there; packed, its rows fill cache lines and pages
/// that in B itself hold other columns too.
#[derive(Debug)]
pub(crate) struct Packing<T: Scalar> {
    /// Lines, of 64 bytes of sums each, in a row of a panel: 2 or 4.
    lines: usize,
    /// Rows of B that are packed before they are multiplied: all, or those of a slab.
    rows: usize,
    /// Bytes of a row of B from which on it is packed.
    row_bytes: usize,
    /// One, or as many as threads that each have a panel of their own.
    rooms: Vec<Mutex<Aligned<T>>>,
}

/// A panel of columns of B.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Its columns.
    pub(crate) cols: Range<usize>,
    /// Whether it is a part of a group of four lines, whose sums are single chains.
    pub(crate) of_group: bool,
}

/// Lines of a group of columns that kernels keep in registers.
pub(crate) const GROUP_LINES: usize = 4;

/// Panels for each thread from which on it does not matter that not all threads have equally many.
const PANELS_EACH: usize = 4;

/// Threads that each pack the same panel, at the most, to multiply a share of the tasks by it.
const SHARES: usize = 2;

impl<T: Scalar> Packing<T> {
    /// Room for panels that pay, of `rows` rows of B, on `threads` threads that share a cache; `None` where
    /// there is no memory for it.
    pub(crate) fn new(panels: Panels, rows: usize, threads: usize, cache: Room) -> Option<Self> {
        let Panels { lines, row_bytes } = panels;
        let line = rows.checked_mul(lanes::<T>())?;
        let own = fit_for_each(threads, lines * line * size_of::<T>(), cache);
        let room = || Aligned::zeroed(line * lines).ok().map(Mutex::new);
        let rooms = (0..if own { threads } else { 1 }).map(|_| room()).collect::<Option<_>>()?;
        Some(Self { lines, rows, row_bytes, rooms })
    }

    /// The [shares](shares) of `count` panels, if there is room for panels of each of the threads.
    pub(crate) fn shares(&self, count: usize, threads: usize) -> Option<usize> {
        shares(count, threads).filter(|_| threads <= self.rooms.len())
    }

    /// Elements from a packed row to the next.
    pub(crate) fn row_stride(&self) -> usize {
        self.lines * lanes::<T>()
    }

    /// Rows of B that are packed before they are multiplied.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether it is for products with `n` columns.
    pub(crate) fn suits(&self, n: usize) -> bool {
        n * size_of::<T>() >= self.row_bytes
    }

    /// The panels of `n` columns of B.
    pub(crate) fn pieces(&self, n: usize) -> impl Iterator<Item = Piece> {
        pieces::<T>(self.lines, n)
    }

    /// A room; `None` while other products use them, which may be further up on this very thread's
    /// stack.
    pub(crate) fn room(&self) -> Option<MutexGuard<'_, Aligned<T>>> {
        self.rooms.iter().find_map(|room| match room.try_lock() {
            Ok(room) => Some(room),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
    }
}

/// Whether the cache that threads share has room for a panel of so many bytes for each of them.
const fn fit_for_each(threads: usize, panel: usize, cache: Room) -> bool {
    threads.saturating_mul(panel) <= cache.b
}

/// In how many shares of the tasks each of `count` panels should be multiplied, by threads that each pack
/// panels of their own: what one thread packs and another reads has to go from cache to cache, and nobody
/// waits for the others after each panel. `None` for all of `threads` together.
fn shares(count: usize, threads: usize) -> Option<usize> {
    if threads < 2 || count == 0 {
        return None;
    }
    if count.is_multiple_of(threads) || count >= PANELS_EACH * threads {
        return Some(1);
    }
    let shares = threads / count;
    (threads.is_multiple_of(count) && shares <= SHARES).then_some(shares)
}

/// The panels, so many lines wide, of `n` columns of B. They cut no line, and sums are added up in them as
/// they are in one panel of all columns.
fn pieces<T: Scalar>(lines: usize, n: usize) -> impl Iterator<Item = Piece> {
    let group = GROUP_LINES * lanes::<T>();
    let mut next = 0;
    std::iter::from_fn(move || {
        let start = next;
        let in_group = (group - start % group).min(n.checked_sub(start).filter(|&n| n > 0)?);
        // What is left of a group at the end counts as one: up to two lines have chains of
        // their own, and are not cut.
        let left = (n - start / group * group).min(group).div_ceil(lanes::<T>());
        let width = if left > 2 { in_group.min(lines * lanes::<T>()) } else { in_group };
        next += width;
        Some(Piece { cols: start..next, of_group: left > 2 })
    })
}

/// Columns of a line: sums in 64 bytes, as kernels count them, also where B is narrower.
pub(crate) const fn lanes<T: Scalar>() -> usize {
    64 / size_of::<T::Acc>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_panels_or_shares_of_them_if_all_have_equally_many() {
        let of_16 = |count| shares(count, 16);
        assert_eq!([16, 32, 64, 65].map(of_16), [Some(1); 4]);
        assert_eq!(of_16(8), Some(2));
        assert_eq!([0, 1, 4, 6, 9, 63].map(of_16), [None; 6]);
        assert_eq!(shares(16, 1), None);
        let rooms = (0..16).map(|_| Mutex::new(Aligned::none())).collect();
        let packing = Packing::<f32> { lines: 4, rows: 1, row_bytes: 512, rooms };
        assert_eq!((packing.shares(16, 16), packing.shares(17, 17)), (Some(1), None));
    }

    #[test]
    fn panels_cover_all_columns_and_keep_the_groups_at_the_end_whole() {
        let piece = |cols, of_group| Piece { cols, of_group };
        let pieces = |lines, n| pieces::<f32>(lines, n).collect::<Vec<_>>();
        assert_eq!(
            pieces(4, 130),
            [piece(0..64, true), piece(64..128, true), piece(128..130, false)]
        );
        assert_eq!(
            pieces(2, 100),
            [piece(0..32, true), piece(32..64, true), piece(64..96, true), piece(96..100, true),]
        );
        assert_eq!(pieces(2, 96)[2..], [piece(64..96, false)]);
    }
}
