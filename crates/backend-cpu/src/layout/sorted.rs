//! CSR for narrow products: the rows of every task sorted by length.

use std::ops::Range;

use girih_formats::{Buffer, RowCsr, Scalar};
use rayon::prelude::*;

use super::join::joined;
use super::order::{Order, lanes, window};
use super::row_of;
use crate::exec::formats::Panel;
use crate::isa::KernelScalar;
use crate::kernels::ahead::AHEAD;
use crate::kernels::sorted::{Run, SortedBlock};
use crate::lowering::csr::parts;
use crate::lowering::{Sorting, SortingMade};
use crate::thresholds::{SORT_CONSECUTIVE, SORT_LARGE_ENTRIES, SORT_PART_ENTRIES, SORT_PARTS_EACH};

/// A copy of a matrix, the rows of each task sorted by length.
///
/// Where rows are short, most of the time of a product with few columns goes into guessing wrong
/// where each ends; neighbours of equal length spare that. Rows that repeat the one before them a
/// column later — those of a stencil — have one column index for all of a slice, and their values lie
/// as in sliced ELLPACK: for a single column the rows are the lanes of a vector.
#[derive(Debug)]
pub(crate) struct Sorted<T: Scalar> {
    /// Whether nearly all rows follow the one before them.
    pub(super) consecutive: bool,
    /// Whether the rows of B that entries meet are asked for ahead.
    pub(super) ahead: bool,
    /// Parts of each task.
    pub(super) parts: usize,
    /// The parts of each task, one after the other.
    pub(super) tasks: Vec<Ranges>,
    pub(super) slices: Vec<Run>,
    pub(super) runs: Vec<Run>,
    pub(super) rows: Vec<u32>,
    pub(super) col_idx: Buffer<u32>,
    /// Widened, so that one kernel multiplies them all.
    pub(super) values: Buffer<T::Acc>,
}

/// What belongs to a part of a task.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    pub(super) slices: Range<usize>,
    pub(super) runs: Range<usize>,
    pub(super) rows: Range<usize>,
    pub(super) cols: Range<usize>,
    pub(super) values: Range<usize>,
}

impl<T: KernelScalar> Sorted<T> {
    /// Sorts the rows of tasks, each a range of slots: O(nnz) in parallel, and a copy of the matrix. Tasks that
    /// are neighbours are [joined], up to a window of rows that are sorted together, where there are enough of
    /// them for the threads; each row is added up by itself, so that bits don't depend on it.
    ///
    /// `None` where there is no memory for it.
    pub(crate) fn new(
        a: &RowCsr<T>,
        tasks: &[Range<usize>],
        how: &Sorting,
    ) -> Option<(Self, SortingMade)> {
        let (n_parts, orders) = orders(a, tasks, how);
        let made = made(a, n_parts, &orders);
        let mut sorted = Self {
            consecutive: made.consecutive,
            ahead: how.prefetch_b,
            parts: n_parts,
            tasks: Vec::with_capacity(orders.len()),
            slices: Vec::new(),
            runs: Vec::new(),
            rows: Vec::new(),
            col_idx: Buffer::zeroed(orders.iter().map(|o| o.cols).sum::<usize>() + AHEAD).ok()?,
            values: Buffer::zeroed(orders.iter().map(|o| o.values).sum()).ok()?,
        };
        let (mut cols, mut values) = (sorted.col_idx.make_mut(), sorted.values.make_mut());
        let mut to_fill = Vec::with_capacity(orders.len());
        let mut end = Ranges::default();
        for order in &orders {
            to_fill.push((
                order,
                cols.split_off_mut(..order.cols)?,
                values.split_off_mut(..order.values)?,
            ));
            sorted.slices.extend(&order.slices);
            sorted.runs.extend(&order.runs);
            sorted.rows.extend(order.slots.iter().map(|&slot| row_of(a, slot)));
            end = Ranges {
                slices: end.slices.end..sorted.slices.len(),
                runs: end.runs.end..sorted.runs.len(),
                rows: end.rows.end..sorted.rows.len(),
                cols: end.cols.end..end.cols.end + order.cols,
                values: end.values.end..end.values.end + order.values,
            };
            sorted.tasks.push(end.clone());
        }
        to_fill.into_par_iter().for_each(|(order, cols, values)| order.fill(a.csr(), cols, values));
        Some((sorted, made))
    }

    /// What would come of it, without a copy: O(nnz) in parallel.
    pub(crate) fn count(a: &RowCsr<T>, tasks: &[Range<usize>], how: &Sorting) -> SortingMade {
        let (n_parts, orders) = orders(a, tasks, how);
        made(a, n_parts, &orders)
    }

    /// In how many parts each task is multiplied.
    pub(crate) fn parts(&self) -> usize {
        self.parts
    }

