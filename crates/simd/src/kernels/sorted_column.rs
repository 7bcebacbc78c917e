//! Sorted rows by a single column.

use girih_formats::{RealAccumulator, Scalar};

use super::each_row::RowKernel;
use super::edges::{Edges, NONE};
use super::panel::Dot;
use super::sorted::{Left, Run, SortedBlock, SortedRows, by_length};
use super::store::store;
use super::sum::Entries;
use crate::isa::{Compile, Vector, VectorsFor, Widen};
use crate::operands::Output;

/// A run of as many rows is one of many.
const MANY: usize = 32;
/// The most entries of a short row.
const FEW_ENTRIES: usize = 4;

impl Run {
    /// Whether it has many rows, of two to four entries.
    #[inline(always)]
    fn is_of_many(self) -> bool {
        self.count as usize >= MANY && (2..=FEW_ENTRIES).contains(&(self.len as usize))
    }
}

impl<A> SortedBlock<'_, A> {
    /// Whether runs have many short rows, on average.
    fn has_runs_of_many(&self) -> bool {
        self.slices.is_empty()
            && self.rows.len() >= MANY * self.runs.len()
            && self.values.len() <= FEW_ENTRIES * self.rows.len()
    }
}

/// Multiplies sorted rows by the column `x`. `prefetches` says whether entries are prefetched.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. The block is as [`sorted`](super::sorted::sorted) requires, and `x` is valid for an element at each of its columns.
/// 3. Rows of C are as [`sorted`](super::sorted::sorted) requires.
pub(super) unsafe fn by_column<I: VectorsFor<T>, T: Scalar<Acc: RealAccumulator>>(
    block: SortedBlock<'_, T::Acc>,
    x: *const T::Acc,
    out: Output<T::Acc>,
    prefetches: bool,
) {
    // SAFETY: the instruction set by point 1, the block and `x` by point 2, C by point 3.
    unsafe {
        // Short rows take little longer than to find out how they are stored, and a function for each way has the
        // registers to itself.
        macro_rules! call {
            ($prefetches:literal, $of_many:literal, $out:expr) => {
                I::call(
                    #[inline(always)]
                    move || {
                        one_column::<I::Vector, T::Acc, $prefetches, $of_many>(block, x, $out);
                    },
                )
            };
        }
        let of_many = const { I::Vector::WIDE } && block.has_runs_of_many();
        match (prefetches, out.is_overwritten()) {
            (true, true) => call!(true, false, out.overwritten()),
            (true, false) => call!(true, false, out),
            (false, true) if of_many => call!(false, true, out.overwritten()),
            (false, true) => call!(false, false, out.overwritten()),
            (false, false) => call!(false, false, out),
        }
    }
}

