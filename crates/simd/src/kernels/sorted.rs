//! Sparse rows sorted by length, so that the processor predicts where each ends.

use girih_formats::{RealAccumulator, Scalar};

use super::each_row::{RowKernel, Rows, each_row};
use super::panel::Dot;
use super::prefetch::{PREFETCH_AHEAD_ROWS, Prefetch, entries_ahead};
use super::store::store;
use super::sum::{Entries, is_own_accumulator};
use crate::isa::{Compile, Vector, VectorsFor, Widen};
use crate::operands::{Input, Output};

/// Consecutive rows of one length, or slices of such rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Entries of each row.
    pub len: u32,
    /// How many rows, or slices.
    pub count: u32,
}

/// Rows of a run, on average or at the least, that are many; and the most entries of a short row.
const MANY: usize = 32;
const FEW_ENTRIES: usize = 4;

impl Run {
    /// Whether it has many rows, of two to four entries.
    #[inline(always)]
    fn is_of_many(self) -> bool {
        self.count as usize >= MANY && (2..=FEW_ENTRIES).contains(&(self.len as usize))
    }
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

impl<A> SortedBlock<'_, A> {
    /// Whether runs have many short rows, on average.
    fn has_runs_of_many(&self) -> bool {
        self.slices.is_empty()
            && self.rows.len() >= MANY * self.runs.len()
            && self.values.len() <= FEW_ENTRIES * self.rows.len()
    }
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
            match (prefetch == Prefetch::Entries, out.is_overwritten()) {
                (true, true) => call!(true, false, out.overwritten()),
                (true, false) => call!(true, false, out),
                (false, true) if of_many => call!(false, true, out.overwritten()),
                (false, true) => call!(false, false, out.overwritten()),
                (false, false) => call!(false, false, out),
            }
        }
        return;
    }
    let ahead = entries_ahead(width * size_of::<T>());
    let rows = SortedRows { block, lanes: I::Vector::LANES, ahead };
    // SAFETY: the instruction set by point 1, rows and B by point 2, C by point 3. Rows of B are prefetched
    // only if the block says so: then `ahead` columns follow the last.
    unsafe { each_row::<I, T>(rows, b, out, width, prefetch) }
}

/// The rows of a block, those of slices too.
struct SortedRows<'a, A> {
    block: SortedBlock<'a, A>,
    /// Rows of a slice.
    lanes: usize,
    /// How many entries ahead rows of B are prefetched, if they are. Not beyond the block's columns.
    ahead: usize,
}

/// What is left of a block.
struct Left<'a, A> {
    rows: &'a [u32],
    col_idx: *const u32,
    values: *const A,
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

impl<A> SortedRows<'_, A> {
    /// What is left of a block before its first row.
    fn all(&self) -> Left<'_, A> {
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
    unsafe fn runs<K: RowKernel<Acc = A>, const BY_LENGTH: bool>(
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

/// Sorted rows by one column. With `OF_MANY`, runs of many short rows are multiplied in functions of their own. That saves time
/// where most rows are in such runs: others take 1 to 2 % longer.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. The block is as [`sorted`] requires, and `x` is valid for an element at each of its columns.
/// 3. Rows of C are as [`sorted`] requires.
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
    let mask = unsafe { V::mask(V::LANES) };
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
                store::<V, 1, false>([sum], &across, out.row(first), mask, V::LANES);
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
/// 3. Rows of C are as [`sorted`] requires.
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
