//! Dense strips: all rows use the same rows of B.

use std::ops::Range;

use girih_formats::Scalar;

use super::edges::{Edges, LAST, NONE};
use super::prefetch::{PREFETCH_AHEAD, Prefetch, prefetch_entries};
use super::runs::Runs;
use super::store::{load_vector, store};
use super::sum::widen_vector;
use crate::isa::{Vector, VectorsFor, Widen};
use crate::operands::{Input, Output, RowMap};

/// Rows of a window over some of its packed columns, dense, values in the accumulation type.
///
/// The packed columns come in runs of neighbours. The value in row `r` and column `c` of run `i` is
/// `values[r·row_stride + i·run_stride + c]`.
#[derive(Clone, Copy, Debug)]
pub struct Strip<'a, A> {
    /// Values of the strip.
    pub values: &'a [A],
    /// From a row's values to the next row's.
    pub row_stride: usize,
    /// From a run's values to the next run's.
    pub run_stride: usize,
    /// The columns, the same for all rows.
    pub runs: Runs<'a>,
    /// Whether sums go on from what the output holds instead of from zero: as if the strip and those
    /// before it were one.
    pub resumes: bool,
}

impl<'a, A> Strip<'a, A> {
    /// The same strip of the same values in another type.
    pub fn with_values<B>(&self, values: &'a [B]) -> Strip<'a, B> {
        let &Self { row_stride, run_stride, runs, resumes, .. } = self;
        Strip { values, row_stride, run_stride, runs, resumes }
    }

    /// Whether every run is one column, its values next to those of the run before it.
    #[inline(always)]
    fn has_single_columns(&self) -> bool {
        self.run_stride == 1 && self.runs.are_columns()
    }
}

/// Single columns whose values are prefetched at a time: a cache line of the narrowest.
const PREFETCHED_COLS: usize = 16;

/// Multiplies a strip by `width` columns of B.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. `values` holds every value of `map.len()` rows. The columns of runs that lie before `ncols` are rows of
///    B, and B has `width` columns.
/// 3. The rows of C in `map` are valid for `width` columns, and no other thread accesses them. A strip that
///    resumes has columns of C next to each other.
pub(crate) unsafe fn strip<I: VectorsFor<T>, T: Scalar>(
    strip: &Strip<'_, T::Acc>,
    b: Input<T>,
    out: &Output<T::Acc>,
    map: RowMap<'_>,
    width: usize,
) {
    let lanes = const { <I::Vector as Vector>::LANES };
    let (strip, out) = (*strip, out.in_tiles());
    let mut j = 0;
    while j < width {
        let (b, out) = (b.at_col(j), out.at_col(j));
        let left = width - j;
        b.ran("strip", Prefetch::Nothing, out.streams());
        macro_rules! columns {
            ($vector:ty, $k:literal, $edges:expr) => {
                // SAFETY: the instruction set by point 1, values and rows of B by point 2, rows of C by point
                // 3. Each use is for columns that are left: `$k` vectors, the last of which is partial only if
                // `$edges` says so.
                unsafe {
                    I::call(
                        #[inline(always)]
                        move || {
                            let rows = const { I::STRIP_ROWS };
                            let width = left.min($k * <$vector>::LANES);
                            all_rows::<$vector, T, $k, { $edges }>(strip, b, out, map, rows, width)
                        },
                    )
                }
            };
        }
        if const { I::HAS_HALF } && width <= I::Half::LANES {
            columns!(I::Half, 1, LAST);
            j += lanes;
        } else if const { I::STRIP_VECTORS == 4 } {
            match left.div_ceil(lanes) {
                1 => columns!(I::Vector, 1, LAST),
                2 => columns!(I::Vector, 2, LAST),
                3 => columns!(I::Vector, 3, LAST),
                _ if left < 4 * lanes => columns!(I::Vector, 4, LAST),
                _ => columns!(I::Vector, 4, NONE),
            }
            j += 4 * lanes;
        } else {
            if left < lanes || const { !I::Vector::WIDE } {
                columns!(I::Vector, 1, LAST);
            } else {
                columns!(I::Vector, 1, NONE);
            }
            j += lanes;
        }
    }
    if out.streams() {
        I::Vector::fence();
    }
}

/// All rows of a strip by `width` columns, `K` vectors of which the last may be partial if `EDGES` says so; up to
/// `tile_rows` rows at a time.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. The strip is as [`strip`] requires; B has `width` columns.
/// 3. Rows of C are as [`strip`] requires, for as many columns.
#[inline(always)]
unsafe fn all_rows<V, T, const K: usize, const EDGES: u8>(
    strip: Strip<'_, T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    map: RowMap<'_>,
    tile_rows: usize,
    width: usize,
) where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    // SAFETY: the instruction set by point 1.
    let edges = &unsafe { Edges::new(width) };
    let mut r = 0;
    while r < map.len() {
        macro_rules! tile {
            ($rows:literal) => {
                tile!($rows, $rows)
            };
            ($most:literal, $rows:expr) => {{
                // SAFETY: the instruction set by point 1, the strip by point 2, C by point 3. `$rows` rows
                // are left, `$most` at most.
                unsafe { tile::<V, T, $most, K, EDGES>(&strip, r..r + $rows, b, &out, map, edges) };
                $rows
            }};
        }
        // Tiles of as equal a size as they can be.
        let left = map.len() - r;
        if const { !V::WIDE } {
            r += tile!(4, left.min(4));
            continue;
        }
        r += match left.div_ceil(left.div_ceil(tile_rows)) {
            1 => tile!(1),
            2 => tile!(2),
            3 => tile!(3),
            5 if tile_rows > 4 => tile!(5),
            6 if tile_rows > 4 => tile!(6),
            _ => tile!(4),
        };
    }
}

