//! When it pays to pack panels of B, and how wide they are.

use girih_formats::{Csr, Scalar};

use super::{fit_for_each, lanes, pieces, shares};
use crate::reuse::{Fetches, span};
use crate::room::Room;

/// Packing is for rows of B from this many bytes on.
const ROW_BYTES: usize = 512;

/// How often, at the least, a cache fetches each row of B that is met where packing pays, on one thread. To
/// pack takes as long as to fetch each some three times, and panels are fetched too.
const FETCHES: f64 = 6.0;

/// The same for two threads, which take panels instead of the next task.
const FETCHES_OF_TWO: f64 = 10.0;

/// The same for more of them, for each [share](shares), whose threads pack the same panel.
const FETCHES_OF_SHARE: f64 = 16.0;

/// The same for panels of two lines, where loops are half as long.
const FETCHES_NARROW: f64 = 16.0;

/// The same for a B that a core's own caches hold the larger half of.
const FETCHES_NEAR: f64 = 24.0;

/// How often tiles load each row of B of [`ROW_BYTES`], at the least, where it pays to pack slabs of it, for each
/// [share](shares).
const LOADS_OF_SHARE: usize = 16;

/// Entries of a row of A, on average, from which on panels pay that go through all rows of C each: its parts
/// of shorter ones weigh as much as what they add up.
const ENTRIES: usize = 20;

/// Values stored in dense tiles for each row of B from which on packing it costs next to nothing.
const STRIP_USES: usize = 1024;

/// Rows of strips up to which panels pay on more than two threads, which take panels instead of strips.
const STRIP_ROWS: usize = 16;

/// Panels of B that it pays to pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panels {
    /// Lines, of 64 bytes of sums each, in a row of a panel: 2 or 4.
    pub(super) lines: usize,
    /// Bytes of a row of B from which on it is packed.
    pub(super) row_bytes: usize,
}

impl Panels {
    /// Of four lines, for rows of any width that is packed.
    #[cfg(test)]
    pub(crate) fn any() -> Self {
        Self { lines: 4, row_bytes: ROW_BYTES }
    }

    /// For sparse rows, one by one or by patterns, several at a time, and `n` columns on `threads` threads;
    /// `cols` are those of its entries in the order in which they are multiplied. O(nnz), and room for a number
    /// for each row of B, where that has to be known.
    pub(crate) fn for_rows<T: Scalar>(
        csr: &Csr<T>,
        cols: &[&[u32]],
        n: usize,
        threads: usize,
        cache: Room,
        by_patterns: bool,
    ) -> Option<Self> {
        let b = Rows::of::<T>(csr.ncols(), n)?;
        if b.bytes() >= cache.b {
            let lines = b.lines_far(csr, cols, cache, by_patterns)?;
            return Some(Self { lines, row_bytes: ROW_BYTES });
        }
        if b.bytes() < cache.private || csr.nnz() / ENTRIES < csr.nrows() {
            return None;
        }
        let lines = [4, 2].into_iter().find(|&lines| b.stays(lines, cache))?;
        let mut needed = match b.shares::<T>(lines, n, threads, cache)? {
            _ if threads < 2 => FETCHES,
            _ if threads == 2 => FETCHES_OF_TWO,
            shares => FETCHES_OF_SHARE * shares as f64,
        };
        if lines < 4 {
            needed = needed.max(FETCHES_NARROW);
        }
        if b.bytes() < beyond_core(cache) {
            needed = needed.max(FETCHES_NEAR);
        }
        let pays = Fetches::of(cols, b.k, cache.private / b.row_bytes)?.of_each() >= needed;
        pays.then(|| b.panels(lines, cache.private))
    }

