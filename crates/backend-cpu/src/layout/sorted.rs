//! CSR for narrow products: the rows of every task sorted by length.

use std::ops::Range;

use girih_formats::{Buffer, RowCsr, Scalar};
use girih_parallel::prelude::*;
use girih_simd::{PREFETCH_AHEAD, Run, lanes};

use super::join::joined;
use super::order::{RowOrder, window};
use super::pieces::row_of;
use crate::kernels::CpuScalar;
use crate::lowering::csr::least_parts;
use crate::lowering::{SortConfig, SortCounts};
use crate::thresholds::{SORT_CONSECUTIVE, SORT_LARGE_ENTRIES, SORT_PART_ENTRIES, SORT_PARTS_EACH};

/// A copy of a matrix, the rows of each task sorted by length.
///
/// If rows are short, a product with few columns spends most of its time on mispredicted row ends; neighbours
/// of equal length avoid that. Rows of a stencil often repeat the columns of the row before them plus one.
/// Such rows form a slice, with one column index for all of its rows, and values as in sliced ELLPACK: for a
/// single column the rows are the lanes of a vector.
#[derive(Debug)]
pub(crate) struct SortedCsr<T: Scalar> {
    /// Whether nearly all rows follow the row before them.
    pub(crate) consecutive: bool,
    /// Whether the rows of B that entries use are prefetched.
    pub(crate) prefetches_b: bool,
    /// Parts of each task.
    pub(crate) parts: usize,
    /// The parts of each task, one after the other.
    pub(crate) tasks: Vec<PartRanges>,
    pub(crate) slices: Vec<Run>,
    pub(crate) runs: Vec<Run>,
    pub(crate) rows: Vec<u32>,
    pub(crate) col_idx: Buffer<u32>,
    /// Widened, so that one kernel multiplies them all.
    pub(crate) values: Buffer<T::Acc>,
}

/// The arrays' ranges of a part of a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartRanges {
    pub(crate) slices: Range<usize>,
    pub(crate) runs: Range<usize>,
    pub(crate) rows: Range<usize>,
    pub(crate) cols: Range<usize>,
    pub(crate) values: Range<usize>,
}

impl PartRanges {
    /// Whether slices, of `lanes` rows each, and runs have as many rows, columns and values as the part.
    pub(super) fn holds(&self, slices: &[Run], runs: &[Run], lanes: usize) -> bool {
        let count = |runs: &[Run]| runs.iter().map(|run| u64::from(run.count)).sum::<u64>();
        let entries = |runs: &[Run]| -> u128 {
            runs.iter().map(|run| u128::from(run.len) * u128::from(run.count)).sum()
        };
        let (of_slices, of_rows) = (entries(slices), entries(runs));
        count(slices) + count(runs) == self.rows.len() as u64
            && of_slices + of_rows == self.cols.len() as u128
            && of_slices * lanes as u128 + of_rows == self.values.len() as u128
    }
}

impl<T: CpuScalar> SortedCsr<T> {
    /// Sorts the rows of tasks, each a range of slots: O(nnz) in parallel, and a copy of the matrix.
    /// Neighbouring tasks are [joined] up to as many rows as are sorted together, if that leaves enough tasks
    /// for the threads. Each row is added up by itself, so bits don't depend on it.
    ///
    /// `None` if there is no memory for it.
    pub(crate) fn new(
        a: &RowCsr<T>,
        tasks: &[Range<usize>],
        config: &SortConfig,
    ) -> Option<(Self, SortCounts)> {
        let (n_parts, orders) = orders(a, tasks, config);
        let counts = counts(a, n_parts, &orders);
        let mut sorted = Self {
            consecutive: counts.consecutive,
            prefetches_b: config.prefetch_b,
            parts: n_parts,
            tasks: Vec::with_capacity(orders.len()),
            slices: Vec::new(),
            runs: Vec::new(),
            rows: Vec::new(),
            col_idx: Buffer::zeroed(orders.iter().map(|o| o.cols).sum::<usize>() + PREFETCH_AHEAD)
                .ok()?,
            values: Buffer::zeroed(orders.iter().map(|o| o.values).sum()).ok()?,
        };
        let (mut cols, mut values) = (sorted.col_idx.make_mut(), sorted.values.make_mut());
        let mut to_fill = Vec::with_capacity(orders.len());
        let mut end = PartRanges::default();
        for order in &orders {
            to_fill.push((
                order,
                cols.split_off_mut(..order.cols)?,
                values.split_off_mut(..order.values)?,
            ));
            sorted.slices.extend(&order.slices);
            sorted.runs.extend(&order.runs);
            sorted.rows.extend(order.slots.iter().map(|&slot| row_of(a, slot)));
            end = PartRanges {
                slices: end.slices.end..sorted.slices.len(),
                runs: end.runs.end..sorted.runs.len(),
                rows: end.rows.end..sorted.rows.len(),
                cols: end.cols.end..end.cols.end + order.cols,
                values: end.values.end..end.values.end + order.values,
            };
            sorted.tasks.push(end.clone());
        }
        to_fill.into_par_iter().for_each(|(order, cols, values)| order.fill(a.csr(), cols, values));
        // In every build: kernels rest on it, and it costs a pass over runs.
        assert!(
            sorted.sums_hold(),
            "runs of a copy do not have the rows, columns and values of its parts"
        );
        Some((sorted, counts))
    }

