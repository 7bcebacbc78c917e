//! Sparse rows sorted by length, so that the processor predicts where each ends.

use girih_formats::{RealAccumulator, Scalar};

use super::each_row::{RowKernel, Rows, each_row};
use super::prefetch::{PREFETCH_AHEAD_ROWS, Prefetch, entries_ahead};
use super::sorted_column::by_column;
use super::sum::{Entries, is_own_accumulator};
use crate::isa::{Vector, VectorsFor};
use crate::operands::{Input, Output};

/// Consecutive rows of one length, or slices of such rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Entries of each row.
    pub len: u32,
    /// How many rows, or slices.
    pub count: u32,
}

/// Rows of a task: first those in slices, then single ones, both in runs.
///
/// A slice has as many rows as a `Vector` has lanes. They go to consecutive rows of C, and the columns of
/// each are those of the row before it plus one, so only the first row's are kept. Values are stored column
/// by column: entry `t` of row `r` at `t · lanes + r`.
#[derive(Clone, Copy, Debug)]
pub struct SortedBlock<'a, A> {
    /// Runs of slices.
    pub slices: &'a [Run],
    /// Runs of single rows.
    pub runs: &'a [Run],
    /// Where rows go: the first row of each slice, then every single row.
    pub rows: &'a [u32],
    /// Columns of slices and of rows, in order.
    pub col_idx: &'a [u32],
    /// Whether rows of B are prefetched. Then there are
    /// [`PREFETCH_AHEAD`](super::prefetch::PREFETCH_AHEAD) columns more.
    pub prefetch_b: bool,
    /// Values of slices and of rows, in order.
    pub values: &'a [A],
}

/// Multiplies sorted rows by `width` columns of B, adding in the order of [`rows`](super::rows::rows).
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. Slices and runs have as many rows, columns and values as the block, and
///    [`PREFETCH_AHEAD`](super::prefetch::PREFETCH_AHEAD) columns fewer if it prefetches rows of B. Each
///    column is a row of B, and so are the `lanes - 1` after a slice's. B has `width` columns.
/// 3. The rows of C in `block.rows`, of slices as many as `I::Vector` has lanes, are valid for `width`
///    columns, and no other thread accesses them.
pub(crate) unsafe fn sorted<I: VectorsFor<T>, T: Scalar<Acc: RealAccumulator>>(
    block: &SortedBlock<'_, T::Acc>,
    b: Input<T>,
    out: &Output<T::Acc>,
    width: usize,
) {
    let (block, out) = (*block, *out);
    let is_single = b.is_column && is_own_accumulator::<T>();
    let prefetch = match (b.prefetch_a, block.prefetch_b && !is_single) {
        _ if const { !I::Vector::PREFETCHES } => Prefetch::Nothing,
        (_, true) => Prefetch::Rows,
        (true, false) => Prefetch::Entries,
        (false, false) => Prefetch::Nothing,
    };
    b.ran("sorted", prefetch, out.streams());
    if const { is_own_accumulator::<T>() } && is_single {
        // T is its own accumulator here, so the pointer is of the right type.
        let x = b.ptr.cast::<T::Acc>();
        // SAFETY: the instruction set by point 1, the block and `x` by point 2, C by point 3.
        unsafe { by_column::<I, T>(block, x, out, prefetch == Prefetch::Entries) };
        return;
    }
    let ahead = entries_ahead(width * size_of::<T>());
    let rows = SortedRows { block, lanes: I::Vector::LANES, ahead };
    // SAFETY: the instruction set by point 1, rows and B by point 2, C by point 3. Rows of B are prefetched
    // only if the block says so: then `ahead` columns follow the last.
    unsafe { each_row::<I, T>(rows, b, out, width, prefetch) }
}

/// The rows of a block, those of slices too.
pub(super) struct SortedRows<'a, A> {
    pub(super) block: SortedBlock<'a, A>,
    /// Rows of a slice.
    pub(super) lanes: usize,
    /// How many entries ahead rows of B are prefetched, if they are. Not beyond the block's columns.
    pub(super) ahead: usize,
}

/// What is left of a block.
pub(super) struct Left<'a, A> {
    pub(super) rows: &'a [u32],
    pub(super) col_idx: *const u32,
    pub(super) values: *const A,
}

/// Evaluates `$body` with `$len` bound to the length, which the compiler knows for each of those up to
/// `$short`.
macro_rules! by_length {
    ($length:expr, $short:expr, $len:ident => $body:expr; $($known:literal)*) => {
        match $length {
            $($known if const { $known <= $short } => {
                #[expect(non_upper_case_globals, reason = "it stands for a variable")]
                const $len: usize = $known;
                $body
            })*
            $len => $body,
        }
    };
}

