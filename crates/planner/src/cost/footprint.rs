//! How many rows of B a cache of any size fetches for a pattern in an order of rows.

use girih_formats::stats::SharedStats;
use girih_formats::{CsrPattern, RowLayout};

use super::reuse::{SIZES, reuse};

/// Rows of a stretch whose distinct columns are counted, and the share of all stretches that is.
const FAR_ROWS: usize = 64;
const SHARE_SAMPLED: usize = 16;
const LEAST_SAMPLED: usize = 1 << 14;

/// Rows of B that caches fetch, by how many rows they hold.
///
/// A row of B is still in a cache that replaces what was used least recently, if fewer other rows were used
/// since than the cache holds. These distances are measured for a sample of the columns: all entries of
/// every column whose hash is small, distances scaled by the share that is sampled (SHARDS; Waldspurger et
/// al., *FAST* 2015). Hubs of a graph and stretches of rows that share nothing so count as what they are,
/// where a mean over stretches would take the one for the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Footprint {
    nrows: f64,
    /// Columns that have entries.
    once: f64,
    /// Columns of windows of 16 rows, counted, and of 64, sampled.
    near: f64,
    far: f64,
    /// Rows fetched by a cache that holds nothing, 1, 2, 4 and so on: not increasing, and never less than
    /// `once`.
    fetched: [f64; SIZES],
}

impl Footprint {
    /// Of a pattern in an order of rows. Windows of 16 rows and columns are counted exactly, others
    /// sampled: O(nnz), and O(log) for each of at most some 65 000 entries; deterministic.
    #[must_use]
    pub fn of(shared: &SharedStats<'_>) -> Self {
        let (pattern, layout) = (shared.pattern(), shared.layout());
        let Ok(unions) = shared.unions(16, 1) else {
            unreachable!("any layout can be cut into windows of 16 rows")
        };
        let near = unions.iter().map(|&cols| u64::from(cols)).sum::<u64>() as f64;
        let ((once, far), reused) = girih_parallel::join(
            || (distinct(pattern) as f64, far(pattern, layout)),
            || reuse(pattern, layout),
        );
        let mut fetched = [once; SIZES];
        fetched[0] = (pattern.nnz() as f64).max(once);
        for (size, &missed) in reused.iter().enumerate() {
            fetched[size + 1] = (once + missed).min(fetched[size]);
        }
        // A taller window packs no more.
        Self {
            nrows: pattern.nrows() as f64,
            once,
            near,
            far: far.clamp(once, near.max(once)),
            fetched,
        }
    }

    /// The least that any order of the rows has: of the rows of B that are touched at all, each is
    /// fetched once, whatever the cache, and windows of 16 rows fetch `near`.
    pub(crate) fn ideal(nrows: usize, once: f64, near: f64) -> Self {
        Self { nrows: nrows as f64, once, near, far: once, fetched: [once; SIZES] }
    }

    /// What an order would have whose windows of 16 and 64 rows fetch `near` and `far`, if what is fetched
    /// more than once shrinks for a cache of any size as it does for windows of 64 rows.
    pub(crate) fn reordered(&self, near: f64, far: f64) -> Self {
        let (near, far) = (near.min(self.near), far.min(self.far));
        let beyond = |fetched: f64| (fetched - self.once).max(0.0);
        let share = if beyond(self.far) > 0.0 { beyond(far) / beyond(self.far) } else { 1.0 };
        let fetched = self.fetched.map(|fetched| self.once + beyond(fetched) * share);
        Self { near, far, fetched, ..*self }
    }

    /// Of some of the rows, windows of 16 of which fetch `near`: what is fetched more than once shrinks with that,
    /// for a cache of any size.
    pub(crate) fn part(&self, nrows: usize, near: f64) -> Self {
        let share = if self.near > 0.0 { near / self.near } else { 0.0 };
        let once = self.once.min(near);
        let beyond = |fetched: f64| once + (fetched - self.once).max(0.0) * share;
        let fetched = self.fetched.map(beyond);
        let far = beyond(self.far).clamp(once, near.max(once));
        Self { nrows: nrows as f64, once, near, far, fetched }
    }

    /// Rows of B that all rows of A touch.
    #[must_use]
    pub fn once(&self) -> f64 {
        self.once
    }

    /// Rows of B that windows of 16 rows fetch.
    #[must_use]
    pub fn near(&self) -> f64 {
        self.near
    }

    /// Rows of B that are fetched into a cache that holds `cached` of them.
    #[must_use]
    pub fn fetched(&self, cached: f64) -> f64 {
        // A cache that holds all rows that are used misses each once.
        if cached >= self.once {
            return self.once;
        }
        let size = |at: usize| match at {
            0 => 0.0,
            _ => ((1u64 << (at - 1)) as f64).min(self.once),
        };
        // Straight between two sizes: the same bits on every machine, unlike a power.
        let above = (1..SIZES).find(|&at| size(at) > cached).unwrap_or(SIZES - 1);
        let (low, high) = (size(above - 1), size(above));
        let more = self.fetched[above - 1];
        let less = if high < self.once { self.fetched[above] } else { self.once };
        more + (less - more) * ((cached - low) / (high - low)).clamp(0.0, 1.0)
    }
}

/// Whether there are far more columns than entries, so that no array of columns is allocated.
fn is_wide(pattern: CsrPattern<'_>) -> bool {
    pattern.ncols() / 64 > pattern.nnz().max(LEAST_SAMPLED)
}

/// Columns that have entries.
fn distinct(pattern: CsrPattern<'_>) -> usize {
    if is_wide(pattern) {
        let mut cols = pattern.col_idx().to_vec();
        cols.sort_unstable();
        cols.dedup();
        return cols.len();
    }
    let mut met = vec![0u64; pattern.ncols().div_ceil(64)];
    for &col in pattern.col_idx() {
        met[col as usize / 64] |= 1 << (col % 64);
    }
    met.iter().map(|word| word.count_ones() as usize).sum()
}

