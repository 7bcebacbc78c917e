//! Aᵀ as CSR, which is A as CSC.

use std::ops::Range;

use bytemuck::Pod;
use rayon::prelude::*;

use super::Csr;
use crate::convert::windows::{accumulate, row_chunks, split_at_ends};
use crate::{Buffer, CsrPattern, Scalar};

/// Blocks of columns per thread: enough to even out what the sample misjudges.
const BLOCKS_PER_THREAD: usize = 2;

/// Entries looked at to find columns that split the entries evenly.
const SAMPLE: usize = 1 << 13;

/// Entries below which a block of columns of its own does not pay.
const MIN_BLOCK_ENTRIES: usize = 1 << 13;

/// Columns that can be written to side by side from the first-level cache: two lines each.
const CACHED_COLS: usize = 256;

/// Rows whose entries are visited strip by strip, so that a strip's lines fill up while cached.
const PANEL_ROWS: usize = 32;

/// Entries of a row in a strip that make the visit worth it.
const STRIP_ENTRIES: usize = 8;

impl<T: Scalar> Csr<T> {
    /// The transpose; its arrays are the CSC of this matrix.
    ///
    /// O(nrows + ncols + nnz), in parallel, the same bytes on any number of threads. Allocates the
    /// result and one 16-byte record for each run of a row's entries that falls into one of a few
    /// blocks of columns per thread.
    ///
    /// ```
    /// use girih_formats::Csr;
    ///
    /// let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 0], vec![1.0f32, 2.0, 3.0])?;
    /// let t = a.transpose();
    /// assert_eq!((t.nrows(), t.ncols()), (3, 2));
    /// assert_eq!(t.row(0), (&[0, 1][..], &[1.0, 3.0][..]));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[must_use]
    pub fn transpose(&self) -> Self {
        let (row_ptr, col_idx, values) = transpose(self.pattern(), &self.values);
        Self::from_parts(self.ncols, self.nrows, row_ptr, col_idx, values)
    }
}

/// Transposes a pattern with something at each entry: offsets, indices and what was carried along.
pub(crate) fn transpose<V: Pod + Send + Sync>(
    pattern: CsrPattern<'_>,
    values: &[V],
) -> (Buffer<u64>, Buffer<u32>, Buffer<V>) {
    let bounds = column_bounds(pattern);
    let runs = runs_by_block(pattern, &bounds);
    // Each block of columns owns one contiguous range of every output array.
    let mut ends: Vec<u64> = (0..bounds.len() - 1)
        .into_par_iter()
        .map(|b| runs.iter().flat_map(|chunk| &chunk[b]).map(|run| u64::from(run.len)).sum())
        .collect();
    accumulate(&mut ends);
    let nnz = pattern.nnz();
    let mut row_ptr = Buffer::<u64>::zeroed_or_abort(pattern.ncols() + 1);
    let mut row_idx = Buffer::<u32>::zeroed_or_abort(nnz);
    let mut carried = Buffer::<V>::zeroed_or_abort(nnz);
    let offsets =
        split_at_ends(&mut row_ptr.make_mut()[1..], bounds[1..].iter().map(|&col| col as usize));
    let idx_pieces = split_at_ends(row_idx.make_mut(), ends.iter().map(|&end| end as usize));
    let carried_pieces = split_at_ends(carried.make_mut(), ends.iter().map(|&end| end as usize));
    (0..bounds.len() - 1)
        .into_par_iter()
        .with_max_len(1)
        .zip(offsets)
        .zip(idx_pieces.into_par_iter().zip(carried_pieces))
        .for_each(|((b, offsets), (row_idx, carried))| {
            let runs: Vec<&[Run]> = runs.iter().map(|chunk| &chunk[b][..]).collect();
            let block_start = if b == 0 { 0 } else { ends[b - 1] };
            let first_col = bounds[b];
            count_columns(pattern, &runs, first_col, offsets);
            let mut columns = Columns { first_col, offsets, row_idx, carried };
            columns.scatter(pattern, values, &runs);
            // Every offset has moved from the start of its column to its end, where the next
            // column starts: what CSR keeps one place to the right.
            for offset in columns.offsets {
                *offset += block_start;
            }
        });
    (row_ptr, row_idx, carried)
}

/// Turns zeros into the offset of each column, counted from the first of the block.
fn count_columns(pattern: CsrPattern<'_>, runs: &[&[Run]], first_col: u32, offsets: &mut [u64]) {
    for run in runs.iter().copied().flatten() {
        for &col in &pattern.col_idx()[run.entries()] {
            offsets[(col - first_col) as usize] += 1;
        }
    }
    let mut start = 0;
    for offset in offsets {
        start += std::mem::replace(offset, start);
    }
}

/// A block of columns being written.
struct Columns<'a, V> {
    first_col: u32,
    /// Where the next entry of each column goes.
    offsets: &'a mut [u64],
    row_idx: &'a mut [u32],
    carried: &'a mut [V],
}