    /// For tiles of a slab of columns after the other, whose rows of B are packed, `rows` at a time, and stay in a
    /// core's own caches, evenly in their sets; tiles load each of its `k` rows so often, `loads`, on average.
    pub(crate) fn for_slabs<T: Scalar>(
        k: usize,
        rows: usize,
        loads: usize,
        n: usize,
        threads: usize,
        cache: Room,
    ) -> Option<Self> {
        let b = Rows::of::<T>(rows, n)?;
        let shares = b.shares::<T>(4, n, threads, cache)?;
        // The further apart rows are, the fewer sets hold what is not packed.
        let pays = loads.saturating_mul(b.row_bytes) / ROW_BYTES >= LOADS_OF_SHARE * shares;
        // Threads with panels of their own each read all of A, for what their caches would hold of B anyway.
        let reads_more = threads > 1 && cache.is_slow;
        let pays = pays && !(reads_more && 4 * Rows::of::<T>(k, n)?.line_bytes < cache.private);
        (pays && b.stays(4, cache)).then_some(Self { lines: 4, row_bytes: ROW_BYTES })
    }

    /// For rows that are decoded one by one, of so many entries on average: where each meets more of B than a
    /// core's own caches hold.
    pub(crate) fn for_decoded<T: Scalar>(
        k: usize,
        row_len: usize,
        n: usize,
        threads: usize,
        cache: Room,
    ) -> Option<Self> {
        let b = Rows::of::<T>(k, n)?;
        let pays = b.bytes() >= beyond_core(cache)
            && row_len.saturating_mul(b.row_bytes) >= cache.private
            && b.stays(4, cache);
        b.shares::<T>(4, n, threads, cache).filter(|_| pays)?;
        Some(b.panels(4, beyond_core(cache)))
    }

    /// For dense strips of `window_rows` rows, with so many values stored in all. A few of a strip's rows at a
    /// time go through all rows of B that it meets, `met` on average: where those are far apart, few sets of a
    /// core's own caches hold the four lines that they go through.
    pub(crate) fn for_strips<T: Scalar>(
        k: usize,
        stored: usize,
        (window_rows, met): (usize, usize),
        n: usize,
        threads: usize,
        cache: Room,
    ) -> Option<Self> {
        let b = Rows::of::<T>(k, n)?;
        let pays = stored / STRIP_USES >= k
            && met.saturating_mul(b.row_bytes) >= beyond_core(cache)
            && 4 * b.line_bytes <= cache.panel
            && (threads <= 2 || window_rows <= STRIP_ROWS);
        b.shares::<T>(4, n, threads, cache).filter(|_| pays)?;
        Some(b.panels(4, beyond_core(cache)))
    }
}

/// Bytes of B that a core's own caches do not hold, nor most of it.
const fn beyond_core(cache: Room) -> usize {
    2 * cache.private
}

/// Rows of B.
struct Rows {
    k: usize,
    row_bytes: usize,
    /// Bytes of a line of all rows.
    line_bytes: usize,
}

impl Rows {
    /// If they are wide enough.
    fn of<T: Scalar>(k: usize, n: usize) -> Option<Self> {
        let row_bytes = n.checked_mul(size_of::<T>()).filter(|&bytes| bytes >= ROW_BYTES)?;
        let line_bytes = k.checked_mul(lanes::<T>() * size_of::<T>())?;
        k.checked_mul(row_bytes)?;
        Some(Self { k, row_bytes, line_bytes })
    }

    /// All of B.
    fn bytes(&self) -> usize {
        self.k * self.row_bytes
    }

    /// Panels for rows so wide that B takes at least so many bytes.
    fn panels(&self, lines: usize, bytes: usize) -> Panels {
        Panels { lines, row_bytes: ROW_BYTES.max(bytes.div_ceil(self.k.max(1))) }
    }

    /// Whether a panel stays in a core's own caches, or most of it.
    fn stays(&self, lines: usize, cache: Room) -> bool {
        lines * self.line_bytes <= cache.private / 4 * 5
    }