/// Columns of windows of 64 rows, over all of them, from some that are spread evenly.
fn far(pattern: CsrPattern<'_>, layout: &RowLayout) -> f64 {
    let windows = layout.n_slots().div_ceil(FAR_ROWS);
    if windows == 0 {
        return 0.0;
    }
    let wanted = (pattern.nnz() / SHARE_SAMPLED).max(LEAST_SAMPLED);
    let count = (wanted / (pattern.nnz() / windows).max(1)).clamp(1, windows);
    let mut cols: Vec<u32> = Vec::new();
    let touched = (0..count).map(|i| {
        let first = (i as u128 * windows as u128 / count as u128) as usize * FAR_ROWS;
        let slots = first..layout.n_slots().min(first + FAR_ROWS);
        cols.clear();
        for row in slots.filter_map(|slot| layout.row(slot)) {
            cols.extend_from_slice(pattern.row(row));
        }
        cols.sort_unstable();
        cols.dedup();
        cols.len()
    });
    touched.sum::<usize>() as f64 * windows as f64 / count as f64
}

#[cfg(test)]
mod tests {
    use girih_generate::{banded, uniform};

    use super::*;

    fn footprint(a: &girih_formats::Csr<f32>) -> Footprint {
        let rows = RowLayout::natural(a.nrows(), 1).unwrap();
        Footprint::of(&SharedStats::new(a.pattern(), &rows))
    }

    #[test]
    fn a_band_needs_little_cache_and_scattered_entries_all_of_b() {
        let band = footprint(&banded(20_000, 20_000, 10, 10, 1).unwrap());
        assert!((band.once() - 20_000.0).abs() < 1.0);
        // A row and the next share all columns but one: what holds a few rows fetches nothing twice.
        assert!(band.fetched(400.0) < 20_100.0, "{}", band.fetched(400.0));
        assert!(band.fetched(64.0) < 30_000.0, "{}", band.fetched(64.0));
        assert!(band.fetched(8.0) > 300_000.0, "{}", band.fetched(8.0));
        let scattered = footprint(&uniform(20_000, 20_000, 20, 1).unwrap());
        assert!(scattered.fetched(400.0) > 350_000.0, "{}", scattered.fetched(400.0));
        assert_eq!(scattered.fetched(20_000.0), scattered.once());
        // A cache that holds a share of B misses the other share of 400 000 fetches.
        for share in [0.25, 0.5, 0.75] {
            let (found, expected) =
                (scattered.fetched(20_000.0 * share), 400_000.0 * (1.0 - share));
            assert!((found / expected - 1.0).abs() < 0.1, "{share}: {found}, not {expected}");
        }
    }

    #[test]
    fn columns_that_every_row_has_are_fetched_once() {
        // 50 columns in every row, and one of its own in each.
        let cols = |row: u32| (0..50).chain([50 + row]);
        let col_idx: Vec<u32> = (0..5000).flat_map(cols).collect();
        let row_ptr: Vec<u64> = (0..=5000).map(|row| 51 * row).collect();
        let values = vec![1.0; col_idx.len()];
        let a = girih_formats::Csr::try_new(5000, 5050, row_ptr, col_idx, values).unwrap();
        let found = footprint(&a).fetched(200.0);
        assert!((found - 5050.0).abs() < 60.0, "{found}");
    }

    #[test]
    fn distances_by_hand() {
        // Used in turn: 0 1 2, 0 3, 1 2: after 0 come 1 and 2, after 1 come 2, 0 and 3.
        let col_idx = vec![0, 1, 2, 0, 3, 1, 2];
        let a = girih_formats::Csr::try_new(3, 4, vec![0, 3, 5, 7], col_idx, vec![1.0; 7]).unwrap();
        let found = footprint(&a);
        // A cache of 2 rows holds none of them, of 4 rows all.
        assert_eq!(
            [0.0, 1.0, 2.0, 4.0, 8.0].map(|rows| found.fetched(rows)),
            [7.0, 7.0, 7.0, 4.0, 4.0]
        );
        assert_eq!((found.near(), found.once(), found.far), (4.0, 4.0, 4.0));
        let better = found.reordered(2.0, 2.0);
        assert_eq!((better.near(), better.fetched(2.0)), (2.0, 7.0));
    }

    #[test]
    fn far_more_columns_than_entries_are_counted_too() {
        let wide = |ncols: usize| {
            let values = vec![1.0f32; 4];
            girih_formats::Csr::try_new(2, ncols, vec![0, 2, 4], vec![3, 70, 3, 71], values)
                .unwrap()
        };
        assert_eq!(footprint(&wide(u32::MAX as usize)), footprint(&wide(100)));
        assert_eq!(footprint(&wide(100)).once(), 3.0);
    }

    #[test]
    fn a_larger_cache_never_fetches_more() {
        for a in [banded(5000, 3000, 4, 9, 1).unwrap(), uniform(3000, 9000, 5, 2).unwrap()] {
            let found = footprint(&a);
            let sizes = (0..200).map(|i| 1.1f64.powi(i));
            let fetched: Vec<f64> = sizes.map(|size| found.fetched(size)).collect();
            assert!(fetched.is_sorted_by(|a, b| a * (1.0 + 1e-9) >= *b), "{fetched:?}");
            assert!(fetched[0] <= a.nnz() as f64 && fetched[199] == found.once());
        }
        let empty = girih_formats::Csr::<f32>::empty(0, 5).unwrap();
        assert_eq!(footprint(&empty).fetched(1.0), 0.0);
    }
}