impl<V: Copy> Columns<'_, V> {
    fn scatter(&mut self, pattern: CsrPattern<'_>, values: &[V], runs: &[&[Run]]) {
        let n_cols = self.offsets.len();
        let n_runs: usize = runs.iter().map(|chunk| chunk.len()).sum();
        let mean_run = self.carried.len() / n_runs.max(1);
        let n_strips = (n_cols / CACHED_COLS).min(mean_run / STRIP_ENTRIES);
        if n_strips < 2 {
            for run in runs.iter().copied().flatten() {
                let entries = run.entries();
                self.put(run.row, &pattern.col_idx()[entries.clone()], &values[entries]);
            }
            return;
        }
        let strip_cols = n_cols.div_ceil(n_strips);
        for panel in runs.iter().flat_map(|chunk| chunk.chunks(PANEL_ROWS)) {
            let mut next = [0; PANEL_ROWS];
            for (next, run) in next.iter_mut().zip(panel) {
                *next = run.entries().start;
            }
            for strip in 1..=n_strips {
                let end = self.first_col as usize + strip * strip_cols;
                for (next, run) in next.iter_mut().zip(panel) {
                    let cols = &pattern.col_idx()[*next..run.entries().end];
                    let len = cols.iter().take_while(|&&col| (col as usize) < end).count();
                    self.put(run.row, &cols[..len], &values[*next..]);
                    *next += len;
                }
            }
        }
    }

    #[inline(always)]
    fn put(&mut self, row: u32, cols: &[u32], values: &[V]) {
        for (&col, &value) in cols.iter().zip(values) {
            let offset = &mut self.offsets[(col - self.first_col) as usize];
            let at = *offset as usize;
            *offset += 1;
            self.row_idx[at] = row;
            self.carried[at] = value;
        }
    }
}

/// The entries of one row that fall into one block of columns.
struct Run {
    start: u64,
    len: u32,
    row: u32,
}

impl Run {
    fn entries(&self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// Cuts each row at the bounds: for every chunk of rows and block of columns, the runs in order.
fn runs_by_block(pattern: CsrPattern<'_>, bounds: &[u32]) -> Vec<Vec<Vec<Run>>> {
    let blocks = &bounds[1..];
    row_chunks(pattern.row_ptr())
        .into_par_iter()
        .map(|rows| {
            let mut runs: Vec<Vec<Run>> = blocks.iter().map(|_| Vec::new()).collect();
            for row in rows {
                let mut start = pattern.row_ptr()[row];
                let mut cols = pattern.row(row);
                while let Some(&first) = cols.first() {
                    let b = blocks.partition_point(|&end| end <= first);
                    let inside = |&col: &u32| col < blocks[b];
                    let len = if cols.last().is_some_and(inside) {
                        cols.len()
                    } else {
                        cols.partition_point(inside)
                    };
                    runs[b].push(Run { start, len: len as u32, row: row as u32 });
                    start += len as u64;
                    cols = &cols[len..];
                }
            }
            runs
        })
        .collect()
}

/// Columns that cut the entries into blocks of about equal number: 0, …, `ncols`. A sample of the
/// entries decides; the result of the transposition does not depend on it.
fn column_bounds(pattern: CsrPattern<'_>) -> Vec<u32> {
    let (nnz, threads) = (pattern.nnz(), rayon::current_num_threads());
    let wanted = if threads == 1 { 1 } else { threads * BLOCKS_PER_THREAD };
    let blocks = wanted.min(nnz / MIN_BLOCK_ENTRIES);
    let mut bounds = vec![0];
    if blocks > 1 {
        let sample = pattern.col_idx().iter().copied().step_by((nnz / SAMPLE).max(1));
        let mut sample: Vec<u32> = sample.collect();
        sample.sort_unstable();
        for b in 1..blocks {
            let bound = sample[b * sample.len() / blocks];
            if bounds.last().is_some_and(|&last| last < bound) {
                bounds.push(bound);
            }
        }
    }
    bounds.push(pattern.ncols() as u32);
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rectangle_with_empty_rows_and_columns() {
        // [ . 1 . 2 ]
        // [ . . . . ]
        // [ 3 4 . 5 ]
        let a = Csr::try_new(
            3,
            4,
            vec![0, 2, 2, 5],
            vec![1, 3, 0, 1, 3],
            vec![1.0f64, 2.0, 3.0, 4.0, 5.0],
        )
        .unwrap();
        let t = a.transpose();
        assert_eq!(t.row_ptr()[..], [0, 1, 3, 3, 5]);
        assert_eq!(t.col_idx()[..], [2, 0, 2, 0, 2]);
        assert_eq!(t.values()[..], [3.0, 1.0, 4.0, 2.0, 5.0]);
        assert_eq!(t.transpose(), a);
        for (m, k) in [(0, 0), (0, 3), (3, 0)] {
            let empty = Csr::<f32>::empty(m, k).unwrap();
            assert_eq!(empty.transpose(), Csr::empty(k, m).unwrap());
        }
    }
}