    /// In how many shares threads multiply by panels of their own, 1 if there is a single thread; `None` where
    /// all would pack a panel together, which gains nothing over a cache that all share.
    fn shares<T: Scalar>(
        &self,
        lines: usize,
        n: usize,
        threads: usize,
        cache: Room,
    ) -> Option<usize> {
        if threads < 2 {
            return Some(1);
        }
        let fit = fit_for_each(threads, lines * self.line_bytes, cache);
        shares(pieces::<T>(lines, n).count(), threads).filter(|_| fit)
    }

    /// Lines of a panel of a B that the last-level cache does not hold, if packing pays.
    fn lines_far<T: Scalar>(
        &self,
        csr: &Csr<T>,
        cols: &[&[u32]],
        cache: Room,
        by_patterns: bool,
    ) -> Option<usize> {
        let Self { row_bytes, line_bytes, .. } = *self;
        let fetches = |cache: usize| Fetches::of(cols, self.k, cache / row_bytes);
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
}

#[cfg(test)]
mod tests {
    use girih_formats::generate::{banded, block_sparse, fem_3d, laplacian_5pt, rmat, uniform};

    use super::super::Packing;
    use super::*;

    fn for_rows(csr: &Csr<f32>, n: usize, cache: Room, by_patterns: bool) -> Option<Panels> {
        Panels::for_rows(csr, &[csr.col_idx()], n, 1, cache, by_patterns)
    }

    #[test]
    fn a_large_b_is_packed_where_the_last_level_cache_keeps_fetching_its_rows() {
        let scattered: Csr<f32> = uniform(44_000, 44_000, 12, 1).unwrap();
        let cache = |mib: u64| Room::of(mib << 20, 1 << 20);
        let new = |csr: &Csr<f32>, n, mib| for_rows(csr, n, cache(mib), false);
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
        let new = |n, cache| for_rows(&mesh, n, cache, true);
        assert_eq!(new(256, cache).unwrap().lines, 4);
        assert!(new(128, cache).is_none());
        let asking = Room { far_row: 2048, ..cache };
        assert!(new(256, asking).is_none());
        assert!(for_rows(&mesh, 256, cache, false).is_none());
        // A stencil's rows meet five.
        let stencil: Csr<f32> = laplacian_5pt(220, 200).unwrap();
        assert!(for_rows(&stencil, 512, cache, true).is_none());
    }

    #[test]
    fn what_a_core_does_not_hold_is_packed_where_it_keeps_fetching_its_rows() {
        let cache = Room::of(64 << 20, 1 << 20);
        let panels = |csr: &Csr<f32>, n, threads| {
            Panels::for_rows(csr, &[csr.col_idx()], n, threads, cache, false)
        };
        let lines = |csr: &Csr<f32>, n, threads| panels(csr, n, threads).map(|panels| panels.lines);
        let weights = |m, k, row_len| uniform::<f32>(m, k, row_len, 1).unwrap();
        let often = weights(2048, 2048, 160);
        let packing = Packing::<f32>::new(panels(&often, 256, 2).unwrap(), 2048, 2, cache).unwrap();
        assert_eq!((packing.lines, packing.rooms.len()), (4, 2));
        // Products that are narrower than the plan's, and whose B the core holds, are not packed.
        assert!(packing.suits(128) && !packing.suits(127));
        // Four panels leave most of 16 threads without one.
        assert_eq!([1, 8, 16].map(|threads| lines(&often, 256, threads)), [Some(4), Some(4), None]);
        // Nor would room for one for each of eight stay in a small last-level cache.
        let small = Room { b: 3 << 20, ..cache };
        let of_8 = Panels::for_rows(&often, &[often.col_idx()], 256, 8, small, false);
        assert!(of_8.is_none());
        // Threads that share panels pack them once each.
        let seldom = weights(512, 2048, 160);
        assert_eq!([2, 4, 8].map(|threads| lines(&seldom, 256, threads)), [Some(4), Some(4), None]);
        // A core holds much of a B that is no larger than its caches.
        assert_eq!([128, 256].map(|n| lines(&seldom, n, 1)), [None, Some(4)]);
        // Rows of C weigh as much as short rows of A, however often rows of B are met.
        assert_eq!(lines(&weights(1 << 16, 2048, 19), 256, 1), None);
        // Panels of two lines take more, and none stays if B has so many rows.
        let of_two = [2048, 512].map(|m| lines(&weights(m, 8192, 160), 256, 1));
        assert_eq!(of_two, [Some(2), None]);
        assert_eq!(lines(&weights(2048, 12_000, 160), 256, 1), None);
        // A band meets few rows of B at a time, however many there are, and neighbouring rows of blocks the
        // same ones.
        assert_eq!(lines(&banded(2048, 2048, 80, 80, 1).unwrap(), 256, 1), None);
        assert_eq!(lines(&block_sparse(2048, 2048, 64, 0.1, 1).unwrap(), 256, 1), None);
    }

