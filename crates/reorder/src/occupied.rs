//! The rows and columns of a matrix that have entries, as a matrix of their own.
//!
//! A file of a few bytes may claim billions of rows and columns. An ordering has something to decide for
//! those with entries alone, so the rest takes no memory but in the result.

use girih_formats::{Csr, CsrPattern, PAD_ROW, RowLayout};

use crate::error::ReorderError;
use crate::permutation::Permutation;
use crate::rcm::components::ByComponent;

/// Rows and columns for each entry from which on a pattern is ordered without its empty ones: at least three
/// quarters of them are.
const SPARSE: usize = 8;

/// Empty columns that an order may have for each entry, and whatever the matrix.
const COLS_PER_ENTRY: usize = 64;
const FREE_COLS: usize = 1 << 24;

/// A pattern without its empty rows and columns.
pub(crate) struct Occupied {
    matrix: Csr<f32>,
    nrows: usize,
    ncols: usize,
    /// The rows and columns that are left, increasing.
    rows: Vec<u32>,
    cols: Vec<u32>,
}

impl Occupied {
    /// The pattern without its empty rows and columns, if most are empty. O(nrows + nnz log nnz) time and
    /// O(nnz) memory.
    pub(crate) fn of(pattern: CsrPattern<'_>) -> Result<Option<Self>, ReorderError> {
        Self::with(pattern, |rows, cols| (rows, cols))
    }

    /// The same for a square pattern that stays square: without the indices whose row and column are empty.
    pub(crate) fn of_square(pattern: CsrPattern<'_>) -> Result<Option<Self>, ReorderError> {
        Self::with(pattern, |mut rows, cols| {
            rows.extend(cols);
            rows.sort_unstable();
            rows.dedup();
            (rows.clone(), rows)
        })
    }

    fn with(
        pattern: CsrPattern<'_>,
        kept: impl FnOnce(Vec<u32>, Vec<u32>) -> (Vec<u32>, Vec<u32>),
    ) -> Result<Option<Self>, ReorderError> {
        let (nrows, ncols, nnz) = (pattern.nrows(), pattern.ncols(), pattern.nnz());
        if (nrows + ncols) / SPARSE < nnz.max(1) {
            return Ok(None);
        }
        let occupied = pattern.row_ptr().windows(2).zip(0u32..);
        let rows = occupied.filter(|(ptr, _)| ptr[0] < ptr[1]).map(|(_, row)| row).collect();
        let mut cols = pattern.col_idx().to_vec();
        cols.sort_unstable();
        cols.dedup();
        let (rows, cols) = kept(rows, cols);
        let ends = rows.iter().map(|&row| pattern.row_ptr()[row as usize + 1]);
        let row_ptr: Vec<u64> = [0].into_iter().chain(ends).collect();
        // Every column of an entry is found.
        let place = |col: &u32| cols.partition_point(|other| other < col) as u32;
        let col_idx: Vec<u32> = pattern.col_idx().iter().map(place).collect();
        let ones = vec![1.0; nnz];
        let matrix = Csr::try_new(rows.len(), cols.len(), row_ptr, col_idx, ones)?;
        Ok(Some(Self { matrix, nrows, ncols, rows, cols }))
    }

    pub(crate) fn pattern(&self) -> CsrPattern<'_> {
        self.matrix.pattern()
    }

    /// The rows in an order of those that are left. An empty row is a component of its own: it stands before
    /// those whose smallest row is larger.
    pub(crate) fn row_permutation(&self, found: &ByComponent) -> Result<Permutation, ReorderError> {
        let mut empty = others(&self.rows, self.nrows).peekable();
        let mut order = Vec::with_capacity(self.nrows);
        let mut rest = &found.order[..];
        for &size in &found.sizes {
            let (component, after) = rest.split_at(size);
            rest = after;
            let smallest = component.iter().min().map_or(0, |&place| self.rows[place as usize]);
            while let Some(row) = empty.next_if(|&row| row < smallest) {
                order.push(row);
            }
            order.extend(component.iter().map(|&place| self.rows[place as usize]));
        }
        order.extend(empty);
        Permutation::try_from_order(&order)
    }

    /// The columns in an order of those that are left; the empty ones come last.
    pub(crate) fn col_permutation(&self, order: &Permutation) -> Permutation {
        let mut new_of_old = vec![0; self.ncols];
        for (place, &old) in self.cols.iter().enumerate() {
            new_of_old[old as usize] = order.new_index(place) as u32;
        }
        for (new, old) in (self.cols.len() as u32..).zip(others(&self.cols, self.ncols)) {
            new_of_old[old as usize] = new;
        }
        Permutation::from_valid(new_of_old)
    }

    /// A layout of the rows that are left, whose empty slots and then windows of their own hold the others.
    pub(crate) fn layout(&self, layout: &RowLayout) -> Result<RowLayout, ReorderError> {
        let window_rows = layout.window_rows();
        let n_slots = layout.n_slots().max(self.nrows.next_multiple_of(window_rows));
        let mut slots = Vec::with_capacity(n_slots);
        let dealt = (0..layout.n_slots()).map(|slot| layout.row(slot));
        slots.extend(dealt.map(|row| row.map_or(PAD_ROW, |row| self.rows[row])));
        let mut empty = 0;
        for row in others(&self.rows, self.nrows) {
            while slots.get(empty).is_some_and(|&slot| slot != PAD_ROW) {
                empty += 1;
            }
            match slots.get_mut(empty) {
                Some(slot) => *slot = row,
                None => slots.push(row),
            }
        }
        slots.resize(slots.len().next_multiple_of(window_rows), PAD_ROW);
        Ok(RowLayout::explicit(self.nrows, window_rows, slots)?)
    }
}

