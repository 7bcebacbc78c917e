//! Aᵀ as CSR, which is A as CSC.

use std::ops::Range;

use bytemuck::Zeroable;
use rayon::prelude::*;

use super::Csr;
use crate::convert::windows::{accumulate, row_chunks, split_at_ends};
use crate::{CsrPattern, Scalar};

/// Blocks of columns per thread: enough to even out what the sample misjudges.
const BLOCKS_PER_THREAD: usize = 4;

/// Entries looked at to find columns that split the entries evenly.
const SAMPLE: usize = 1 << 12;

/// Entries below which a block of columns of its own does not pay.
const MIN_BLOCK_ENTRIES: usize = 1 << 13;

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
pub(crate) fn transpose<V: Zeroable + Copy + Send + Sync>(
    pattern: CsrPattern<'_>,
    values: &[V],
) -> (Vec<u64>, Vec<u32>, Vec<V>) {
    let bounds = column_bounds(pattern);
    let runs = runs_by_block(pattern, &bounds);
    // Each block of columns owns one contiguous range of every output array.
    let mut ends: Vec<u64> = (0..bounds.len() - 1)
        .into_par_iter()
        .map(|b| runs.iter().flat_map(|chunk| &chunk[b]).map(|run| u64::from(run.len)).sum())
        .collect();
    accumulate(&mut ends);
    let nnz = pattern.nnz();
    let mut row_ptr = bytemuck::allocation::zeroed_vec(pattern.ncols() + 1);
    let mut row_idx = bytemuck::allocation::zeroed_vec(nnz);
    let mut carried = bytemuck::allocation::zeroed_vec(nnz);
    let offsets = split_at_ends(&mut row_ptr[1..], bounds[1..].iter().map(|&col| col as usize));
    let idx_pieces = split_at_ends(&mut row_idx, ends.iter().map(|&end| end as usize));
    let carried_pieces = split_at_ends(&mut carried, ends.iter().map(|&end| end as usize));
    (0..bounds.len() - 1)
        .into_par_iter()
        .with_max_len(1)
        .zip(offsets)
        .zip(idx_pieces.into_par_iter().zip(carried_pieces))
        .for_each(|((b, offsets), (row_idx, carried))| {
            let runs = || runs.iter().flat_map(|chunk| &chunk[b]);
            let first_col = bounds[b];
            for run in runs() {
                for &col in &pattern.col_idx()[run.entries()] {
                    offsets[(col - first_col) as usize] += 1;
                }
            }
            let mut start = 0;
            for offset in offsets.iter_mut() {
                start += std::mem::replace(offset, start);
            }
            for run in runs() {
                let entries = run.entries();
                for (&col, &value) in
                    pattern.col_idx()[entries.clone()].iter().zip(&values[entries])
                {
                    let offset = &mut offsets[(col - first_col) as usize];
                    let at = *offset as usize;
                    *offset += 1;
                    row_idx[at] = run.row;
                    carried[at] = value;
                }
            }
            // Every offset has moved from the start of its column to its end, where the next
            // column starts: what CSR keeps one place to the right.
            let block_start = if b == 0 { 0 } else { ends[b - 1] };
            for offset in offsets {
                *offset += block_start;
            }
        });
    (row_ptr, row_idx, carried)
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
    let nnz = pattern.nnz();
    let wanted = (rayon::current_num_threads() * BLOCKS_PER_THREAD).min(nnz / MIN_BLOCK_ENTRIES);
    let step = (nnz / SAMPLE).max(1);
    let mut sample: Vec<u32> = pattern.col_idx().iter().copied().step_by(step).collect();
    sample.sort_unstable();
    let mut bounds = vec![0];
    for b in 1..wanted {
        let bound = sample[b * sample.len() / wanted];
        if bounds.last().is_some_and(|&last| last < bound) {
            bounds.push(bound);
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
