//! Aᵀ as CSR, which is A as CSC.

use std::array;
use std::ops::Range;

use bytemuck::Pod;
use girih_parallel::prelude::*;

use super::Csr;
use crate::buffer::Buffer;
use crate::error::FormatError;
use crate::pattern::CsrPattern;
use crate::scalar::Scalar;
use crate::tilings::shared::windows::{accumulate, row_chunks, split_at_ends};

/// Entries looked at to find columns that split the entries evenly.
const SAMPLE: u64 = 1 << 13;

/// 2⁶⁴ divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

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
        T::csr_transpose(self)
    }

    /// [`transpose`](Self::transpose), [compiled once](crate::compiled).
    pub(crate) fn transpose_values(&self) -> Self {
        let (row_ptr, col_idx, values) = transpose(self.pattern(), &self.values);
        Self::from_parts(self.ncols, self.nrows, row_ptr, col_idx, values)
    }

    /// As [`transpose`](Self::transpose), with an error if there is no memory.
    pub(crate) fn try_transpose(&self) -> Result<Self, FormatError> {
        let (row_ptr, col_idx, values) = try_transpose(self.pattern(), &self.values)?;
        Ok(Self::from_parts(self.ncols, self.nrows, row_ptr, col_idx, values))
    }
}

/// Offsets, indices and what was carried along.
type Transposed<V> = (Buffer<u64>, Buffer<u32>, Buffer<V>);

/// Transposes a pattern with something at each entry.
pub(crate) fn transpose<V: Pod + Send + Sync>(
    pattern: CsrPattern<'_>,
    values: &[V],
) -> Transposed<V> {
    let nnz = pattern.nnz();
    let ptr = Buffer::zeroed_or_abort(pattern.ncols() + 1);
    transpose_into(
        pattern,
        values,
        (ptr, Buffer::zeroed_or_abort(nnz), Buffer::zeroed_or_abort(nnz)),
    )
}

/// As [`transpose`], with an error if there is no memory.
pub(crate) fn try_transpose<V: Pod + Send + Sync>(
    pattern: CsrPattern<'_>,
    values: &[V],
) -> Result<Transposed<V>, FormatError> {
    let nnz = pattern.nnz();
    let into = (Buffer::zeroed(pattern.ncols() + 1)?, Buffer::zeroed(nnz)?, Buffer::zeroed(nnz)?);
    Ok(transpose_into(pattern, values, into))
}

/// Transposes into zeros.
fn transpose_into<V: Pod + Send + Sync>(
    pattern: CsrPattern<'_>,
    values: &[V],
    into: Transposed<V>,
) -> Transposed<V> {
    // Cursors are the hot, randomly accessed part: half as wide is twice as many in cache.
    if u32::try_from(pattern.nnz()).is_ok() {
        transpose_with::<V, u32>(pattern, values, into)
    } else {
        transpose_with::<V, u64>(pattern, values, into)
    }
}

fn transpose_with<V: Pod + Send + Sync, C: Cursor>(
    pattern: CsrPattern<'_>,
    values: &[V],
    (mut row_ptr, mut row_idx, mut carried): Transposed<V>,
) -> Transposed<V> {
    let bounds = column_bounds(pattern);
    let n_blocks = bounds.len() - 1;
    let blocks = Blocks { pattern, runs: runs_by_block(pattern, &bounds) };
    // Each block of columns owns one contiguous range of every output array.
    let mut ends: Vec<u64> = (0..n_blocks).into_par_iter().map(|b| blocks.len(b)).collect();
    accumulate(&mut ends);
    let offsets =
        split_at_ends(&mut row_ptr.make_mut()[1..], bounds[1..].iter().map(|&col| col as usize));
    let idx_pieces = split_at_ends(row_idx.make_mut(), ends.iter().map(|&end| end as usize));
    let carried_pieces = split_at_ends(carried.make_mut(), ends.iter().map(|&end| end as usize));
    (0..n_blocks)
        .into_par_iter()
        .with_max_len(1)
        .zip(offsets)
        .zip(idx_pieces.into_par_iter().zip(carried_pieces))
        .for_each(|((b, offsets), (row_idx, carried))| {
            let first_col = bounds[b];
            let mut cursors = vec![C::default(); offsets.len()];
            for run in blocks.runs(b) {
                for &col in &pattern.col_idx()[blocks.entries(run)] {
                    cursors[(col - first_col) as usize].advance(1);
                }
            }
            let block_start = if b == 0 { 0 } else { ends[b - 1] };
            let mut start = 0;
            for (offset, cursor) in offsets.iter_mut().zip(&mut cursors) {
                let len = cursor.position() as u64;
                *cursor = C::at(start);
                start += len;
                *offset = block_start + start;
            }
            let mut columns = Columns { first_col, cursors: &mut cursors, row_idx, carried };
            if pattern.nnz() / pattern.nrows().max(1) < GROUPED_ROW {
                blocks
                    .for_each_row(b, |row, entries| columns.put_row(row, entries, pattern, values));
            } else {
                blocks.for_each_group(b, |group| columns.put(group, values));
            }
        });
    (row_ptr, row_idx, carried)
}

