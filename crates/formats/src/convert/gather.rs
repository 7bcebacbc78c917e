//! Tiles back into CSR.

use rayon::prelude::*;

use super::windows::{accumulate, slot_of_row};
use crate::csr::fill_rows;
use crate::{Csr, RowLayout, Scalar};

/// A tiling read row by row.
pub(crate) trait Rows<T: Scalar>: Sync {
    fn layout(&self) -> &RowLayout;

    fn ncols(&self) -> usize;

    /// Calls `entry(column, value)` for every entry of the row in `slot`, by column. Where zeros
    /// are not told from fill-in, they are no entries.
    fn for_each(&self, slot: usize, entry: impl FnMut(u32, T));

    /// Number of entries that [`for_each`](Self::for_each) visits.
    fn count(&self, slot: usize) -> usize {
        let mut count = 0;
        self.for_each(slot, |_, _| count += 1);
        count
    }

    /// Number of those that are not zero.
    fn count_nonzeros(&self, slot: usize) -> usize {
        let mut count = 0;
        self.for_each(slot, |_, value| count += usize::from(!value.is_zero()));
        count
    }
}

/// The stored nonzeros as CSR, rows in their original order: O(rows + elements stored), twice over
/// the tiles, nothing allocated but the result (and a slot per row of an explicit layout).
pub(crate) fn to_csr<T: Scalar, R: Rows<T>>(tiles: &R) -> Csr<T> {
    let nrows = tiles.layout().nrows();
    let slots = slot_of_row(tiles.layout());
    let slot = |row: usize| slots.as_ref().map_or(row, |slots| slots[row] as usize);
    let mut row_ptr = vec![0u64; nrows + 1];
    row_ptr[1..].par_iter_mut().with_min_len(64).enumerate().for_each(|(row, count)| {
        *count = tiles.count(slot(row)) as u64;
    });
    accumulate(&mut row_ptr);
    let (col_idx, values) = fill_rows(&row_ptr, |row, cols, values| {
        let mut places = cols.iter_mut().zip(values);
        tiles.for_each(slot(row), |col, value| {
            if let Some((to_col, to_value)) = places.next() {
                (*to_col, *to_value) = (col, value);
            }
        });
    });
    Csr::from_parts(nrows, tiles.ncols(), row_ptr, col_idx, values)
}
