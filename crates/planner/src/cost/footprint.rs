//! How many rows of B stretches of A touch: what a cache has to hold for them to be used again.

use girih_formats::stats::SharedStats;
use girih_formats::{CsrPattern, FormatError, RowLayout};
use rayon::prelude::*;

/// Heights of stretches: 1, 4, 16 and so on, beyond any number of rows.
const LEVELS: usize = 17;

/// Entries that a height is sampled by at least, and the share of all that it is sampled by.
const LEAST_SAMPLED: usize = 1 << 16;
const SHARE_SAMPLED: usize = 16;

/// Rows of B that stretches of consecutive rows of A touch, on average, by their height.
///
/// What a cache of a certain size fetches follows from it: stretches of the height that fills the cache
/// each fetch what they touch (the footprint theory of locality; Xiang et al., *ASPLOS* 2013).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Footprint {
    nrows: f64,
    /// For a height of 4 to the power of the position, or all rows if that is less.
    touched: [f64; LEVELS],
}

impl Footprint {
    /// Of a pattern in an order of rows. Stretches of 16 rows are counted exactly, others sampled:
    /// O(nnz), in parallel; deterministic.
    ///
    /// # Errors
    /// If the layout cannot be cut into windows of 16 rows.
    pub fn of(shared: &SharedStats<'_>) -> Result<Self, FormatError> {
        let (pattern, layout) = (shared.pattern(), shared.layout());
        let nrows = pattern.nrows();
        let mut touched = [0.0; LEVELS];
        if nrows == 0 {
            return Ok(Self { nrows: 0.0, touched });
        }
        // From the first height on that has all rows, there is nothing more to touch.
        let all = (0..LEVELS - 1).find(|level| 1 << (2 * level) >= nrows).unwrap_or(LEVELS - 1);
        touched[..=all].par_iter_mut().with_max_len(1).enumerate().for_each(|(level, touched)| {
            *touched = sampled(pattern, layout, 1 << (2 * level));
        });
        let near: u64 = shared.unions(16, 1)?.iter().map(|&cols| u64::from(cols)).sum();
        touched[2] = near as f64 / nrows.div_ceil(16) as f64;
        // What is sampled may shrink where what is counted cannot.
        for level in 1..LEVELS {
            touched[level] = touched[level].max(touched[level - 1]);
        }
        Ok(Self { nrows: nrows as f64, touched })
    }

    /// Rows of B that all rows of A touch.
    #[must_use]
    pub fn once(&self) -> f64 {
        self.touched[LEVELS - 1]
    }

    /// Rows of B that windows of 16 rows fetch.
    #[must_use]
    pub fn near(&self) -> f64 {
        self.touched[2] * (self.nrows / 16.0).ceil()
    }

    /// Rows of B that are fetched into a cache that holds so many of them.
    #[must_use]
    pub fn fetched(&self, cached: f64) -> f64 {
        let Some(above) = self.touched.iter().position(|&touched| touched > cached) else {
            return self.once();
        };
        if above == 0 {
            return self.touched[0] * self.nrows;
        }
        // Straight between two heights: the same bits on every machine, unlike a power.
        let (low, high) = (self.touched[above - 1], self.touched[above]);
        let height = (1u64 << (2 * (above - 1))) as f64;
        let height = height * (1.0 + 3.0 * (cached - low) / (high - low));
        (self.nrows / height * cached).max(self.once())
    }
}

/// Columns that stretches of `height` rows touch, on average over some that are spread evenly.
fn sampled(pattern: CsrPattern<'_>, layout: &RowLayout, height: usize) -> f64 {
    let nrows = layout.n_slots();
    let stretches = nrows.div_ceil(height).max(1);
    let entries = (pattern.nnz() / stretches).max(1);
    let wanted = (pattern.nnz() / SHARE_SAMPLED).max(LEAST_SAMPLED) / entries;
    let count = wanted.clamp(1, stretches);
    let mut met = vec![0u64; pattern.ncols().div_ceil(64)];
    let mut touched = 0usize;
    for i in 0..count {
        let first = (i as u128 * stretches as u128 / count as u128) as usize * height;
        let rows = (first..nrows.min(first + height)).filter_map(|slot| layout.row(slot));
        for row in rows.clone() {
            for &col in pattern.row(row) {
                let (word, bit) = (&mut met[col as usize / 64], 1u64 << (col % 64));
                touched += usize::from(*word & bit == 0);
                *word |= bit;
            }
        }
        for row in rows {
            pattern.row(row).iter().for_each(|&col| met[col as usize / 64] = 0);
        }
    }
    touched as f64 / count as f64
}

#[cfg(test)]
mod tests {
    use girih_formats::generate::{banded, uniform};

    use super::*;

    fn footprint(a: &girih_formats::Csr<f32>) -> Footprint {
        let rows = RowLayout::natural(a.nrows(), 1).unwrap();
        Footprint::of(&SharedStats::new(a.pattern(), &rows)).unwrap()
    }

    #[test]
    fn a_band_needs_little_cache_and_scattered_entries_all_of_b() {
        let band = footprint(&banded(20_000, 20_000, 10, 10, 1).unwrap());
        assert!((band.once() - 20_000.0).abs() < 1.0);
        // A cache for some hundred rows fetches hardly anything twice.
        assert!(band.fetched(400.0) < 22_000.0, "{}", band.fetched(400.0));
        assert!(band.fetched(25.0) > 60_000.0, "{}", band.fetched(25.0));
        let scattered = footprint(&uniform(20_000, 20_000, 20, 1).unwrap());
        assert!(scattered.fetched(400.0) > 350_000.0, "{}", scattered.fetched(400.0));
        assert_eq!(scattered.fetched(20_000.0), scattered.once());
    }

    #[test]
    fn a_larger_cache_never_fetches_more() {
        for a in [banded(5000, 3000, 4, 9, 1).unwrap(), uniform(3000, 9000, 5, 2).unwrap()] {
            let found = footprint(&a);
            let sizes = (0..200).map(|i| 1.1f64.powi(i));
            let fetched: Vec<f64> = sizes.map(|size| found.fetched(size)).collect();
            assert!(fetched.is_sorted_by(|a, b| a * (1.0 + 1e-9) >= *b), "{fetched:?}");
            assert!(fetched[0] <= a.nnz() as f64 * 1.05 && fetched[199] == found.once());
        }
        let empty = girih_formats::Csr::<f32>::empty(0, 5).unwrap();
        assert_eq!(footprint(&empty).fetched(1.0), 0.0);
    }
}