    /// Whether the runs of every part have as many rows, columns and values as the part, and the parts as many
    /// as the arrays: point 2 of [`sorted`](girih_simd::SortedBlock), but for the columns themselves.
    /// O(runs).
    fn sums_hold(&self) -> bool {
        let end = self.tasks.last().map_or(PartRanges::default(), Clone::clone);
        let ends = [end.slices.end, end.runs.end, end.rows.end, end.cols.end, end.values.end];
        let (cols, values) = (self.col_idx.len(), self.values.len());
        let lens = [self.slices.len(), self.runs.len(), self.rows.len()];
        ends[..3] == lens
            && ends[3] + PREFETCH_AHEAD == cols
            && ends[4] == values
            && self.tasks.iter().all(|part| {
                let (slices, runs) =
                    (&self.slices[part.slices.clone()], &self.runs[part.runs.clone()]);
                part.holds(slices, runs, lanes::<T>())
            })
    }

    /// The counts of such a copy, without making it: O(nnz) in parallel.
    pub(crate) fn count(a: &RowCsr<T>, tasks: &[Range<usize>], config: &SortConfig) -> SortCounts {
        let (n_parts, orders) = orders(a, tasks, config);
        counts(a, n_parts, &orders)
    }
}

/// The number of parts of each task, and the order of the rows of each part.
fn orders<T: CpuScalar>(
    a: &RowCsr<T>,
    tasks: &[Range<usize>],
    config: &SortConfig,
) -> (usize, Vec<RowOrder>) {
    let (csr, &SortConfig { slices, threads, .. }) = (a.csr(), config);
    let tasks =
        joined(csr.row_ptr(), tasks, window(csr.pattern()), least_parts(threads, SORT_PARTS_EACH));
    let n_parts = parts_of_each(csr.nnz(), &tasks, threads);
    let all = (0..tasks.len() * n_parts).into_par_iter();
    let slots = |i: usize| part(csr.row_ptr(), &tasks[i / n_parts], i % n_parts, n_parts);
    (n_parts, all.map(|i| RowOrder::sort(a, slots(i), slices)).collect())
}

/// What orders of rows come to, with `parts` parts of each task.
fn counts<T: CpuScalar>(a: &RowCsr<T>, parts: usize, orders: &[RowOrder]) -> SortCounts {
    let rows = orders.iter().flat_map(|order| {
        let slices = order.n_slices();
        let len = move |i| if i < slices { lanes::<T>() as u32 } else { 1 };
        order.slots.iter().enumerate().flat_map(move |(i, &slot)| {
            let row = row_of(a, slot);
            row..row.saturating_add(len(i))
        })
    });
    let consecutive = are_consecutive(a, rows);
    let slices: usize = orders.iter().map(RowOrder::n_slices).sum();
    SortCounts { sliced_rows: slices * lanes::<T>(), parts, consecutive }
}

/// Whether nearly all of a matrix's rows follow the row before them.
pub(crate) fn are_consecutive<T: Scalar>(
    a: &RowCsr<T>,
    mut rows: impl Iterator<Item = u32>,
) -> bool {
    let mut before = rows.next();
    let follow = rows.filter(|&row| before.replace(row) == row.checked_sub(1)).count();
    follow >= a.csr().nrows() / 16 * SORT_CONSECUTIVE
}

/// How many parts each task is cut into, so that there are enough for the threads.
fn parts_of_each(nnz: usize, tasks: &[Range<usize>], threads: usize) -> usize {
    let used = tasks.iter().filter(|slots| !slots.is_empty()).count().max(1);
    let parts = if nnz / used < SORT_LARGE_ENTRIES { 1 } else { nnz / used / SORT_PART_ENTRIES };
    parts.min(least_parts(threads, SORT_PARTS_EACH) / used).max(1)
}

/// Part `part` of the `of` parts of a task, all of about equally many entries.
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
    fn sums_that_do_not_hold_are_found() {
        let stencil = girih_generate::laplacian_5pt::<f32>(40, 40).unwrap();
        let a = super::super::natural(&stencil);
        let config = SortConfig { slices: true, prefetch_b: true, threads: 2 };
        let sorted = || SortedCsr::new(&a, &[0..700, 700..1600], &config).unwrap().0;
        assert!(sorted().sums_hold() && !sorted().slices.is_empty());
        type Change = fn(&mut SortedCsr<f32>);
        let changes: [Change; 8] = [
            |s| s.runs[0].len += 1,
            |s| s.runs[0].count += 1,
            |s| s.slices[0].count -= 1,
            |s| s.tasks[0].cols.end += 1,
            |s| s.tasks[1].values.start -= 1,
            |s| {
                s.rows.pop();
            },
            |s| s.col_idx = s.col_idx[1..].to_vec().into(),
            |s| s.values = s.values[1..].to_vec().into(),
        ];
        for (i, change) in changes.into_iter().enumerate() {
            let mut changed = sorted();
            change(&mut changed);
            assert!(!changed.sums_hold(), "change {i}");
        }
    }

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
