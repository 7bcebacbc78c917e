//! Dense strips: all rows share the rows of B they meet.

use girih_formats::Scalar;

use super::prefetch::{ENTRIES, NOTHING, PREFETCH_AHEAD, prefetch_entries};
use super::runs::Runs;
use super::store::store;
use super::sum::vector;
use crate::isa::{Vector, VectorsFor, Widen};
use crate::operands::{Input, Output, RowMap};

/// Rows of a window over some of its packed columns, dense, values in the accumulation type.
///
/// The packed columns come in runs of neighbours. The value in row `r` and column `c` of run `i` is
/// `values[r·row_stride + i·run_stride + c]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strip<'a, A> {
    pub(crate) values: &'a [A],
    pub(crate) row_stride: usize,
    pub(crate) run_stride: usize,
    pub(crate) runs: Runs<'a>,
    /// Whether sums go on from what the output holds instead of from zero: as if the strip and those
    /// before it were one.
    pub(crate) resumes: bool,
}

impl<'a, A> Strip<'a, A> {
    /// The same strip of the same values in another type.
    pub(crate) fn with_values<B>(&self, values: &'a [B]) -> Strip<'a, B> {
        let &Self { row_stride, run_stride, runs, resumes, .. } = self;
        Strip { values, row_stride, run_stride, runs, resumes }
    }

    /// Whether every run is one column, next to the one before it.
    #[inline(always)]
    fn is_gathered(&self) -> bool {
        self.run_stride == 1 && self.runs.are_columns()
    }
}

/// Columns of a gathered strip whose values are asked for at a time: a cache line of the narrowest.
const PREFETCHED_COLS: usize = 16;

/// Multiplies a strip by `width` columns of B.
///
/// # Safety
/// The instruction set of `I`. B must have `width` columns and `ncols` rows; `values` must hold
/// every value the strip's fields speak of for `map.len()` rows; the rows of the output in `map`
/// must be valid for `width` columns and accessed by no other thread.
pub(crate) unsafe fn strip<I: VectorsFor<T>, T: Scalar>(
    strip: &Strip<'_, T::Acc>,
    b: Input<T>,
    out: &Output<T::Acc>,
    map: RowMap<'_>,
    width: usize,
) {
    let lanes = const { <I::Vector as Vector>::LANES };
    let last = if width.is_multiple_of(lanes) { lanes } else { width % lanes };
    let (strip, out) = (*strip, out.in_tiles());
    let mut j = 0;
    // SAFETY: the caller's contract, for every call below.
    unsafe {
        while j < width {
            let (b, out) = (b.at_col(j), out.at_col(j));
            let left = width - j;
            macro_rules! columns {
                ($k:literal, $tail:literal) => {
                    columns!(I::Vector, $k, $tail, last)
                };
                ($vector:ty, $k:literal, $tail:literal, $last:expr) => {{
                    b.ran("strip", NOTHING, out.streams());
                    I::call(
                        #[inline(always)]
                        move || {
                            let rows = const { I::STRIP_ROWS };
                            columns::<$vector, T, $k, $tail>(strip, b, out, map, rows, $last)
                        },
                    )
                }};
            }
            if const { I::HAS_HALF } && width <= I::Half::LANES {
                columns!(I::Half, 1, true, width);
                j += lanes;
            } else if const { I::STRIP_VECTORS == 4 } {
                match left.div_ceil(lanes) {
                    1 => columns!(1, true),
                    2 => columns!(2, true),
                    3 => columns!(3, true),
                    _ if left < 4 * lanes => columns!(4, true),
                    _ => columns!(4, false),
                }
                j += 4 * lanes;
            } else {
                if left < lanes {
                    columns!(1, true);
                } else {
                    columns!(1, false);
                }
                j += lanes;
            }
        }
        if out.streams() {
            I::Vector::fence();
        }
    }
}

/// All rows of a strip by `K` vectors of columns, the last of them `len` lanes wide with `TAIL`.
///
/// # Safety
/// As for [`strip`].
#[inline(always)]
unsafe fn columns<V, T, const K: usize, const TAIL: bool>(
    strip: Strip<'_, T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    map: RowMap<'_>,
    tile_rows: usize,
    len: usize,
) where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    // SAFETY: the caller's contract.
    let mask = unsafe { V::mask(len) };
    let mut r = 0;
    while r < map.len() {
        macro_rules! tile {
            ($rows:expr) => {{
                tile::<V, T, { $rows }, K, TAIL>(&strip, r, b, &out, map, mask, len);
                $rows
            }};
        }
        // SAFETY: the caller's contract; the tile's rows are in the map.
        r += unsafe {
            // Tiles of as equal a size as they can be.
            let left = map.len() - r;
            match left.div_ceil(left.div_ceil(tile_rows)) {
                1 => tile!(1),
                2 => tile!(2),
                3 => tile!(3),
                5 if tile_rows > 4 => tile!(5),
                6 if tile_rows > 4 => tile!(6),
                _ => tile!(4),
            }
        };
    }
}

