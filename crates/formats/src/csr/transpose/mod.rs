//! Aᵀ as CSR, which is A as CSC.

mod blocks;

use std::array;
use std::ops::Range;

use bytemuck::Pod;
use girih_parallel::prelude::*;

use super::Csr;
use crate::buffer::Buffer;
use crate::error::FormatError;
use crate::pattern::CsrPattern;
use crate::scalar::Scalar;
use crate::tilings::shared::windows::{accumulate, split_at_ends};
use blocks::{ColumnBlocks, Group, column_bounds};

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

fn transpose_with<V: Pod + Send + Sync, C: ColumnCursor>(
    pattern: CsrPattern<'_>,
    values: &[V],
    (mut row_ptr, mut row_idx, mut carried): Transposed<V>,
) -> Transposed<V> {
    let bounds = column_bounds(pattern);
    let n_blocks = bounds.len() - 1;
    let blocks = ColumnBlocks::new(pattern, &bounds);
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
trait ColumnCursor: Copy + Default {
    fn at(position: u64) -> Self;
    fn position(self) -> usize;
    fn advance(&mut self, entries: usize);
}

macro_rules! cursor {
    ($t:ty) => {
        impl ColumnCursor for $t {
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

/// Mean entries of a row from which looking whether the next row has the same columns saves time.
const GROUPED_ROW: usize = 24;

/// A block of columns being written.
struct Columns<'a, V, C> {
    first_col: u32,
    cursors: &'a mut [C],
    row_idx: &'a mut [u32],
    carried: &'a mut [V],
}

impl<V: Copy, C: ColumnCursor> Columns<'_, V, C> {
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