/// Does `$body` for each of `ROWS ≤ 6` rows `$q`; where vectors are not wide, for each of `$rows ≤ ROWS`.
///
/// Written out: sums that a loop over rows indexes are kept in memory, unless the whole program is optimized.
macro_rules! for_each_row {
    (@ $at:literal $q:ident $rows:ident $body:block) => {
        if const { $at < ROWS } && (const { V::WIDE } || $at < $rows) {
            let $q: usize = $at;
            $body
        }
    };
    ($q:ident in $rows:ident, $body:block) => {
        for_each_row!(@ 0 $q $rows $body);
        for_each_row!(@ 1 $q $rows $body);
        for_each_row!(@ 2 $q $rows $body);
        for_each_row!(@ 3 $q $rows $body);
        for_each_row!(@ 4 $q $rows $body);
        for_each_row!(@ 5 $q $rows $body);
    };
}

/// `ROWS` rows by `K` vectors of columns, all sums in registers. Fewer rows where vectors are not wide.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. The strip is as [`strip`] requires and has these rows; B has `K` vectors of columns, some of
///    them partial as `EDGES` says.
/// 3. Rows of C are as [`strip`] requires, for as many columns.
#[inline(always)]
unsafe fn tile<V, T, const ROWS: usize, const K: usize, const EDGES: u8>(
    strip: &Strip<'_, T::Acc>,
    rows: Range<usize>,
    b: Input<T>,
    out: &Output<T::Acc>,
    map: RowMap<'_>,
    edges: &Edges<V>,
) where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    const { assert!(ROWS <= 6) };
    let (r, rows) = (rows.start, rows.len());
    // SAFETY: the instruction set by point 1.
    let mut sums = [[unsafe { V::splat(T::Acc::ZERO) }; K]; ROWS];
    if strip.resumes {
        for_each_row!(q in rows, {
            if let Some(row) = map.row(r + q) {
                for u in 0..K {
                    // SAFETY: the instruction set by point 1, vector `u` of the row of C by point 3.
                    sums[q][u] = unsafe { load_vector::<V, K, EDGES>(out.row(row), u, edges) };
                }
            }
        });
    }
    // A strip without columns has no values to point at.
    let values = strip.values.as_ptr().wrapping_add(r * strip.row_stride);
    macro_rules! column {
        ($a:expr, $row:expr) => {
            // SAFETY: the instruction set by point 1. Every use is for a column that exists: its values,
            // `row_stride` apart, and its row of B by point 2.
            unsafe {
                let mut x = [V::splat(T::Acc::ZERO); K];
                for u in 0..K {
                    x[u] = widen_vector::<V, T, K, EDGES>($row, u, edges);
                }
                for_each_row!(q in rows, {
                    let a = V::splat(*$a.add(q * strip.row_stride));
                    for u in 0..K {
                        sums[q][u] = x[u].mul_add(a, sums[q][u]);
                    }
                });
            }
        };
    }
    let prefetch = if const { V::PREFETCHES } { Prefetch::Entries } else { Prefetch::Nothing };
    if strip.has_single_columns() {
        for (i, cols) in strip.runs.starts.chunks(PREFETCHED_COLS).enumerate() {
            let a = values.wrapping_add(i * PREFETCHED_COLS);
            if const { K > 1 } && b.prefetch_a {
                b.ran("strip", prefetch, false);
                for_each_row!(q in rows, {
                    prefetch_entries::<V, _>(cols.as_ptr(), a.wrapping_add(q * strip.row_stride));
                });
            }
            for (i, &col) in cols.iter().enumerate() {
                column!(a.add(i), b.ptr.offset(col as isize * b.row_stride));
            }
        }
    } else {
        let ahead = (PREFETCH_AHEAD / strip.runs.len.max(1)).max(1) * strip.run_stride;
        for (i, &run) in strip.runs.starts.iter().enumerate() {
            let (start, count) = strip.runs.run(run);
            // A part of a run may lie past the last column: then it counts no columns.
            let a = values.wrapping_add(i * strip.run_stride);
            let mut row = b.ptr.wrapping_offset(start as isize * b.row_stride);
            if b.prefetch_a {
                b.ran("strip", prefetch, false);
                for_each_row!(q in rows, {
                    let next = a.wrapping_add(ahead + q * strip.row_stride);
                    for at in (0..strip.runs.len).step_by(const { 64 / size_of::<T::Acc>() }) {
                        V::prefetch(next.wrapping_add(at));
                    }
                });
            }
            for c in 0..count {
                column!(a.add(c), row);
                row = row.wrapping_offset(b.row_stride);
            }
        }
    }
    for_each_row!(q in rows, {
        if let Some(row) = map.row(r + q) {
            // SAFETY: the instruction set by point 1, the row of C by point 3.
            unsafe { store::<V, K, EDGES>(sums[q], out, out.row(row), edges) };
        }
    });
}
