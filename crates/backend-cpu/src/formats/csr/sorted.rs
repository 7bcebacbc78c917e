//! CSR for narrow products: the rows of every task sorted by length.

use std::ops::Range;

use girih_formats::{Buffer, PAD_ROW, RowCsr, Scalar};
use rayon::prelude::*;

use super::join::{joined, parts};
use super::order::{Order, SHORT, WINDOW, lanes};
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
    tasks: Vec<Ranges>,
    slices: Vec<Run>,
    runs: Vec<Run>,
    rows: Vec<u32>,
    col_idx: Buffer<u32>,
    /// Widened, so that one kernel multiplies them all.
    values: Buffer<T::Acc>,
}

/// What belongs to a task.
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
        let tasks = joined(a.csr().row_ptr(), tasks, WINDOW, parts(threads, EACH));
        let orders: Vec<Order> =
            tasks.par_iter().map(|slots| Order::of(a, slots.clone(), slices)).collect();
        let mut sorted = Self {
            consecutive: false,
            ahead,
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

    /// Multiplies the rows of a task.
    pub(crate) fn multiply(&self, task: usize, on: &Panel<'_, T>) {
        let of = &self.tasks[task];
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

/// Joined tasks that every thread has at the least.
const EACH: usize = 16;