/// Sorted rows by one column. With `OF_MANY`, runs of many short rows are multiplied in functions of their own. That saves time
/// where most rows are in such runs: others take 1 to 2 % longer.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. The block is as [`sorted`](super::sorted::sorted) requires, and `x` is valid for an element at each of its columns.
/// 3. Rows of C are as [`sorted`](super::sorted::sorted) requires.
#[inline(always)]
unsafe fn one_column<V, A, const PREFETCHES: bool, const OF_MANY: bool>(
    block: SortedBlock<'_, A>,
    x: *const A,
    out: Output<A>,
) where
    V: Vector<Acc = A> + Widen<A>,
    A: RealAccumulator,
{
    let (mut col, mut value, mut row) = (0, 0, 0);
    let across = out.across();
    // SAFETY: the instruction set by point 1.
    let edges = &unsafe { Edges::new(V::LANES) };
    for run in block.slices {
        let len = run.len as usize;
        for _ in 0..run.count {
            // SAFETY: the instruction set by point 1. The slice has `len` columns and `len` vectors of values
            // by point 2, and as many rows of C as a vector has lanes by point 3: they follow one another, as
            // columns of `across`.
            unsafe {
                let cols = block.col_idx.as_ptr().add(col);
                let values = block.values.as_ptr().add(value);
                let sum = slice::<V, A>(cols, values, len, x);
                let first = *block.rows.get_unchecked(row) as usize;
                store::<V, 1, NONE>([sum], &across, out.row(first), edges);
            }
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
    let rows = SortedRows { block, lanes: 1, ahead: 0 };
    let kernel = Dot::<V, PREFETCHES> { x, out };
    let mut left = rows.all();
    for run in rows.block.runs {
        // SAFETY: the instruction set by point 1, single rows and `x` by point 2, C by point 3.
        unsafe {
            if OF_MANY && run.is_of_many() {
                run_of_many::<V, A, PREFETCHES>(*run, &mut left, x, out);
            } else if const { V::WIDE } {
                rows.runs::<_, true>(std::slice::from_ref(run), &mut left, 1, &kernel);
            } else {
                rows.runs::<_, false>(std::slice::from_ref(run), &mut left, 1, &kernel);
            }
        }
    }
}

/// The rows of a run [of many](Run::is_of_many) by one column, in a function that has the registers to itself: in that of
/// all lengths an address is read from the stack for every row, and rows of two entries take an eighth longer.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. The run's rows are left, with as many columns and values as they have entries, and `x` is valid for an element at each
///    column.
/// 3. Rows of C are as [`sorted`](super::sorted::sorted) requires.
#[inline(always)]
unsafe fn run_of_many<V, A, const PREFETCHES: bool>(
    run: Run,
    left: &mut Left<'_, A>,
    x: *const A,
    out: Output<A>,
) where
    V: Vector<Acc = A> + Widen<A>,
    A: RealAccumulator,
{
    let (these, others) = left.rows.split_at(run.count as usize);
    let (cols, values) = (left.col_idx, left.values);
    by_length!(
        run.len as usize, FEW_ENTRIES,
        // SAFETY: the instruction set by point 1, rows and `x` by point 2, C by point 3.
        len => unsafe {
            V::Isa::call(
                #[inline(always)]
                move || {
                    let kernel = Dot::<V, PREFETCHES> { x, out };
                    for (i, &row) in these.iter().enumerate() {
                        let (col_idx, values) = (cols.add(i * len), values.add(i * len));
                        let (shift, step) = (0, 1);
                        let next_col_idx = col_idx;
                        kernel.row(
                            Entries { col_idx, shift, values, step, len, next_col_idx, next_shift: 0 },
                            row as usize,
                        );
                    }
                },
            );
        };
        2 3 4
    );
    let entries = these.len() * run.len as usize;
    left.rows = others;
    // SAFETY: there are as many columns and values by point 2.
    unsafe {
        left.col_idx = cols.add(entries);
        left.values = values.add(entries);
    }
}

/// The sums of a slice's rows, each in the order of additions of [`dot`](super::sum::dot).
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. `cols` is valid for `len` columns, `values` for a vector for each.
/// 3. `x` is valid for a vector at every column.
#[inline(always)]
unsafe fn slice<V: Vector<Acc = A> + Widen<A>, A: RealAccumulator>(
    cols: *const u32,
    values: *const A,
    len: usize,
    x: *const A,
) -> V {
    // SAFETY: the instruction set by point 1.
    let zero = unsafe { V::splat(A::ZERO) };
    let mut sums = [zero; 8];
    macro_rules! entry {
        ($t:expr, $sum:expr) => {
            // SAFETY: the instruction set by point 1. Every use names an entry before `len`: its column and
            // values are readable by point 2, its elements of `x` by point 3.
            unsafe {
                let x = V::load(x.add(*cols.add($t) as usize));
                $sum = x.mul_add(V::load(values.add($t * V::LANES)), $sum);
            }
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
    let mut sum = zero;
    if len >= 4 {
        let [a, b, c, d, e, f, g, h] = sums;
        // SAFETY: the instruction set by point 1.
        sum = unsafe { a.add(e).add(c.add(g)).add(b.add(f).add(d.add(h))) };
    }
    while t < len {
        entry!(t, sum);
        t += 1;
    }
    sum
}
