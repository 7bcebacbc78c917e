//! Tiles back into CSR.

use girih_parallel::prelude::*;

use super::windows::accumulate;
use crate::csr::{Csr, fill_rows};
use crate::layout::RowLayout;
use crate::scalar::Scalar;

/// A tiling read row by row.
pub(crate) trait Rows<T: Scalar>: Sync {
    fn layout(&self) -> &RowLayout;

    fn ncols(&self) -> usize;

    /// Calls `entry(column, value)` for every entry of the row in `slot`, by column. Where zeros
    /// look like fill-in, so they are no entries.
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
    let slots = tiles.layout().slot_of_rows();
    let slot = |row: usize| slots.as_ref().map_or(row, |slots| slots[row]);
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

#[cfg(test)]
mod tests {
    use crate::convert::SlotMap;
    use crate::csr::Csr;
    use crate::error::FormatError;
    use crate::layout::RowLayout;
    use crate::tilings::{Bcsr, BlockedEll, FormatSpec, Tiling};

    /// One row of three columns, with a value stored for a fourth.
    const VALUES: [f32; 8] = [1.0, 0.0, 2.0, 9.0, 0.0, 0.0, 0.0, 0.0];

    #[test]
    fn values_past_the_last_column_are_no_entries() {
        let expected = Csr::try_new(1, 3, vec![0, 2], vec![0, 2], vec![1.0, 2.0]).unwrap();
        let layout = || RowLayout::natural(1, 2).unwrap();
        let t = Bcsr::try_new(layout(), 3, 2, 4, vec![0, 1], vec![0], VALUES.to_vec()).unwrap();
        assert_eq!(t.to_csr(), expected);
        let values = vec![1.0, 0.0, 2.0, 9.0, 0.0, 0.0, 0.0, 0.0];
        let t = BlockedEll::try_new(layout(), 3, 2, 2, vec![0, 1], values).unwrap();
        assert_eq!(t.to_csr(), expected);
    }

    #[test]
    fn a_slot_past_the_last_column_is_no_entry() {
        let a = Csr::try_new(1, 5, vec![0, 1], vec![4], vec![1.0f32]).unwrap();
        let layout = RowLayout::natural(1, 1).unwrap();
        let mut tiling = Tiling::from_csr(&a, FormatSpec::TwoFour, layout).unwrap();
        // Slot 2 is column 4, slot 3 the zero that fills its group up at column 5.
        let map = SlotMap::try_new(&tiling, vec![0, 1], vec![3]).unwrap();
        tiling.refresh_values(&map, &[7.0]).unwrap();
        assert_eq!(tiling.to_csr(), Csr::try_new(1, 5, vec![0, 1], vec![4], vec![1.0]).unwrap());
    }

    #[test]
    fn slots_without_rows_have_a_stride_all_the_same() {
        let layout = RowLayout::natural(0, 2).unwrap();
        let empty = BlockedEll::<f32>::try_new(layout, 3, 0, usize::MAX, vec![], vec![]);
        assert!(matches!(empty, Err(FormatError::TooManyElements { .. })));
    }
}
