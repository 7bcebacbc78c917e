//! The entries of a matrix by blocks of columns, one for each thread.

use std::ops::Range;

use girih_parallel::prelude::*;

use crate::pattern::CsrPattern;
use crate::tilings::shared::windows::row_chunks;

/// Entries looked at to find columns that split the entries evenly.
const SAMPLE: u64 = 1 << 13;

/// 2⁶⁴ divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Entries below which a block of columns of its own does not pay.
const MIN_BLOCK_ENTRIES: usize = 1 << 13;

/// Rows taken together at most.
const GROUP: usize = 8;

/// Rows with the same columns, as dense blocks and unknowns of one node have them: one look at a
/// column's cursor serves them all, and what they write lies side by side.
pub(super) struct Group<'a> {
    pub(super) cols: &'a [u32],
    pub(super) len: usize,
    pub(super) rows: [u32; GROUP],
    /// Where each row's entries start.
    pub(super) starts: [usize; GROUP],
}

/// The entries by blocks of columns.
pub(super) struct ColumnBlocks<'a> {
    pattern: CsrPattern<'a>,
    /// For every chunk of rows and block of columns, the runs in order.
    runs: Vec<Vec<Vec<Run>>>,
}

impl<'a> ColumnBlocks<'a> {
    /// The entries of a pattern, cut at these columns.
    pub(super) fn new(pattern: CsrPattern<'a>, bounds: &[u32]) -> Self {
        Self { pattern, runs: runs_by_block(pattern, bounds) }
    }

    /// The runs of block `b`, in order.
    pub(super) fn runs(&self, b: usize) -> impl Iterator<Item = &Run> {
        self.runs.iter().flat_map(move |chunk| &chunk[b])
    }

    /// Where a run's entries are.
    pub(super) fn entries(&self, run: &Run) -> Range<usize> {
        let row_ptr = self.pattern.row_ptr();
        match *run {
            Run::Rows { start, end } => {
                row_ptr[start as usize] as usize..row_ptr[end as usize] as usize
            }
            Run::Part { row, first, len } => {
                let start = row_ptr[row as usize] as usize + first as usize;
                start..start + len as usize
            }
        }
    }

    /// Entries of block `b`.
    pub(super) fn len(&self, b: usize) -> u64 {
        self.runs(b).map(|run| self.entries(run).len() as u64).sum()
    }

    /// Hands over the rows' entries in block `b`, neighbours with the same columns together.
    #[inline(always)]
    pub(super) fn for_each_group(&self, b: usize, mut f: impl FnMut(&Group<'_>)) {
        let mut group = Group { cols: &[], len: 0, rows: [0; GROUP], starts: [0; GROUP] };
        self.for_each_row(b, |row, entries| {
            let start = entries.start;
            let cols = &self.pattern.col_idx()[entries];
            // Most neighbours that differ do so at once.
            let same = cols.first() == group.cols.first() && cols == group.cols;
            if group.len == GROUP || !same {
                f(&group);
                group.cols = cols;
                group.len = 0;
            }
            group.rows[group.len] = row;
            group.starts[group.len] = start;
            group.len += 1;
        });
        f(&group);
    }

    /// Hands over each row's entries in block `b`, in order of rows.
    #[inline(always)]
    pub(super) fn for_each_row(&self, b: usize, mut f: impl FnMut(u32, Range<usize>)) {
        for run in self.runs(b) {
            match *run {
                Run::Rows { start, end } => {
                    (start..end).for_each(|row| f(row, self.pattern.row_range(row as usize)));
                }
                Run::Part { row, .. } => f(row, self.entries(run)),
            }
        }
    }
}

/// Entries that fall into one block of columns.
pub(super) enum Run {
    /// All entries of some rows.
    Rows { start: u32, end: u32 },
    /// `len` entries of a row, from its entry `first` on.
    Part { row: u32, first: u32, len: u32 },
}

/// Cuts each row at the bounds: the runs of [`ColumnBlocks`].
fn runs_by_block(pattern: CsrPattern<'_>, bounds: &[u32]) -> Vec<Vec<Vec<Run>>> {
    let blocks = &bounds[1..];
    if blocks.len() == 1 {
        return vec![vec![vec![Run::Rows { start: 0, end: pattern.nrows() as u32 }]]];
    }
    row_chunks(pattern.row_ptr())
        .into_par_iter()
        .map(|rows| {
            let mut runs: Vec<Vec<Run>> = blocks.iter().map(|_| Vec::new()).collect();
            // Neighbouring rows tend to lie in the same block.
            let mut b = 0;
            for row in rows {
                let cols = pattern.row(row);
                let row = row as u32;
                let mut first = 0;
                while let Some(&col) = cols.get(first) {
                    if !(bounds[b]..blocks[b]).contains(&col) {
                        b = blocks.partition_point(|&end| end <= col);
                    }
                    let inside = |&col: &u32| col < blocks[b];
                    let len = if cols.last().is_some_and(inside) {
                        cols.len() - first
                    } else {
                        cols[first..].partition_point(inside)
                    };
                    if len < cols.len() {
                        runs[b].push(Run::Part { row, first: first as u32, len: len as u32 });
                    } else if let Some(Run::Rows { end, .. }) = runs[b].last_mut()
                        && *end == row
                    {
                        *end += 1;
                    } else {
                        runs[b].push(Run::Rows { start: row, end: row + 1 });
                    }
                    first += len;
                }
            }
            runs
        })
        .collect()
}

/// Columns that cut the entries into blocks of about equal number: 0, …, `ncols`. A sample of the
/// entries decides; the result of the transposition does not depend on it.
pub(super) fn column_bounds(pattern: CsrPattern<'_>) -> Vec<u32> {
    let (nnz, threads) = (pattern.nnz(), girih_parallel::current_num_threads());
    let blocks = threads.min(nnz / MIN_BLOCK_ENTRIES);
    let mut bounds = vec![0];
    if blocks > 1 {
        // Multiples of the golden ratio, modulo 1: spread evenly and in step with no row length.
        let position = |i: u64| ((u128::from(i.wrapping_mul(GOLDEN)) * nnz as u128) >> 64) as usize;
        let mut sample: Vec<u32> = (0..SAMPLE).map(|i| pattern.col_idx()[position(i)]).collect();
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
