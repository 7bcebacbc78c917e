//! How a matrix uses the rows of B: what it takes from beyond which cache.

use girih_formats::{Buffer, Csr, Scalar};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::thresholds::*;

/// How often rows of B come from beyond a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fetches {
    /// Rows of B that any entry meets.
    pub(crate) met: usize,
    /// Times that one of them is fetched.
    pub(crate) fetched: usize,
}

impl Fetches {
    /// By a cache for so many of the `k` rows of B, of those that entries meet whose columns are given in the
    /// order in which they are multiplied: O(nnz), and room for a number for each row of B; `None` without
    /// that.
    ///
    /// In place of an order of all rows it holds there are two generations: a row is there if it was met
    /// in this one or in the one before. As a generation is two thirds of the cache, one and a half are
    /// there on average. Beside a cache that gives up the row that was not used for longest this counted
    /// none to two fifths more on nearly all of 13 matrices, of finite elements once 71 % more, once 15 %
    /// less.
    pub(crate) fn of(cols: &[&[u32]], k: usize, rows: usize) -> Option<Self> {
        let mut met_in = Buffer::<u32>::zeroed(k).ok()?;
        let met_in = met_in.make_mut();
        // So many at least that generations can be counted in 32 bits.
        let nnz: usize = cols.iter().map(|cols| cols.len()).sum();
        let room = (rows / 3 * 2).max(nnz >> 31).max(1);
        // Generations are counted from 2, so that no row was met in the one before the first.
        let (mut generation, mut used) = (2, 0);
        let (mut met, mut fetched) = (0, 0);
        for &col in cols.iter().copied().flatten() {
            let last = met_in[col as usize];
            if last == generation {
                continue;
            }
            if used == room {
                (generation, used) = (generation + 1, 0);
            }
            met += usize::from(last == 0);
            fetched += usize::from(last + 1 < generation);
            met_in[col as usize] = generation;
            used += 1;
        }
        Some(Self { met, fetched })
    }

    /// Of each row that is met, on average.
    pub(crate) fn of_each(&self) -> f64 {
        self.fetched as f64 / self.met.max(1) as f64
    }
}

/// Rows of B between the first and the last that a row of A meets, on average over the entries:
/// O(m).
pub(crate) fn span<T: Scalar>(csr: &Csr<T>) -> usize {
    let of_row = |row: usize| match csr.row(row).0 {
        [] => 0,
        // In 128 bits neither the product nor the sum overflows.
        cols => u128::from(cols[cols.len() - 1] - cols[0] + 1) * cols.len() as u128,
    };
    let spans: u128 = (0..csr.nrows()).into_par_iter().map(of_row).sum();
    (spans / csr.nnz().max(1) as u128) as usize
}

/// Whether most entries, of the [stretches](PREFETCH_STRETCH) that are looked at, do not follow the one before by a
/// column.
pub(crate) fn leaps<T: Scalar>(csr: &Csr<T>) -> bool {
    let step = (csr.nnz() / PREFETCH_SAMPLES).max(PREFETCH_STRETCH);
    let (mut entries, mut follow) = (0, 0);
    for start in (0..csr.nnz()).step_by(step) {
        let cols = &csr.col_idx()[start..csr.nnz().min(start + PREFETCH_STRETCH)];
        entries += cols.len();
        follow += cols.windows(2).filter(|pair| pair[0].checked_add(1) == Some(pair[1])).count();
    }
    2 * follow < entries
}

/// The share of entries whose row of B, of so many bytes, comes unpredicted from beyond a cache that does
/// not hold B: O(entries of 16 [stretches](PREFETCH_STRETCH)), and a number for each row of B.
pub(crate) fn unpredicted<T: Scalar>(csr: &Csr<T>, row_bytes: usize, cache: usize) -> f64 {
    // As many rows of B as the cache holds.
    let len = (cache / row_bytes).clamp(1, PREFETCH_STRETCH);
    let step = (csr.nnz() / PREFETCH_SAMPLES).max(len);
    let Ok(mut last) = Buffer::zeroed(csr.ncols()) else { return 0.0 };
    let mut seen = Seen { last: last.make_mut(), count: 0 };
    let (mut entries, mut unpredicted) = (0, 0);
    for start in (0..csr.nnz()).step_by(step) {
        let stretch = &csr.col_idx()[start..csr.nnz().min(start + len)];
        entries += stretch.len() as u32;
        unpredicted += seen.unpredicted(stretch);
    }
    // A and C pass through the caches too.
    let beyond = 1.0 - cache as f64 / 2.0 / csr.ncols() as f64 / row_bytes as f64;
    f64::from(unpredicted) * beyond / f64::from(entries.max(1))
}

