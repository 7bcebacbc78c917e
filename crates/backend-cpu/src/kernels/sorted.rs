//! Sparse rows sorted by length, so that the processor foresees where each ends.

use girih_formats::{Accumulator, Scalar};

use super::each_row::{RowKernel, Rows, all, each_row};
use super::panel::Dot;
use super::prefetch::{ENTRIES, NOTHING, PREFETCH_AHEAD_ROWS, ROWS, ahead};
use super::store::store;
use super::sum::{Entries, is_own_accumulator};
use crate::isa::{Vector, VectorsFor, Widen};
use crate::operands::{Input, Output};

/// Consecutive rows of one length, or slices of such rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Entries of each row.
    pub(crate) len: u32,
    /// How many rows, or slices.
    pub(crate) count: u32,
}

/// Rows of a task: first those in slices, then single ones, both in runs.
///
/// A slice has as many rows as a [`Vector`] has lanes. They go to consecutive rows of C, and the
/// columns of each are those of the row before it plus one, so only the first row's are kept. Its
/// values stand column by column: entry `t` of row `r` at `t · lanes + r`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortedBlock<'a, A> {
    pub(crate) slices: &'a [Run],
    pub(crate) runs: &'a [Run],
    /// Where rows go: the first row of each slice, then every single row.
    pub(crate) rows: &'a [u32],
    /// Columns of slices and of rows, in order.
    pub(crate) col_idx: &'a [u32],
    /// Whether to ask [ahead](super::prefetch) for the rows of B that entries meet. Then there are
    /// [`PREFETCH_AHEAD`](super::prefetch::PREFETCH_AHEAD) columns more.
    pub(crate) ahead: bool,
    /// Values of slices and of rows, in order.
    pub(crate) values: &'a [A],
}

/// Multiplies sorted rows by `width` columns of B, adding in the order of
/// [`rows`](super::rows::rows).
///
/// # Safety
/// The instruction set of `I`. B must have `width` columns and a row for every column index; the
/// output's rows in `block.rows` must be valid for `width` columns and accessed by no other thread;
/// runs, rows, columns and values must be as many as the runs say, and columns `PREFETCH_AHEAD` more where the
/// block asks ahead. Slices must have as many rows as `I::Vector` has lanes.
pub(crate) unsafe fn sorted<I: VectorsFor<T>, T: Scalar>(
    block: &SortedBlock<'_, T::Acc>,
    b: Input<T>,
    out: &Output<T::Acc>,
    width: usize,
) {
    let (block, out) = (*block, *out);
    // SAFETY: the caller's contract, for every call below.
    unsafe {
        if b.is_column && const { is_own_accumulator::<T>() } {
            // T is its own accumulator here, so the pointer is of the right type.
            let x = b.ptr.cast::<T::Acc>();
            let prefetch_a = b.prefetch_a;
            let asks = const { I::Vector::PREFETCHES } && prefetch_a;
            b.ran("sorted", if asks { ENTRIES } else { NOTHING }, out.streams());
            I::call(
                #[inline(always)]
                move || {
                    if prefetch_a {
                        one_column::<I::Vector, T::Acc, ENTRIES>(block, x, out);
                    } else {
                        one_column::<I::Vector, T::Acc, NOTHING>(block, x, out);
                    }
                },
            );
        } else {
            let rows =
                SortedRows { block, lanes: I::Vector::LANES, ahead: ahead(width * size_of::<T>()) };
            if const { I::Vector::PREFETCHES } && block.ahead {
                b.ran("sorted", ROWS, out.streams());
                each_row::<I, T, ROWS>(rows, b, out, width);
            } else if const { I::Vector::PREFETCHES } && b.prefetch_a {
                b.ran("sorted", ENTRIES, out.streams());
                each_row::<I, T, ENTRIES>(rows, b, out, width);
            } else {
                b.ran("sorted", NOTHING, out.streams());
                each_row::<I, T, NOTHING>(rows, b, out, width);
            }
        }
    }
}

/// The rows of a block, those of slices too.
struct SortedRows<'a, A> {
    block: SortedBlock<'a, A>,
    /// Rows of a slice.
    lanes: usize,
    /// How many entries ahead rows of B are prefetch_col_idx for, where they are.
    ahead: usize,
}

