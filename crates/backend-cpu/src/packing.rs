//! Panels of B, packed: when that pays, and room for them.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, TryLockError};

use girih_formats::{Buffer, Csr, Scalar};

use crate::reuse::{Fetches, span};
use crate::room::Room;

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
    /// Bytes of a row of B from which on it is packed.
    row_bytes: usize,
    /// One, or as many as threads that each have a panel of their own.
    rooms: Vec<Mutex<Buffer<T>>>,
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
const GROUP_LINES: usize = 4;

/// Packing is for rows of B from this many bytes on.
const ROW_BYTES: usize = 512;

/// Panels for each thread from which on it does not matter that not all threads have equally many.
const PANELS_EACH: usize = 4;

/// How often, at the least, a cache fetches each row of B that is met where packing pays. To pack takes
/// as long as to fetch each some three times, and panels are fetched too, from the last-level cache.
const FETCHES: f64 = 6.0;

/// Entries of A for each row of B, and of each row of A, from which on packing pays where B stays in a
/// last-level cache that is slow to read: to go through A once for each panel costs less then.
const USES: usize = 48;
const LONG_ROW: usize = 128;

impl<T: Scalar> Packing<T> {
    /// Room for a panel if packing pays for products with `n` columns on `threads` threads that share a
    /// cache, rows of A one by one or by patterns, several at a time: O(nnz), and room for a number for each
    /// row of B; O(m) where B stays in the cache.
    pub(crate) fn new(
        csr: &Csr<T>,
        n: usize,
        threads: usize,
        cache: Room,
        by_patterns: bool,
    ) -> Option<Self> {
        let row_bytes = n.checked_mul(size_of::<T>()).filter(|&bytes| bytes >= ROW_BYTES)?;
        let line_bytes = csr.ncols().checked_mul(lanes::<T>() * size_of::<T>())?;
        let b = Rows { csr, row_bytes, line_bytes };
        let is_near = csr.ncols().checked_mul(row_bytes)? < cache.b;
        let (lines, row_bytes) = if is_near {
            (b.lines_near(cache)?, ROW_BYTES.max(beyond_core(cache).div_ceil(csr.ncols())))
        } else {
            (b.lines_far(cache, by_patterns)?, ROW_BYTES)
        };
        let own = threads.saturating_mul(lines * line_bytes) <= cache.b;
        let room = || Buffer::zeroed(line_bytes / size_of::<T>() * lines).ok().map(Mutex::new);
        let rooms = (0..if own { threads } else { 1 }).map(|_| room()).collect::<Option<_>>()?;
        let packing = Self { lines, row_bytes, rooms };
        // Panels that all threads pack and multiply together gain nothing over a cache that all share.
        let count = packing.pieces(n).count();
        (!is_near || threads == 1 || packing.apart(count, threads)).then_some(packing)
    }

    /// Whether each of `threads` should pack and multiply panels of its own, of `count`: what one thread
    /// packs and another reads has to go from cache to cache, and nobody waits for the others after
    /// each panel.
    pub(crate) fn apart(&self, count: usize, threads: usize) -> bool {
        threads > 1
            && threads <= self.rooms.len()
            && (count.is_multiple_of(threads) || count >= PANELS_EACH * threads)
    }

    /// Elements from a packed row to the next.
    pub(crate) fn row_stride(&self) -> usize {
        self.lines * lanes::<T>()
    }

    /// Whether it is for products with `n` columns.
    pub(crate) fn suits(&self, n: usize) -> bool {
        n * size_of::<T>() >= self.row_bytes
    }

    /// The panels of `n` columns of B. They cut no line, and sums are added up in them as they are
    /// in one panel of all columns.
    pub(crate) fn pieces(&self, n: usize) -> impl Iterator<Item = Piece> {
        let (group, lines) = (GROUP_LINES * lanes::<T>(), self.lines);
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

    /// A room; `None` while other products use them, which may be further up on this very thread's
    /// stack.
    pub(crate) fn room(&self) -> Option<MutexGuard<'_, Buffer<T>>> {
        self.rooms.iter().find_map(|room| match room.try_lock() {
            Ok(room) => Some(room),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
    }
}

/// Bytes of B that a core's own caches do not hold, nor most of it.
const fn beyond_core(cache: Room) -> usize {
    2 * cache.private
}

/// Rows of B as a matrix meets them.
struct Rows<'a, T: Scalar> {
    csr: &'a Csr<T>,
    row_bytes: usize,
    /// Bytes of a line of all rows.
    line_bytes: usize,
}

impl<T: Scalar> Rows<'_, T> {
    /// Lines of a panel of a B that the last-level cache does not hold, if packing pays.
    fn lines_far(&self, cache: Room, by_patterns: bool) -> Option<usize> {
        let Self { csr, row_bytes, line_bytes } = *self;
        let fetches = |cache: usize| Fetches::of(csr, cache / row_bytes);
        let last_level = fetches(cache.b)?;
        // Rows that no entry meets take no place in the cache.
        if last_level.met * row_bytes < cache.b {
            return None;
        }
        // A panel after the other, so that few sets of a core's own caches hold what is met meanwhile.
        let conflicts = by_patterns && row_bytes >= cache.far_row;
        let pays = last_level.of_each() >= FETCHES
            || conflicts && fetches(cache.private)?.of_each() >= FETCHES;
        if !pays {
            return None;
        }
        let local = span(csr).saturating_mul(row_bytes) <= cache.met;
        match line_bytes {
            _ if local => Some(4),
            bytes if 4 * bytes <= cache.panel => Some(4),
            bytes if 2 * bytes <= cache.panels => Some(2),
            _ => None,
        }
    }