/// `ROWS` rows from `r` on by `K` vectors of columns, all sums in registers.
///
/// # Safety
/// As for [`strip`].
#[inline(always)]
unsafe fn tile<V, T, const ROWS: usize, const K: usize, const TAIL: bool>(
    strip: &Strip<'_, T::Acc>,
    r: usize,
    b: Input<T>,
    out: &Output<T::Acc>,
    map: RowMap<'_>,
    mask: V::Mask,
    len: usize,
) where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    // Written out: sums that a loop over rows indexes are kept in memory, unless the whole program is optimized.
    const { assert!(ROWS <= 6) };
    macro_rules! each_row {
        (@ $at:literal $q:ident $body:block) => {
            if $at < ROWS {
                let $q: usize = $at;
                $body
            }
        };
        ($q:ident, $body:block) => {
            each_row!(@ 0 $q $body);
            each_row!(@ 1 $q $body);
            each_row!(@ 2 $q $body);
            each_row!(@ 3 $q $body);
            each_row!(@ 4 $q $body);
            each_row!(@ 5 $q $body);
        };
    }
    // SAFETY: the caller's contract: the values are in the strip, the columns in B.
    unsafe {
        let mut sums = [[V::splat(T::Acc::ZERO); K]; ROWS];
        if strip.resumes {
            each_row!(q, {
                if let Some(row) = map.row(r + q) {
                    for u in 0..K {
                        let p = out.row(row).add(u * V::LANES);
                        sums[q][u] =
                            if TAIL && u + 1 == K { V::load_masked(p, mask) } else { V::load(p) };
                    }
                }
            });
        }
        // A strip without columns has no values to point at.
        let values = strip.values.as_ptr().wrapping_add(r * strip.row_stride);
        macro_rules! column {
            ($a:expr, $row:expr) => {
                let mut x = [V::splat(T::Acc::ZERO); K];
                for u in 0..K {
                    x[u] = vector::<V, T, TAIL>($row, u, K, mask);
                }
                each_row!(q, {
                    let a = V::splat(*$a.add(q * strip.row_stride));
                    for u in 0..K {
                        sums[q][u] = x[u].mul_add(a, sums[q][u]);
                    }
                });
            };
        }
        if strip.is_gathered() {
            for (i, cols) in strip.runs.starts.chunks(PREFETCHED_COLS).enumerate() {
                let a = values.add(i * PREFETCHED_COLS);
                if const { K > 1 } && b.prefetch_a {
                    b.ran("strip", if const { V::PREFETCHES } { ENTRIES } else { NOTHING }, false);
                    each_row!(q, {
                        prefetch_entries::<V, _>(
                            cols.as_ptr(),
                            a.wrapping_add(q * strip.row_stride),
                        );
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
                let a = values.add(i * strip.run_stride);
                let mut row = b.ptr.wrapping_offset(start as isize * b.row_stride);
                if b.prefetch_a {
                    b.ran("strip", if const { V::PREFETCHES } { ENTRIES } else { NOTHING }, false);
                    each_row!(q, {
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
        each_row!(q, {
            if let Some(row) = map.row(r + q) {
                store::<V, K, TAIL>(sums[q], out, out.row(row), mask, len);
            }
        });
    }
}