pub(super) use by_length;

impl<A> SortedRows<'_, A> {
    /// What is left of a block before its first row.
    pub(super) fn all(&self) -> Left<'_, A> {
        let SortedBlock { rows, col_idx, values, .. } = self.block;
        Left { rows, col_idx: col_idx.as_ptr(), values: values.as_ptr() }
    }

    /// Calls the kernel with the next row, or with each row of the next slice of `lanes` rows. Each has `len` entries.
    /// The first goes to `row` of C, the others to the rows after it.
    ///
    /// # Safety
    /// 1. The machine has the instruction set that the kernel is made for.
    /// 2. The row has `len` columns, with the next columns if the kernel prefetches rows of B, and `lanes` values for
    ///    each. Each column is a row of the kernel's B, and so are the `lanes - 1` after it.
    /// 3. `row` and the `lanes - 1` rows of C after it exist, and no other thread accesses them.
    #[inline(always)]
    unsafe fn next(
        &self,
        left: &mut Left<'_, A>,
        lanes: usize,
        len: usize,
        row: usize,
        kernel: &impl RowKernel<Acc = A>,
    ) {
        let Left { col_idx, values, .. } = *left;
        // The next rows of a slice use the rows of B after those of its first row.
        let (next_col_idx, next_shift) = if lanes == 1 {
            (col_idx.wrapping_add(self.ahead), 0)
        } else {
            (col_idx, PREFETCH_AHEAD_ROWS)
        };
        for r in 0..lanes {
            // SAFETY: the instruction set by point 1. By point 2 the values of row `r` are readable `lanes` apart, its
            // columns are rows of B, and the next columns are readable. Its row of C exists by point 3.
            unsafe {
                let values = values.add(r);
                let next_shift = next_shift + r;
                let entries = Entries {
                    col_idx,
                    shift: r,
                    values,
                    step: lanes,
                    len,
                    next_col_idx,
                    next_shift,
                };
                kernel.row(entries, row + r);
            }
        }
        // SAFETY: there are as many columns and values by point 2.
        unsafe {
            left.col_idx = col_idx.add(len);
            left.values = values.add(len * lanes);
        }
    }

    /// Calls the kernel with the next rows: those of slices of `lanes` rows, or single ones. With `BY_LENGTH` every
    /// short length has code of its own.
    ///
    /// # Safety
    /// Points 1 to 3 of [`Rows`], for these rows.
    #[inline(always)]
    pub(super) unsafe fn runs<K: RowKernel<Acc = A>, const BY_LENGTH: bool>(
        &self,
        runs: &[Run],
        left: &mut Left<'_, A>,
        lanes: usize,
        kernel: &K,
    ) {
        for run in runs {
            let (these, others) = left.rows.split_at(run.count as usize);
            left.rows = others;
            by_length!(
                run.len as usize, if BY_LENGTH { K::SHORT } else { 0 },
                len => for &row in these {
                    // SAFETY: points 1 to 3 are those of `next`. Rows of a run have `len` columns.
                    unsafe { self.next(left, lanes, len, row as usize, kernel) };
                };
                1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
            );
        }
    }
}

impl<A> Rows for SortedRows<'_, A> {
    type Acc = A;
    const C_LEADS: bool = true;

    fn are_shifted(&self) -> bool {
        let slices: usize = self.block.slices.iter().map(|run| run.count as usize).sum();
        slices * self.lanes > self.block.rows.len() - slices
    }

    // One copy of the kernel for slices and for single rows.
    #[inline(always)]
    unsafe fn each(self, kernel: impl RowKernel<Acc = A>) {
        let mut left = self.all();
        for (runs, lanes) in [(self.block.slices, self.lanes), (self.block.runs, 1)] {
            // SAFETY: points 1 to 3 are those of `runs`, for slices and then for what is left.
            unsafe { self.runs::<_, false>(runs, &mut left, lanes, &kernel) };
        }
    }

    // Lengths known to the compiler need neither loop nor jump within a row.
    #[inline(always)]
    unsafe fn each_by_length<K: RowKernel<Acc = A>>(self, kernel: K) {
        let mut left = self.all();
        // SAFETY: points 1 to 3 are those of `runs`, for slices and then for what is left.
        unsafe {
            self.runs::<K, true>(self.block.slices, &mut left, self.lanes, &kernel);
            self.runs::<K, true>(self.block.runs, &mut left, 1, &kernel);
        }
    }
}