/// Which columns were met, and when.
struct Seen<'a> {
    /// By column, the number of the entry that met it last, counted from 1; 0 for none.
    last: &'a mut [u32],
    count: u32,
}

impl Seen<'_> {
    /// How many of a stretch's columns are new to it, and not predicted.
    fn unpredicted(&mut self, cols: &[u32]) -> u32 {
        let (begin, mut unpredicted) = (self.count, 0);
        for &col in cols {
            let col = col as usize;
            if self.last[col] <= begin {
                let recent = begin.max(self.count.saturating_sub(PREFETCH_STREAM as u32));
                unpredicted += u32::from(col == 0 || self.last[col - 1] <= recent);
            }
            self.count += 1;
            self.last[col] = self.count;
        }
        unpredicted
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use girih_formats::generate::{fem_3d, rmat, uniform};

    use super::*;

    #[test]
    fn rows_stay_for_a_generation_and_the_next() {
        let cols = vec![0, 1, 2, 0, 3, 4, 1, 5, 0];
        let csr = Csr::try_new(9, 7, (0..=9).collect::<Vec<u64>>(), cols, vec![1.0f32; 9]).unwrap();
        let of = |rows| Fetches::of(&[csr.col_idx()], csr.ncols(), rows);
        // Generations of two rows: 0 1, 2 0, 3 4, 1 5, 0.
        assert_eq!(of(3), Some(Fetches { met: 6, fetched: 8 }));
        assert_eq!(of(9), Some(Fetches { met: 6, fetched: 6 }));
        assert_eq!(of(0), Some(Fetches { met: 6, fetched: 9 }));
    }

    #[test]
    fn a_cache_of_two_generations_fetches_about_what_one_in_order_of_use_does() {
        let rows = 300;
        for a in [uniform(2000, 1000, 8, 1).unwrap(), rmat(10, 16, 1).unwrap()] {
            let a: Csr<f32> = a;
            let (mut kept, mut fetched) = (VecDeque::new(), 0);
            for col in a.col_idx().iter() {
                match kept.iter().position(|held| held == col) {
                    Some(at) => drop(kept.remove(at)),
                    None => fetched += 1,
                }
                kept.push_front(*col);
                kept.truncate(rows);
            }
            let ratio = Fetches::of(&[a.col_idx()], a.ncols(), rows).unwrap().fetched as f64
                / f64::from(fetched);
            assert!((0.8..1.35).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn spans_are_averages_over_entries() {
        let (row_ptr, cols) = (vec![0, 3, 3, 4], vec![1, 2, 6, 5]);
        let csr = Csr::try_new(3, 9, row_ptr, cols, vec![1.0f32; 4]).unwrap();
        assert_eq!(span(&csr), (3 * 6 + 1) / 4);
        let empty = Csr::try_new(0, 0, vec![0], vec![], Vec::<f32>::new()).unwrap();
        assert_eq!(span(&empty), 0);
        assert_eq!(Fetches::of(&[], 0, 5).unwrap().of_each(), 0.0);
    }

    #[test]
    fn columns_are_new_once_in_a_stretch_and_predicted_by_the_one_before() {
        let mut last = [0; 10];
        let mut seen = Seen { last: &mut last, count: 0 };
        assert_eq!(seen.unpredicted(&[3, 4, 3, 4, 8, 0]), 3);
        assert_eq!(seen.unpredicted(&[4, 5, 9, 8]), 3);
    }

    #[test]
    fn weights_leap_and_elements_do_not() {
        assert!(leaps(&uniform::<f32>(300, 300, 90, 1).unwrap()));
        assert!(!leaps(&fem_3d::<f32>(4, 4, 6, 3, 1).unwrap()));
        assert!(!leaps(&uniform::<f32>(0, 0, 0, 1).unwrap()));
    }
}
