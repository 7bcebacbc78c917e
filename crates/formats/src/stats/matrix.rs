//! Statistics of a matrix.

use std::sync::atomic::{AtomicU64, Ordering};

use girih_parallel::prelude::*;
use serde::{Deserialize, Serialize};

use crate::csr::Csr;
use crate::pattern::CsrPattern;
use crate::scalar::Scalar;
use crate::tilings::shared::windows::row_chunks;

/// Shape and structure of a matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MatrixStats {
    /// Number of rows (m).
    pub nrows: usize,
    /// Number of columns (k).
    pub ncols: usize,
    /// Stored entries, explicit zeros included.
    pub nnz: usize,
    /// `nnz / (nrows · ncols)`; 0 if there are no positions.
    pub density: f64,
    /// Rows without entries.
    pub empty_rows: usize,
    /// Columns without entries.
    pub empty_cols: usize,
    /// Entries of the fullest row.
    pub max_row_nnz: usize,
    /// Entries per row on average; 0 if there are no rows.
    pub mean_row_nnz: f64,
    /// Coefficient of variation of the row lengths: standard deviation over mean; 0 if there are no
    /// entries.
    pub row_nnz_cv: f64,
    /// Largest `|i − j|` of an entry (i, j).
    pub bandwidth: usize,
    /// Σ over rows of `i − min(i, j)` for the row's first entry (i, j): the area of the lower
    /// triangle's envelope.
    pub profile: u64,
    /// Whether the matrix is square and (j, i) is an entry wherever (i, j) is.
    pub symmetric_pattern: bool,
}

/// What a run of rows contributes.
#[derive(Clone, Copy, Default)]
struct Partial {
    empty_rows: usize,
    max_row_nnz: usize,
    squares: u128,
    bandwidth: usize,
    profile: u64,
    below: u64,
    above: u64,
}

impl Partial {
    fn row(mut self, i: usize, cols: &[u32]) -> Self {
        let (Some(&first), Some(&last)) = (cols.first(), cols.last()) else {
            self.empty_rows += 1;
            return self;
        };
        self.max_row_nnz = self.max_row_nnz.max(cols.len());
        self.squares += (cols.len() as u128).pow(2);
        let reach = i.abs_diff(first as usize).max(i.abs_diff(last as usize));
        self.bandwidth = self.bandwidth.max(reach);
        self.profile += i.saturating_sub(first as usize) as u64;
        let below = cols.partition_point(|&col| (col as usize) < i);
        let diagonal = usize::from(cols.get(below).is_some_and(|&col| col as usize == i));
        self.below += below as u64;
        self.above += (cols.len() - below - diagonal) as u64;
        self
    }

    fn merge(self, other: Self) -> Self {
        Self {
            empty_rows: self.empty_rows + other.empty_rows,
            max_row_nnz: self.max_row_nnz.max(other.max_row_nnz),
            squares: self.squares + other.squares,
            bandwidth: self.bandwidth.max(other.bandwidth),
            profile: self.profile + other.profile,
            below: self.below + other.below,
            above: self.above + other.above,
        }
    }
}

impl MatrixStats {
    /// Measures a matrix: O(nrows + ncols + nnz), in parallel.
    ///
    /// Allocates a bit per column, or a copy of the column indices if that is much less; and, only if a square matrix has as many entries below its
    /// diagonal as above, its transposed pattern to compare with.
    #[must_use]
    pub fn of(pattern: CsrPattern<'_>) -> Self {
        let (nrows, ncols, nnz) = (pattern.nrows(), pattern.ncols(), pattern.nnz());
        let few = nnz < ncols.saturating_sub(1 << 24) / 64;
        let words = if few { 0 } else { ncols.div_ceil(64) };
        let used: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
        let rows = row_chunks(pattern.row_ptr())
            .into_par_iter()
            .map(|rows| {
                rows.fold(Partial::default(), |partial, i| {
                    let cols = pattern.row(i);
                    if !few {
                        for &col in cols {
                            mark(&used[col as usize / 64], 1 << (col % 64));
                        }
                    }
                    partial.row(i, cols)
                })
            })
            .reduce(Partial::default, Partial::merge);
        let used_cols: usize = if few {
            distinct(pattern.col_idx())
        } else {
            used.iter().map(|word| word.load(Ordering::Relaxed).count_ones() as usize).sum()
        };
        let mean = ratio(nnz as f64, nrows as f64);
        let variance = ratio(rows.squares as f64, nrows as f64) - mean * mean;
        Self {
            nrows,
            ncols,
            nnz,
            density: ratio(nnz as f64, nrows as f64 * ncols as f64),
            empty_rows: rows.empty_rows,
            empty_cols: ncols - used_cols,
            max_row_nnz: rows.max_row_nnz,
            mean_row_nnz: mean,
            row_nnz_cv: ratio(variance.max(0.0).sqrt(), mean),
            bandwidth: rows.bandwidth,
            profile: rows.profile,
            symmetric_pattern: nrows == ncols && rows.below == rows.above && symmetric(pattern),
        }
    }
}