    /// As [`lines_far`](Self::lines_far), of a B that it holds: panels that stay in a core's own caches
    /// where B does not, and long rows of A meet all of it again and again.
    fn lines_near(&self, cache: Room) -> Option<usize> {
        let Self { csr, row_bytes, line_bytes } = *self;
        let lines = [4, 2].into_iter().find(|lines| lines * line_bytes <= cache.private / 2)?;
        let is_used = csr.nnz() / USES >= csr.ncols() && csr.nnz() / LONG_ROW >= csr.nrows();
        let bytes = |rows: usize| rows.saturating_mul(row_bytes);
        let pays = cache.is_slow
            && is_used
            && bytes(csr.ncols()) >= beyond_core(cache)
            && bytes(span(csr)) > cache.private;
        pays.then_some(lines)
    }
}

/// Columns of a line: sums in 64 bytes, as kernels count them, also where B is narrower.
const fn lanes<T: Scalar>() -> usize {
    64 / size_of::<T::Acc>()
}

#[cfg(test)]
mod tests {
    use girih_formats::generate::{banded, fem_3d, laplacian_5pt, rmat, uniform};

    use super::*;

    #[test]
    fn a_large_b_is_packed_where_the_last_level_cache_keeps_fetching_its_rows() {
        let scattered: Csr<f32> = uniform(44_000, 44_000, 12, 1).unwrap();
        let cache = |mib: u64| Room::of(mib << 20, 1 << 20);
        let new = |csr: &Csr<f32>, n, mib| Packing::new(csr, n, 1, cache(mib), false);
        assert_eq!(new(&scattered, 256, 32).unwrap().lines, 4);
        assert!(new(&scattered, 64, 32).is_none());
        // Of a B a little larger than what it holds a cache fetches little again.
        assert!(new(&scattered, 128, 32).is_none());
        // B of 45 MB stays in a larger cache, and not even its panels do in a small one.
        assert!(new(&scattered, 256, 128).is_none());
        assert_eq!(new(&scattered, 256, 16).unwrap().lines, 2);
        assert!(new(&scattered, 256, 4).is_none());
        // Most entries meet few rows.
        let skewed: Csr<f32> = rmat(16, 12, 1).unwrap();
        assert!(new(&skewed, 256, 32).is_none());
        // Of a B as large, rows that are never met don't count.
        let few_met: Csr<f32> = uniform(44_000, 19_000, 12, 1).unwrap();
        let row_ptr = few_met.row_ptr().to_vec();
        let cols: Vec<u32> = few_met.col_idx().iter().map(|&col| col * 44 / 19).collect();
        let few_met =
            Csr::try_new(44_000, 44_000, row_ptr, cols, few_met.values().to_vec()).unwrap();
        assert!(new(&few_met, 256, 32).is_none());
    }

    #[test]
    fn rows_far_apart_are_packed_although_the_last_level_cache_fetches_them_once() {
        let mesh: Csr<f32> = fem_3d(24, 24, 24, 3, 1).unwrap();
        let cache = Room::of(8 << 20, 512 << 10);
        let new = |n, cache| Packing::new(&mesh, n, 1, cache, true);
        assert_eq!(new(256, cache).unwrap().lines, 4);
        assert!(new(128, cache).is_none());
        let asking = Room { far_row: 2048, ..cache };
        assert!(new(256, asking).is_none());
        assert!(Packing::new(&mesh, 256, 1, cache, false).is_none());
        // A stencil's rows meet five.
        let stencil: Csr<f32> = laplacian_5pt(220, 200).unwrap();
        assert!(Packing::new(&stencil, 512, 1, cache, true).is_none());
    }

    #[test]
    fn long_rows_pack_what_a_core_does_not_hold_where_the_cache_behind_it_is_slow() {
        let weights: Csr<f32> = uniform(2048, 2048, 160, 1).unwrap();
        let slow = Room { is_slow: true, ..Room::of(256 << 20, 1 << 20) };
        let new = |csr: &Csr<f32>, n, threads, cache| Packing::new(csr, n, threads, cache, false);
        let packing = new(&weights, 256, 2, slow).unwrap();
        assert_eq!((packing.lines, packing.rooms.len()), (4, 2));
        // Products that are narrower than the plan's, and whose B the core holds, are not packed.
        assert!(packing.suits(256) && !packing.suits(255));
        assert!(new(&weights, 255, 2, slow).is_none());
        // Four panels leave most of 16 threads without one.
        assert!(new(&weights, 256, 16, slow).is_none());
        assert!(new(&weights, 256, 2, Room { is_slow: false, ..slow }).is_none());
        assert!(new(&uniform(2048, 2048, 100, 1).unwrap(), 256, 2, slow).is_none());
        // A band meets few rows of B at a time, however many there are.
        assert!(new(&banded(2048, 2048, 80, 80, 1).unwrap(), 256, 2, slow).is_none());
    }

    #[test]
    fn panels_cover_all_columns_and_keep_the_groups_at_the_end_whole() {
        let piece = |cols, of_group| Piece { cols, of_group };
        let pieces = |lines, n| {
            let packing = Packing::<f32> { lines, row_bytes: ROW_BYTES, rooms: Vec::new() };
            packing.pieces(n).collect::<Vec<_>>()
        };
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