/// The indices below `n` that are not in an increasing list.
fn others(kept: &[u32], n: usize) -> impl Iterator<Item = u32> + '_ {
    let mut kept = kept.iter().copied().peekable();
    (0..n as u32).filter(move |&i| kept.next_if_eq(&i).is_none())
}

/// Checks that an order of all columns takes memory in proportion to the matrix: at most 2²⁴ columns, and one
/// for each row and 64 for each entry besides. CSR has an offset for each row, and nothing for a column.
///
/// # Errors
/// [`ReorderError::TooManyColumns`] if there are more.
pub fn check_cols(nrows: usize, ncols: usize, entries: usize) -> Result<(), ReorderError> {
    let justified = entries.saturating_mul(COLS_PER_ENTRY).saturating_add(nrows);
    if ncols > justified.saturating_add(FREE_COLS) {
        return Err(ReorderError::TooManyColumns { nrows, ncols, entries });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries (2, 40), (2, 90), (7, 40) of a matrix of 100 rows and columns.
    fn matrix() -> Csr<f32> {
        let row_ptr =
            (0..=100).map(|i| if i <= 2 { 0 } else { 2 + u64::from(i > 7) }).collect::<Vec<_>>();
        Csr::try_new(100, 100, row_ptr, vec![40, 90, 40], vec![1.0; 3]).unwrap()
    }

    #[test]
    fn what_is_empty_is_left_out_and_put_back() {
        let a = matrix();
        let occupied = Occupied::of(a.pattern()).unwrap().unwrap();
        let pattern = occupied.pattern();
        assert_eq!((pattern.nrows(), pattern.ncols()), (2, 2));
        assert_eq!((pattern.row(0), pattern.row(1)), (&[0, 1][..], &[0][..]));
        let swap = Permutation::try_new(vec![1, 0]).unwrap();
        let both = ByComponent { order: vec![1, 0], sizes: vec![2] };
        let order = occupied.row_permutation(&both).unwrap().order();
        assert_eq!((&order[..5], order.len()), (&[0, 1, 7, 2, 3][..], 100));
        assert_eq!(occupied.col_permutation(&swap).order()[..3], [90, 40, 0]);

        let square = Occupied::of_square(a.pattern()).unwrap().unwrap();
        assert_eq!((square.rows.as_slice(), &square.rows), (&[2, 7, 40, 90][..], &square.cols));
        assert_eq!(square.pattern().row(1), [2]);
    }

    #[test]
    fn empty_rows_fill_empty_slots_first() {
        let a = matrix();
        let occupied = Occupied::of(a.pattern()).unwrap().unwrap();
        let layout = RowLayout::explicit(2, 2, vec![1, PAD_ROW, 0, PAD_ROW]).unwrap();
        let layout = occupied.layout(&layout).unwrap();
        assert_eq!(layout.slots().unwrap()[..6], [7, 0, 2, 1, 3, 4]);
        assert_eq!(layout.n_slots(), 100);
    }

    #[test]
    fn a_matrix_that_is_mostly_occupied_stays_whole() {
        let a = Csr::<f32>::try_new(4, 4, vec![0, 1, 1, 1, 1], vec![3], vec![1.0]).unwrap();
        assert!(Occupied::of(a.pattern()).unwrap().is_some());
        let a = Csr::<f32>::try_new(4, 3, vec![0, 1, 1, 1, 1], vec![2], vec![1.0]).unwrap();
        assert!(Occupied::of(a.pattern()).unwrap().is_none());
        assert!(Occupied::of(Csr::<f32>::empty(0, 0).unwrap().pattern()).unwrap().is_none());
    }

    #[test]
    fn columns_in_proportion_to_the_matrix_may_be_ordered() {
        assert!(check_cols(0, FREE_COLS, 0).is_ok() && check_cols(10, FREE_COLS + 74, 1).is_ok());
        let (nrows, ncols, entries) = (10, FREE_COLS + 75, 1);
        let refused = ReorderError::TooManyColumns { nrows, ncols, entries };
        assert_eq!(check_cols(nrows, ncols, entries), Err(refused));
    }
}
