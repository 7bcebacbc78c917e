//! The order in which a task's rows are multiplied.

use std::ops::Range;

use girih_formats::{Csr, CsrPattern, RowCsr, Scalar};
use girih_simd::{Run, lanes};

use crate::thresholds::{SORT_ENTRIES, SORT_ROWS_MAX, SORT_ROWS_MIN, SORT_WINDOW_ENTRIES};

/// How many rows of a matrix are sorted together.
pub(crate) fn window(pattern: CsrPattern<'_>) -> usize {
    let rows = SORT_WINDOW_ENTRIES.saturating_mul(pattern.nrows()) / pattern.nnz().max(1);
    rows.clamp(SORT_ROWS_MIN, SORT_ROWS_MAX)
}

/// A task's rows ordered by length. Slices come first: rows of which each has the columns of the row before
/// it plus one.
#[derive(Debug, Default)]
pub(crate) struct RowOrder {
    pub(crate) slices: Vec<Run>,
    pub(crate) runs: Vec<Run>,
    /// The first slot of each slice, then the slots of single rows.
    pub(crate) slots: Vec<usize>,
    /// Column indices of all, one for each entry of a slice's first row.
    pub(crate) cols: usize,
    /// Values of all.
    pub(crate) values: usize,
}

impl RowOrder {
    /// Sorts the rows in `slots`, with slices or without.
    pub(crate) fn sort<T: Scalar>(a: &RowCsr<T>, slots: Range<usize>, slices: bool) -> Self {
        let pattern = a.csr().pattern();
        let mut order = Self::default();
        let mut single = Vec::with_capacity(slots.len());
        let mut slot = slots.start;
        while slot < slots.end {
            let end = slot + lanes::<T>();
            let len = pattern.row_range(slot).len();
            let slice = slices && a.layout().is_natural() && end <= slots.end && len > 0;
            if slice && (slot + 1..end).all(|next| is_shifted(pattern, next)) {
                order.slots.push(slot);
                push(&mut order.slices, len);
                order.cols += len;
                order.values += len * lanes::<T>();
                slot = end;
            } else {
                // Slots without a row have nothing to multiply, nor to store.
                single.extend(a.layout().row(slot).map(|_| slot));
                slot += 1;
            }
        }
        // A counting sort keeps it linear, and rows of one length in their order.
        let key = |slot: usize| pattern.row_range(slot).len().min(SORT_ENTRIES + 1);
        let first = order.slots.len();
        for together in single.chunks(window(pattern)) {
            let mut next = [0; SORT_ENTRIES + 3];
            together.iter().for_each(|&slot| next[key(slot) + 1] += 1);
            for i in 1..next.len() {
                next[i] += next[i - 1];
            }
            let begin = order.slots.len();
            order.slots.resize(begin + together.len(), 0);
            for &slot in together {
                order.slots[begin + next[key(slot)]] = slot;
                next[key(slot)] += 1;
            }
        }
        for &slot in &order.slots[first..] {
            let len = pattern.row_range(slot).len();
            push(&mut order.runs, len);
            order.cols += len;
            order.values += len;
        }
        order
    }

    /// The number of slices.
    pub(crate) fn n_slices(&self) -> usize {
        self.slices.iter().map(|run| run.count as usize).sum()
    }

    /// Writes columns, and values widened, in this order.
    pub(crate) fn fill<T: Scalar>(&self, csr: &Csr<T>, cols: &mut [u32], values: &mut [T::Acc]) {
        let lanes = lanes::<T>();
        let slices = self.n_slices();
        let (pattern, stored) = (csr.pattern(), &csr.values()[..]);
        let (mut cols, mut values) = (cols, values);
        for (i, &slot) in self.slots.iter().enumerate() {
            let row = pattern.row_range(slot);
            let len = row.len();
            let (to, rest) = cols.split_at_mut(len);
            to.copy_from_slice(&pattern.col_idx()[row.clone()]);
            cols = rest;
            let rows = if i < slices { lanes } else { 1 };
            let (to, rest) = values.split_at_mut(len * rows);
            if rows == 1 {
                to.iter_mut().zip(&stored[row]).for_each(|(to, &value)| *to = value.to_acc());
            } else {
                for (lane, slot) in (slot..slot + lanes).enumerate() {
                    for (t, &value) in stored[pattern.row_range(slot)].iter().enumerate() {
                        to[t * lanes + lane] = value.to_acc();
                    }
                }
            }
            values = rest;
        }
    }
}

/// Adds a row, or a slice, to runs.
fn push(runs: &mut Vec<Run>, len: usize) {
    let len = len as u32;
    match runs.last_mut() {
        Some(run) if run.len == len => run.count += 1,
        _ => runs.push(Run { len, count: 1 }),
    }
}

/// Whether a row has the columns of the row before it plus one.
fn is_shifted(pattern: CsrPattern<'_>, row: usize) -> bool {
    let (before, own) = (pattern.row(row - 1), pattern.row(row));
    before.len() == own.len() && before.iter().zip(own).all(|(&before, &own)| before + 1 == own)
}

#[cfg(test)]
mod tests {
    use girih_generate::{laplacian_5pt, uniform};

    use super::super::natural;
    use super::*;

    #[test]
    fn rows_of_one_length_become_neighbours_in_their_order() {
        let row_ptr = vec![0, 2, 3, 3, 5, 6];
        let a = Csr::try_new(5, 4, row_ptr, vec![0, 3, 1, 1, 2, 0], vec![1., 2., 3., 4., 5., 6.]);
        let a = natural(&a.unwrap());
        let order = RowOrder::sort(&a, 0..5, true);
        assert_eq!(order.slots, [2, 1, 4, 0, 3]);
        let run = |len, count| Run { len, count };
        assert_eq!(
            (order.slices.len(), &order.runs[..]),
            (0, &[run(0, 1), run(1, 2), run(2, 2)][..])
        );
        let (mut cols, mut values) = ([0; 6], [0.0; 6]);
        order.fill(a.csr(), &mut cols, &mut values);
        assert_eq!((cols, values), ([1, 0, 0, 3, 1, 2], [3., 6., 1., 2., 4., 5.]));
    }

    #[test]
    fn more_short_rows_are_sorted_together() {
        let of = |row_len| window(uniform::<f32>(2000, 100, row_len, 1).unwrap().pattern());
        assert_eq!([0, 1, 3, 8, 50].map(of), [1024, 1024, 682, 256, 256]);
    }

    #[test]
    fn the_rows_of_a_stencil_are_laid_across_lanes() {
        let a = natural(&laplacian_5pt(40, 3).unwrap());
        let order = RowOrder::sort(&a, 0..120, true);
        // Within each of the three rows of the grid all but the ends repeat.
        assert_eq!(order.slices.iter().map(|run| run.count).sum::<u32>(), 6);
        assert!(RowOrder::sort(&a, 0..120, false).slices.is_empty());
        let (mut cols, mut values) = (vec![0; order.cols], vec![0.0; order.values]);
        order.fill(a.csr(), &mut cols, &mut values);
        let first = order.slots[0];
        let (row_cols, _) = a.csr().row(first);
        assert_eq!(&cols[..row_cols.len()], row_cols);
        for lane in 0..16 {
            for (t, value) in a.csr().row(first + lane).1.iter().enumerate() {
                assert_eq!(values[t * 16 + lane], *value);
            }
        }
    }
}
