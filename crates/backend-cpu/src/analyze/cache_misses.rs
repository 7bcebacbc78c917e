//! Misses of a cache that holds some rows of B.

use girih_formats::Buffer;
use serde::{Deserialize, Serialize};

/// How often rows of B come from beyond a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CacheMisses {
    /// Rows of B that any entry uses.
    #[serde(rename = "met")]
    pub(crate) used_rows: usize,
    /// Times that one of them is fetched.
    #[serde(rename = "fetched")]
    pub(crate) misses: usize,
}

impl CacheMisses {
    /// Counts the misses of a cache of `rows` rows of B while `cols` are visited in order. B has `k` rows,
    /// all of them above every column. O(nnz) time, and a number for each row of B; `None` if there is no
    /// memory for these.
    ///
    /// The cache is a model of one that evicts the least recently used row. In place of an order of its rows
    /// it has two generations: a row is held if it was used in this generation or in the one before. A
    /// generation is two thirds of the cache, so that it holds one and a half generations on average.
    pub(crate) fn count(cols: &[&[u32]], k: usize, rows: usize) -> Option<Self> {
        let mut used_in = Buffer::<u32>::zeroed(k).ok()?;
        let used_in = used_in.make_mut();
        // At least this long, so that 32 bits can number the generations.
        let nnz: usize = cols.iter().map(|cols| cols.len()).sum();
        let generation_rows = (rows / 3 * 2).max(nnz >> 31).max(1);
        // The first generation is 2, so that no row was used in the one before it.
        let (mut generation, mut used) = (2, 0);
        let (mut used_rows, mut misses) = (0, 0);
        for &col in cols.iter().copied().flatten() {
            let last = used_in[col as usize];
            if last == generation {
                continue;
            }
            if used == generation_rows {
                (generation, used) = (generation + 1, 0);
            }
            used_rows += usize::from(last == 0);
            misses += usize::from(last + 1 < generation);
            used_in[col as usize] = generation;
            used += 1;
        }
        Some(Self { used_rows, misses })
    }

    /// Misses for each row that is used, on average.
    pub(crate) fn per_row(&self) -> f64 {
        self.misses as f64 / self.used_rows.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use girih_formats::Csr;
    use girih_generate::{rmat, uniform};

    use super::*;

    #[test]
    fn rows_stay_for_a_generation_and_the_next() {
        let cols = vec![0, 1, 2, 0, 3, 4, 1, 5, 0];
        let csr = Csr::try_new(9, 7, (0..=9).collect::<Vec<u64>>(), cols, vec![1.0f32; 9]).unwrap();
        let of = |rows| CacheMisses::count(&[csr.col_idx()], csr.ncols(), rows);
        // Generations of two rows: 0 1, 2 0, 3 4, 1 5, 0.
        assert_eq!(of(3), Some(CacheMisses { used_rows: 6, misses: 8 }));
        assert_eq!(of(9), Some(CacheMisses { used_rows: 6, misses: 6 }));
        assert_eq!(of(0), Some(CacheMisses { used_rows: 6, misses: 9 }));
    }

    #[test]
    fn two_generations_miss_about_as_often_as_the_least_recently_used_order() {
        let rows = 300;
        for a in [uniform(2000, 1000, 8, 1).unwrap(), rmat(10, 16, 1).unwrap()] {
            let a: Csr<f32> = a;
            let (mut kept, mut misses) = (VecDeque::new(), 0);
            for col in a.col_idx().iter() {
                match kept.iter().position(|held| held == col) {
                    Some(at) => drop(kept.remove(at)),
                    None => misses += 1,
                }
                kept.push_front(*col);
                kept.truncate(rows);
            }
            let ratio = CacheMisses::count(&[a.col_idx()], a.ncols(), rows).unwrap().misses as f64
                / f64::from(misses);
            assert!((0.8..1.35).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn rows_that_are_never_used_miss_nothing() {
        assert_eq!(CacheMisses::count(&[], 0, 5).unwrap().per_row(), 0.0);
    }
}