/// Where the next entry of a column goes, within its block of columns.
trait Cursor: Copy + Default {
    fn at(position: u64) -> Self;
    fn position(self) -> usize;
    fn advance(&mut self, entries: usize);
}

macro_rules! cursor {
    ($t:ty) => {
        impl Cursor for $t {
            fn at(position: u64) -> Self {
                position as $t
            }
            #[inline(always)]
            fn position(self) -> usize {
                self as usize
            }
            #[inline(always)]
            fn advance(&mut self, entries: usize) {
                *self += entries as $t;
            }
        }
    };
}

cursor!(u32);
cursor!(u64);

/// Rows taken together at most.
const GROUP: usize = 8;

/// Mean entries of a row from which looking whether the next row has the same columns saves time.
const GROUPED_ROW: usize = 24;

/// Rows with the same columns, as dense blocks and unknowns of one node have them: one look at a
/// column's cursor serves them all, and what they write lies side by side.
struct Group<'a> {
    cols: &'a [u32],
    len: usize,
    rows: [u32; GROUP],
    /// Where each row's entries start.
    starts: [usize; GROUP],
}

/// A block of columns being written.
struct Columns<'a, V, C> {
    first_col: u32,
    cursors: &'a mut [C],
    row_idx: &'a mut [u32],
    carried: &'a mut [V],
}

impl<V: Copy, C: Cursor> Columns<'_, V, C> {
    #[inline(always)]
    fn put_row(&mut self, row: u32, entries: Range<usize>, of: CsrPattern<'_>, values: &[V]) {
        for (&col, &value) in of.col_idx()[entries.clone()].iter().zip(&values[entries]) {
            let cursor = &mut self.cursors[(col - self.first_col) as usize];
            let at = cursor.position();
            cursor.advance(1);
            self.row_idx[at] = row;
            self.carried[at] = value;
        }
    }

    #[inline(always)]
    fn put(&mut self, group: &Group<'_>, values: &[V]) {
        match group.len {
            1 => self.put_rows::<1>(group, 0, values),
            3 => self.put_rows::<3>(group, 0, values),
            4 => self.put_rows::<4>(group, 0, values),
            6 => self.put_rows::<6>(group, 0, values),
            8 => self.put_rows::<8>(group, 0, values),
            _ => (0..group.len).for_each(|r| self.put_rows::<1>(group, r, values)),
        }
    }

    /// Puts `R` rows of the group, from row `first` on.
    #[inline(always)]
    fn put_rows<const R: usize>(&mut self, group: &Group<'_>, first: usize, values: &[V]) {
        let rows: [u32; R] = array::from_fn(|r| group.rows[first + r]);
        let values: [&[V]; R] =
            array::from_fn(|r| &values[group.starts[first + r]..][..group.cols.len()]);
        for (j, &col) in group.cols.iter().enumerate() {
            let cursor = &mut self.cursors[(col - self.first_col) as usize];
            let at = cursor.position();
            cursor.advance(R);
            self.row_idx[at..at + R].copy_from_slice(&rows);
            for (carried, values) in self.carried[at..at + R].iter_mut().zip(values) {
                *carried = values[j];
            }
        }
    }
}

/// The entries by blocks of columns.
struct Blocks<'a> {
    pattern: CsrPattern<'a>,
    /// For every chunk of rows and block of columns, the runs in order.
    runs: Vec<Vec<Vec<Run>>>,
}

impl Blocks<'_> {
    /// The runs of block `b`, in order.
    fn runs(&self, b: usize) -> impl Iterator<Item = &Run> {
        self.runs.iter().flat_map(move |chunk| &chunk[b])
    }

    /// Where a run's entries are.
    fn entries(&self, run: &Run) -> Range<usize> {
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
    fn len(&self, b: usize) -> u64 {
        self.runs(b).map(|run| self.entries(run).len() as u64).sum()
    }

    /// Hands over the rows' entries in block `b`, neighbours with the same columns together.
    #[inline(always)]
    fn for_each_group(&self, b: usize, mut f: impl FnMut(&Group<'_>)) {
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
    fn for_each_row(&self, b: usize, mut f: impl FnMut(u32, Range<usize>)) {
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
enum Run {
    /// All entries of some rows.
    Rows { start: u32, end: u32 },
    /// `len` entries of a row, from its entry `first` on.
    Part { row: u32, first: u32, len: u32 },
}

/// Cuts each row at the bounds: the runs of [`Blocks`].
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
fn column_bounds(pattern: CsrPattern<'_>) -> Vec<u32> {
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