    #[test]
    fn dense_tiles_pack_what_a_core_does_not_hold_where_each_row_meets_many() {
        let cache = Room::of(32 << 20, 1 << 20);
        let of = |stored, window, n, threads| {
            Panels::for_strips::<f32>(2048, stored, window, n, threads, cache).map(|p| p.lines)
        };
        assert_eq!(of(1 << 21, (64, 2048), 256, 1), Some(4));
        assert!(of(1 << 21, (64, 2048), 255, 1).is_none());
        assert!(of(1 << 20, (64, 2048), 256, 1).is_none());
        // Blocks here and there: a core holds what a window meets.
        assert!(of(1 << 21, (64, 1024), 256, 1).is_none());
        // Many threads share low strips alone, and 16 would pack each of the four panels together.
        assert_eq!([2, 4].map(|threads| of(1 << 21, (64, 2048), 256, threads)), [Some(4), None]);
        assert_eq!([4, 16].map(|threads| of(1 << 21, (16, 2048), 256, threads)), [Some(4), None]);
        // Of a B this large not even a panel stays in the last-level cache.
        let large = Panels::for_strips::<f32>(1 << 16, 1 << 30, (64, 1 << 16), 256, 1, cache);
        assert!(large.is_none());
    }

    #[test]
    fn slabs_are_packed_where_tiles_load_their_rows_often_or_they_are_far_apart() {
        let cache = Room::of(32 << 20, 1 << 20);
        let in_cache = |k, loads, n, threads, cache| {
            Panels::for_slabs::<f32>(k, 512, loads, n, threads, cache).is_some()
        };
        let pays = |loads, n, threads| in_cache(2048, loads, n, threads, cache);
        assert!(pays(16, 128, 1) && !pays(15, 128, 1) && !pays(100, 127, 1));
        assert!(pays(4, 512, 1) && !pays(3, 512, 1));
        // Two threads pack every panel on their own, or no thread does.
        assert!(pays(8, 512, 16) && !pays(7, 512, 16) && !pays(100, 256, 16));
        // From a slow cache several threads read only their own rows of A, if they hold panels of all rows of B.
        let slow = |k, threads| in_cache(k, 100, 512, threads, Room { is_slow: true, ..cache });
        assert!(slow(2048, 1) && !slow(4095, 2) && slow(4096, 2));
    }

    #[test]
    fn long_decoded_rows_are_packed_where_a_core_does_not_hold_what_they_meet() {
        let cache = Room::of(32 << 20, 1 << 20);
        let of = |row_len, n, threads| Panels::for_decoded::<f32>(2048, row_len, n, threads, cache);
        assert_eq!(of(1024, 256, 1).unwrap().lines, 4);
        assert!(of(1023, 256, 1).is_none() && of(2048, 255, 1).is_none());
        assert!(of(1024, 256, 4).is_some() && of(1024, 256, 16).is_none());
    }
}