    /// Multiplies the rows of a part of a task.
    pub(crate) fn multiply(&self, task: usize, part: usize, on: &Panel<'_, T>) {
        let of = &self.tasks[task * self.parts + part];
        let block = SortedBlock {
            slices: &self.slices[of.slices.clone()],
            runs: &self.runs[of.runs.clone()],
            rows: &self.rows[of.rows.clone()],
            col_idx: &self.col_idx[of.cols.start..of.cols.end + AHEAD],
            ahead: self.ahead,
            values: &self.values[of.values.clone()],
        };
        // Parts of a line written past the caches only make a whole one if they are neighbours.
        let whole_lines = (on.width * size_of::<T::Acc>()).is_multiple_of(64);
        let out = if whole_lines || self.consecutive { on.out } else { on.out.cached() };
        on.kernels.sorted(&block, on.b, &out, on.width);
    }
}

/// In how many parts each task is multiplied, and the order of the rows of each part.
fn orders<T: KernelScalar>(
    a: &RowCsr<T>,
    tasks: &[Range<usize>],
    how: &Sorting,
) -> (usize, Vec<Order>) {
    let (csr, &Sorting { slices, threads, .. }) = (a.csr(), how);
    let tasks = joined(csr.row_ptr(), tasks, window(csr), parts(threads, SORT_PARTS_EACH));
    let n_parts = parts_of_each(csr.nnz(), &tasks, threads);
    let all = (0..tasks.len() * n_parts).into_par_iter();
    let slots = |i: usize| part(csr.row_ptr(), &tasks[i / n_parts], i % n_parts, n_parts);
    (n_parts, all.map(|i| Order::of(a, slots(i), slices)).collect())
}

/// What orders of rows come to.
fn made<T: KernelScalar>(a: &RowCsr<T>, parts: usize, orders: &[Order]) -> SortingMade {
    let rows = orders.iter().flat_map(|order| {
        let slices = order.slices();
        let len = move |i| if i < slices { lanes::<T>() as u32 } else { 1 };
        order.slots.iter().enumerate().flat_map(move |(i, &slot)| {
            let row = row_of(a, slot);
            row..row.saturating_add(len(i))
        })
    });
    let consecutive = follow(a, rows);
    let slices: usize = orders.iter().map(Order::slices).sum();
    SortingMade { sliced_rows: slices * lanes::<T>(), parts, consecutive }
}

/// Whether nearly all of a matrix's rows follow the one before them.
pub(super) fn follow<T: Scalar>(a: &RowCsr<T>, mut rows: impl Iterator<Item = u32>) -> bool {
    let mut before = rows.next();
    let follow = rows.filter(|&row| before.replace(row) == row.checked_sub(1)).count();
    follow >= a.csr().nrows() / 16 * SORT_CONSECUTIVE
}

/// In how many parts tasks are cut that are too few for so many threads.
fn parts_of_each(nnz: usize, tasks: &[Range<usize>], threads: usize) -> usize {
    let used = tasks.iter().filter(|slots| !slots.is_empty()).count().max(1);
    let of_each = if nnz / used < SORT_LARGE_ENTRIES { 1 } else { nnz / used / SORT_PART_ENTRIES };
    of_each.min(parts(threads, SORT_PARTS_EACH) / used).max(1)
}

/// One of `of` parts of a task, of about equally many entries.
fn part(row_ptr: &[u64], slots: &Range<usize>, part: usize, of: usize) -> Range<usize> {
    let ends = &row_ptr[slots.start..=slots.end];
    let (first, all) = (ends[0], ends[ends.len() - 1] - ends[0]);
    let cut = |part: usize| match part {
        0 => slots.start,
        part if part == of => slots.end,
        part => {
            let entries = first + all * part as u64 / of as u64;
            slots.start + ends[..ends.len() - 1].partition_point(|&end| end < entries)
        }
    };
    cut(part)..cut(part + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_tasks_are_cut_for_several_threads_into_parts_of_as_many_entries() {
        let tasks = [0..10, 10..20, 0..0, 20..40];
        // 3 tasks of 20 000 entries are for 4 parts of each.
        assert_eq!([1, 2, 16].map(|threads| parts_of_each(60_000, &tasks, threads)), [1, 4, 4]);
        assert_eq!([1, 2, 16].map(|threads| parts_of_each(1 << 20, &tasks, threads)), [1, 10, 85]);
        assert_eq!([49_151, 49_152].map(|nnz| parts_of_each(nnz, &tasks, 2)), [1, 4]);
        let row_ptr = [0, 5, 5, 10, 50, 60, 60, 70];
        let parts = |slots: Range<usize>, of| -> Vec<_> {
            (0..of).map(|i| part(&row_ptr, &slots, i, of)).collect()
        };
        assert_eq!(parts(0..7, 3), [0..4, 4..4, 4..7]);
        assert_eq!(parts(1..7, 2), [1..4, 4..7]);
        assert_eq!(parts(3..3, 2), [3..3, 3..3]);
    }
}