/// Does `$what` to every row, in code of its own for each of the lengths up to `$short`.
macro_rules! rows {
    ($self:ident, $what:ident, $short:expr; $($len:literal)*) => {{
        let Self { block, lanes, ahead } = $self;
        let mut rows = block.rows;
        let (mut col_idx, mut values) = (block.col_idx.as_ptr(), block.values.as_ptr());
        macro_rules! runs {
            ($runs:expr, $entries:ident, $first:ident, $row:block) => {
                for run in $runs {
                    let (these, others) = rows.split_at(run.count as usize);
                    rows = others;
                    macro_rules! all {
                        ($of:expr) => {
                            for &$first in these {
                                let $entries = Entries {
                                    col_idx,
                                    shift: 0,
                                    values,
                                    step: 1,
                                    len: $of,
                                    prefetch_col_idx: col_idx.wrapping_add(ahead),
                                    prefetch_shift: 0,
                                };
                                $row
                            }
                        };
                    }
                    match run.len as usize {
                        $($len if const { $len <= $short } => all!($len),)*
                        len => all!(len),
                    }
                }
            };
        }
        // SAFETY: the caller's contract: columns and values are as many as the runs say.
        unsafe {
            runs!(block.slices, entries, first, {
                for r in 0..lanes {
                    let values = values.add(r);
                    let entries = Entries {
                        shift: r,
                        values,
                        step: lanes,
                        prefetch_col_idx: col_idx,
                        prefetch_shift: r + PREFETCH_AHEAD_ROWS,
                        ..entries
                    };
                    $what.row(entries, first as usize + r);
                }
                (col_idx, values) = (col_idx.add(entries.len), values.add(entries.len * lanes));
            });
            runs!(block.runs, entries, row, {
                (col_idx, values) = (col_idx.add(entries.len), values.add(entries.len));
                $what.row(entries, row as usize);
            });
        }
    }};
}

impl<A> Rows for SortedRows<'_, A> {
    type Acc = A;

    #[inline(always)]
    unsafe fn each(self, what: impl RowKernel<Acc = A>) {
        rows!(self, what, 0;);
    }

    // Lengths known to the compiler need neither loop nor jump within a row.
    #[inline(always)]
    unsafe fn each_by_length<W: RowKernel<Acc = A>>(self, what: W) {
        rows!(self, what, W::SHORT; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    }
}

/// Sorted rows by one column.
///
/// # Safety
/// As for [`sorted`].
#[inline(always)]
unsafe fn one_column<V, A, const PREFETCH: u8>(
    block: SortedBlock<'_, A>,
    x: *const A,
    out: Output<A>,
) where
    V: Vector<Acc = A> + Widen<A>,
    A: Accumulator,
{
    let (mut col, mut value, mut row) = (0, 0, 0);
    // SAFETY: the caller's contract, for every access below.
    unsafe {
        let across = out.across();
        let mask = V::mask(V::LANES);
        for run in block.slices {
            let len = run.len as usize;
            for _ in 0..run.count {
                let cols = block.col_idx.as_ptr().add(col);
                let values = block.values.as_ptr().add(value);
                let sum = slice::<V, A>(cols, values, len, x);
                let first = *block.rows.get_unchecked(row) as usize;
                store::<V, 1, false>([sum], &across, out.row(first), mask, V::LANES);
                col += len;
                value += len * V::LANES;
                row += 1;
            }
        }
        let block = SortedBlock {
            slices: &[],
            rows: &block.rows[row..],
            col_idx: &block.col_idx[col..],
            values: &block.values[value..],
            ..block
        };
        let rows = SortedRows { block, lanes: V::LANES, ahead: 0 };
        all::<V>(rows, Dot::<V, PREFETCH> { x, out });
    }
}

/// The sums of a slice's rows, each in the order of additions of [`dot`](super::sum::dot).
///
/// # Safety
/// As for [`sorted`].
#[inline(always)]
unsafe fn slice<V: Vector<Acc = A> + Widen<A>, A: Accumulator>(
    cols: *const u32,
    values: *const A,
    len: usize,
    x: *const A,
) -> V {
    // SAFETY: the caller's contract: the columns lie in B, and so do those of the rows below.
    unsafe {
        let zero = V::splat(A::ZERO);
        let mut sums = [zero; 8];
        macro_rules! entry {
            ($t:expr, $sum:expr) => {
                let x = V::load(x.add(*cols.add($t) as usize));
                $sum = x.mul_add(V::load(values.add($t * V::LANES)), $sum);
            };
        }
        let mut t = 0;
        while t + 8 <= len {
            for chain in 0..8 {
                entry!(t + chain, sums[chain]);
            }
            t += 8;
        }
        if t + 4 <= len {
            for chain in 0..4 {
                entry!(t + chain, sums[chain]);
            }
            t += 4;
        }
        let [a, b, c, d, e, f, g, h] = sums;
        let mut sum =
            if len < 4 { zero } else { a.add(e).add(c.add(g)).add(b.add(f).add(d.add(h))) };
        while t < len {
            entry!(t, sum);
            t += 1;
        }
        sum
    }
}
