//! In what order entries visit the rows of B, and what a processor's prefetchers make of it.

use girih_formats::{Buffer, CsrPattern};
use girih_parallel::prelude::*;

use crate::thresholds::{PREFETCH_SAMPLES, PREFETCH_STREAM, PREFETCH_STRETCH};

/// Rows of B from the first to the last that a row of A uses, on average over the entries: O(m).
pub(crate) fn row_span(pattern: CsrPattern<'_>) -> usize {
    let weighted = |row: usize| match pattern.row(row) {
        [] => 0,
        // In 128 bits neither the product nor the sum overflows.
        cols => u128::from(cols[cols.len() - 1] - cols[0] + 1) * cols.len() as u128,
    };
    let spans: u128 = (0..pattern.nrows()).into_par_iter().map(weighted).sum();
    (spans / pattern.nnz().max(1) as u128) as usize
}

/// Whether most entries do not follow the entry before them by one column. Only the entries of
/// [`PREFETCH_SAMPLES`] stretches are counted.
pub(crate) fn has_scattered_columns(pattern: CsrPattern<'_>) -> bool {
    let step = (pattern.nnz() / PREFETCH_SAMPLES).max(PREFETCH_STRETCH);
    let (mut entries, mut follow) = (0, 0);
    for start in (0..pattern.nnz()).step_by(step) {
        let cols = &pattern.col_idx()[start..pattern.nnz().min(start + PREFETCH_STRETCH)];
        entries += cols.len();
        follow += cols.windows(2).filter(|pair| pair[0].checked_add(1) == Some(pair[1])).count();
    }
    2 * follow < entries
}

/// The share of entries whose row of B, of `row_bytes` bytes, the processor does not predict and a cache of
/// `cache` bytes does not hold; B is larger than the cache. O(entries of [`PREFETCH_SAMPLES`] stretches), and
/// a number for each row of B.
///
/// A row of B counts as predicted if the row before it was used shortly before: then the hardware prefetcher
/// follows.
pub(crate) fn unpredicted_share(pattern: CsrPattern<'_>, row_bytes: usize, cache: usize) -> f64 {
    // As many rows of B as the cache holds.
    let len = (cache / row_bytes).clamp(1, PREFETCH_STRETCH);
    let step = (pattern.nnz() / PREFETCH_SAMPLES).max(len);
    let Ok(mut last) = Buffer::zeroed(pattern.ncols()) else { return 0.0 };
    let mut recent = RecentRows { last: last.make_mut(), count: 0 };
    let (mut entries, mut unpredicted) = (0, 0);
    for start in (0..pattern.nnz()).step_by(step) {
        let stretch = &pattern.col_idx()[start..pattern.nnz().min(start + len)];
        entries += stretch.len() as u32;
        unpredicted += recent.count_unpredicted(stretch);
    }
    // A and C pass through the caches too, so half of the cache holds B.
    let beyond = 1.0 - cache as f64 / 2.0 / pattern.ncols() as f64 / row_bytes as f64;
    f64::from(unpredicted) * beyond / f64::from(entries.max(1))
}

/// When each row of B was last used.
struct RecentRows<'a> {
    /// By column, the number of the entry that used it last, counted from 1; 0 for none.
    last: &'a mut [u32],
    count: u32,
}

impl RecentRows<'_> {
    /// How many of a stretch's columns are new to it and not predicted.
    fn count_unpredicted(&mut self, cols: &[u32]) -> u32 {
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
    use girih_formats::Csr;
    use girih_generate::{fem_3d, uniform};

    use super::*;

    #[test]
    fn row_spans_are_averages_over_entries() {
        let (row_ptr, cols) = (vec![0, 3, 3, 4], vec![1, 2, 6, 5]);
        let csr = Csr::try_new(3, 9, row_ptr, cols, vec![1.0f32; 4]).unwrap();
        assert_eq!(row_span(csr.pattern()), (3 * 6 + 1) / 4);
        let empty = Csr::try_new(0, 0, vec![0], vec![], Vec::<f32>::new()).unwrap();
        assert_eq!(row_span(empty.pattern()), 0);
    }

    #[test]
    fn columns_are_new_once_in_a_stretch_and_predicted_by_the_one_before() {
        let mut last = [0; 10];
        let mut recent = RecentRows { last: &mut last, count: 0 };
        assert_eq!(recent.count_unpredicted(&[3, 4, 3, 4, 8, 0]), 3);
        assert_eq!(recent.count_unpredicted(&[4, 5, 9, 8]), 3);
    }

    #[test]
    fn pruned_weights_have_scattered_columns_and_finite_elements_do_not() {
        assert!(has_scattered_columns(uniform::<f32>(300, 300, 90, 1).unwrap().pattern()));
        assert!(!has_scattered_columns(fem_3d::<f32>(4, 4, 6, 3, 1).unwrap().pattern()));
        assert!(!has_scattered_columns(uniform::<f32>(0, 0, 0, 1).unwrap().pattern()));
    }
}
