//! CSR for narrow products: the rows of every task sorted by length.

use std::ops::Range;

use girih_formats::{Buffer, PAD_ROW, RowCsr, Scalar};
use rayon::prelude::*;

use super::join::{joined, parts};
use super::order::{Order, SHORT, lanes, window};
use super::row_of;
use crate::formats::Panel;
use crate::isa::KernelScalar;
use crate::kernels::ahead::AHEAD;
use crate::kernels::sorted::{Run, SortedBlock};

/// A copy of a matrix, the rows of each task sorted by length.
///
/// Where rows are short, most of the time of a product with few columns goes into guessing wrong
/// where each ends; neighbours of equal length spare that. Rows that repeat the one before them a
/// column later — those of a stencil — have one column index for all of a slice, and their values lie
/// as in sliced ELLPACK: for a single column the rows are the lanes of a vector.
#[derive(Debug)]
pub(crate) struct Sorted<T: Scalar> {
    /// Whether nearly all rows follow the one before them.
    consecutive: bool,
    /// Whether the rows of B that entries meet are asked for ahead.
    ahead: bool,
    /// Parts of each task.
    parts: usize,
    /// The parts of each task, one after the other.
    tasks: Vec<Ranges>,
    slices: Vec<Run>,
    runs: Vec<Run>,
    rows: Vec<u32>,
    col_idx: Buffer<u32>,
    /// Widened, so that one kernel multiplies them all.
    values: Buffer<T::Acc>,
}

/// What belongs to a part of a task.
#[derive(Clone, Debug, Default)]
struct Ranges {
    slices: Range<usize>,
    runs: Range<usize>,
    rows: Range<usize>,
    cols: Range<usize>,
    values: Range<usize>,
}

impl<T: KernelScalar> Sorted<T> {
    /// Sorts the rows of tasks, each a range of slots: O(nnz) in parallel, and a copy of the matrix. Tasks that
    /// are neighbours are [joined], up to a window of rows that are sorted together, where `threads` have enough of
    /// them; each row is added up by itself, so that bits don't depend on it.
    /// With `slices` where rows repeat each other a column later; asking for rows of B `ahead` or not.
    ///
    /// `None` where it does not pay, since rows are long, or where there is no memory for it.
    pub(crate) fn new(
        a: &RowCsr<T>,
        tasks: &[Range<usize>],
        threads: usize,
        slices: bool,
        ahead: bool,
    ) -> Option<Self> {
        let (nnz, nrows) = (a.csr().nnz(), a.csr().nrows());
        let numbered = a.layout().nrows() < PAD_ROW as usize;
        if nnz == 0 || nnz / nrows > SHORT || !numbered {
            return None;
        }
        let tasks = joined(a.csr().row_ptr(), tasks, window(a.csr()), parts(threads, EACH));
        let n_parts = parts_of_each(nnz, &tasks, threads);
        let tasks: Vec<_> = (0..tasks.len() * n_parts)
            .map(|i| part(a.csr().row_ptr(), &tasks[i / n_parts], i % n_parts, n_parts))
            .collect();
        let orders: Vec<Order> =
            tasks.par_iter().map(|slots| Order::of(a, slots.clone(), slices)).collect();
        let mut sorted = Self {
            consecutive: false,
            ahead,
            parts: n_parts,
            tasks: Vec::with_capacity(tasks.len()),
            slices: Vec::new(),
            runs: Vec::new(),
            rows: Vec::new(),
            col_idx: Buffer::zeroed(orders.iter().map(|o| o.cols).sum::<usize>() + AHEAD).ok()?,
            values: Buffer::zeroed(orders.iter().map(|o| o.values).sum()).ok()?,
        };
        let (mut cols, mut values) = (sorted.col_idx.make_mut(), sorted.values.make_mut());
        let mut to_fill = Vec::with_capacity(tasks.len());
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
        let mut rows = sorted.tasks.iter().zip(&orders).flat_map(|(of, order)| {
            let in_order = sorted.rows[of.rows.clone()].iter().enumerate();
            let slices = order.slices();
            let len = move |i| if i < slices { lanes::<T>() as u32 } else { 1 };
            in_order.flat_map(move |(i, &row)| row..row.saturating_add(len(i)))
        });
        let mut before = rows.next();
        let follow = rows.filter(|&row| before.replace(row) == row.checked_sub(1)).count();
        sorted.consecutive = follow >= nrows / 16 * 15;
        Some(sorted)
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

/// Joined tasks, or parts of tasks, that every thread has at the least.
const EACH: usize = 16;

/// Entries of a part of a task, at the least: to take it takes a thread a small part of its time.
const PART: usize = 4096;

/// Entries of a task from which on it is cut: those of one or two columns are.
const LARGE: usize = 4 * PART;

/// In how many parts tasks are cut that are too few for so many threads.
fn parts_of_each(nnz: usize, tasks: &[Range<usize>], threads: usize) -> usize {
    let used = tasks.iter().filter(|slots| !slots.is_empty()).count().max(1);
    let of_each = if nnz / used < LARGE { 1 } else { nnz / used / PART };
    of_each.min(parts(threads, EACH) / used).max(1)
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