/// How many different columns there are. O(n log n).
fn distinct(cols: &[u32]) -> usize {
    let mut cols = cols.to_vec();
    cols.par_sort_unstable();
    cols.dedup();
    cols.len()
}

/// Sets a bit. Most are set already, and then the word is only read: no line bounces.
#[inline]
fn mark(word: &AtomicU64, bit: u64) {
    if word.load(Ordering::Relaxed) & bit == 0 {
        word.fetch_or(bit, Ordering::Relaxed);
    }
}

fn symmetric(pattern: CsrPattern<'_>) -> bool {
    let (row_ptr, row_idx) = pattern.transpose();
    row_ptr[..] == *pattern.row_ptr() && row_idx[..] == *pattern.col_idx()
}

fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / b }
}

impl<T: Scalar> Csr<T> {
    /// Number of entries whose value is a zero of either sign. O(nnz), in parallel.
    #[must_use]
    pub fn explicit_zeros(&self) -> usize {
        self.values().par_iter().with_min_len(1 << 14).filter(|v| v.is_zero()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(nrows: usize, ncols: usize, row_ptr: Vec<u64>, col_idx: Vec<u32>) -> MatrixStats {
        let values = vec![1.0f32; col_idx.len()];
        MatrixStats::of(Csr::try_new(nrows, ncols, row_ptr, col_idx, values).unwrap().pattern())
    }

    #[test]
    fn a_small_matrix_by_hand() {
        // [ 1 . . 1 ]
        // [ . . . . ]
        // [ . . 1 . ]
        // [ 1 . . . ]
        let s = stats(4, 4, vec![0, 2, 2, 3, 4], vec![0, 3, 2, 0]);
        assert_eq!((s.empty_rows, s.empty_cols, s.max_row_nnz), (1, 1, 2));
        assert_eq!((s.bandwidth, s.profile, s.density), (3, 3, 0.25));
        assert_eq!((s.mean_row_nnz, s.row_nnz_cv), (1.0, 0.5f64.sqrt()));
        assert!(s.symmetric_pattern);
    }

    #[test]
    fn columns_are_counted_where_there_are_far_more_than_entries() {
        let s = stats(2, u32::MAX as usize, vec![0, 2, 4], vec![3, u32::MAX - 1, 3, 70]);
        assert_eq!(s.empty_cols, u32::MAX as usize - 3);
    }

    #[test]
    fn equal_halves_alone_do_not_make_a_matrix_symmetric() {
        assert!(stats(3, 3, vec![0, 1, 2, 2], vec![1, 0]).symmetric_pattern);
        assert!(!stats(3, 3, vec![0, 1, 1, 2], vec![1, 0]).symmetric_pattern);
        assert!(!stats(2, 3, vec![0, 1, 2], vec![1, 0]).symmetric_pattern);
    }

    #[test]
    fn an_empty_matrix_has_no_ratios() {
        let s = stats(0, 0, vec![0], vec![]);
        assert_eq!((s.density, s.mean_row_nnz, s.row_nnz_cv), (0.0, 0.0, 0.0));
        assert!(s.symmetric_pattern);
    }
}
