//! Tiles of four sparse rows whose columns are grouped by which of the rows hold them.

use girih_formats::{PAD_ROW, Scalar};

use super::prefetch::{ENTRIES, NOTHING, PREFETCH_AHEAD, ROWS, prefetch_entries};
use super::store::store;
use super::sum::vector;
use crate::isa::{Vector, VectorsFor, Widen};
use crate::operands::{Input, Output};

/// Rows of a tile.
pub(crate) const TILE_ROWS: usize = 4;

/// Patterns: every choice of rows but none.
pub(crate) const PATTERNS: usize = (1 << TILE_ROWS) - 1;

/// A tile: its rows, and how many of its columns are held by which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    /// Rows of C, `PAD_ROW` for one that does not exist.
    pub(crate) rows: [u32; TILE_ROWS],
    /// Columns of pattern `p + 1`: bit `r` says that row `r` holds them.
    pub(crate) counts: [u32; PATTERNS],
}

/// Tiles of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatternBlock<'a, A> {
    pub(crate) tiles: &'a [Tile],
    /// Columns of every tile, those of a pattern ascending, patterns ascending.
    pub(crate) col_idx: &'a [u32],
    /// Whether to ask [ahead](super::prefetch) for the rows of B that columns meet, four vectors at a time.
    /// Then there are [`PREFETCH_AHEAD`] columns more.
    pub(crate) ahead: bool,
    /// The values of every column, as many as rows hold it, in the order of rows.
    pub(crate) values: &'a [A],
}

/// Multiplies tiles by `width` columns of B.
///
/// A row of B is loaded once for all rows of a tile that meet it, and their sums stay in registers
/// across patterns (Wilkinson et al., "Register Tiling for Unstructured Sparsity in Neural Network
/// Inference", PLDI 2023, section 4). An element of C is summed in the order of the tile's columns, where a
/// group of columns is one or two vectors in two interleaved chains for each pattern: columns that a single row
/// holds would wait for each other's multiply-adds.
///
/// # Safety
/// The instruction set of `I`. B must have `width` columns and a row for every column index; the
/// output's rows in the tiles must be valid for `width` columns and accessed by no other thread;
/// columns and values must be as many as the tiles say, and columns `PREFETCH_AHEAD` more where the block asks
/// ahead.
pub(crate) unsafe fn patterns<I: VectorsFor<T>, T: Scalar>(
    block: &PatternBlock<'_, T::Acc>,
    b: Input<T>,
    out: &Output<T::Acc>,
    width: usize,
) {
    let lanes = const { <I::Vector as Vector>::LANES };
    let (block, out) = (*block, out.in_tiles());
    // SAFETY: the caller's contract, for every call below.
    unsafe {
        macro_rules! narrow {
            ($vector:ty) => {
                if const { I::Vector::PREFETCHES } && b.prefetch_a {
                    narrow!($vector, ENTRIES)
                } else {
                    narrow!($vector, NOTHING)
                }
            };
            ($vector:ty, $ask:ident) => {{
                b.ran("patterns", $ask, out.streams());
                I::call(
                    #[inline(always)]
                    move || columns::<$vector, T, 1, 2, true, $ask>(block, b, out, width),
                )
            }};
        }
        if !b.is_part_of_group {
            if const { I::HAS_QUARTER } && width <= I::Quarter::LANES {
                return narrow!(I::Quarter);
            }
            if const { I::HAS_HALF } && width <= I::Half::LANES {
                return narrow!(I::Half);
            }
        }
        let last = if width.is_multiple_of(lanes) { lanes } else { width % lanes };
        let mut j = 0;
        while j < width {
            let left = width - j;
            let (b, out) = (b.at_col(j), out.at_col(j));
            macro_rules! columns {
                ($k:literal, $chains:literal, $tail:literal) => {
                    if const { I::Vector::PREFETCHES } && b.prefetch_a {
                        columns!($k, $chains, $tail, ENTRIES)
                    } else {
                        columns!($k, $chains, $tail, NOTHING)
                    }
                };
                ($k:literal, $chains:literal, $tail:literal, $ask:ident) => {{
                    b.ran("patterns", $ask, out.streams());
                    I::call(
                        #[inline(always)]
                        move || {
                            columns::<I::Vector, T, $k, $chains, $tail, $ask>(block, b, out, last)
                        },
                    )
                }};
            }
            let vectors = left.div_ceil(lanes);
            // A group of one or two vectors has two chains for each.
            let of_few = !b.is_part_of_group && (width - j / (4 * lanes) * 4 * lanes) <= 2 * lanes;
            if const { I::STRIP_VECTORS == 4 } && of_few {
                if vectors == 1 {
                    columns!(1, 2, true);
                } else {
                    columns!(2, 2, true);
                }
                j += 2 * lanes;
            } else if of_few {
                if left < lanes {
                    columns!(1, 2, true);
                } else {
                    columns!(1, 2, false);
                }
                j += lanes;
            } else if const { I::STRIP_VECTORS == 4 } {
                match vectors {
                    1 => columns!(1, 1, true),
                    2 => columns!(2, 1, true),
                    3 => columns!(3, 1, true),
                    _ if left < 4 * lanes => columns!(4, 1, true),
                    _ if const { I::Vector::PREFETCHES } && block.ahead => {
                        columns!(4, 1, false, ROWS);
                    }
                    _ => columns!(4, 1, false),
                }
                j += 4 * lanes;
            } else {
                if left < lanes {
                    columns!(1, 1, true);
                } else {
                    columns!(1, 1, false);
                }
                j += lanes;
            }
        }
        if out.streams() {
            I::Vector::fence();
        }
    }
}

/// All tiles by `K` vectors of columns, the last of them `len` lanes wide with `TAIL`; sums in `CHAINS`
/// chains: 1 or 2; `PREFETCH` says what is asked for [ahead](super::prefetch).
///
/// # Safety
/// As for [`patterns`].
#[inline(always)]
unsafe fn columns<V, T, const K: usize, const CHAINS: usize, const TAIL: bool, const PREFETCH: u8>(
    block: PatternBlock<'_, T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    len: usize,
) where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    // SAFETY: the caller's contract.
    let mask = unsafe { V::mask(len) };
    let mut cols = block.col_idx.as_ptr();
    let mut values = block.values.as_ptr();
    for tile in block.tiles {
        // SAFETY: the caller's contract: columns and values are there, and columns lie in B.
        unsafe {
            let mut sums = [[[V::splat(T::Acc::ZERO); K]; TILE_ROWS]; CHAINS];
            // Rows by name: at indices known only once loops are unrolled, sums would live in memory
            // from one pattern to the next.
            macro_rules! column {
                ($chain:literal: $($r:literal)*) => {{
                    if const { PREFETCH == ROWS } {
                        let col = *cols.add(PREFETCH_AHEAD) as isize;
                        let row = b.ptr.wrapping_offset(col.wrapping_mul(b.row_stride));
                        for u in 0..K {
                            V::prefetch_l2(row.wrapping_add(u * V::LANES));
                        }
                    }
                    if const { PREFETCH != NOTHING && $chain == 0 } {
                        prefetch_entries::<V, _>(cols, values);
                    }
                    let row = b.ptr.offset(*cols as isize * b.row_stride);
                    cols = cols.add(1);
                    let mut x = [V::splat(T::Acc::ZERO); K];
                    for u in 0..K {
                        x[u] = vector::<V, T, TAIL>(row, u, K, mask);
                    }
                    $(
                        let a = V::splat(*values);
                        values = values.add(1);
                        for u in 0..K {
                            let sum = &mut sums[$chain % CHAINS][$r][u];
                            *sum = x[u].mul_add(a, *sum);
                        }
                    )*
                }};
            }
            macro_rules! pattern {
                ($($p:literal: $($r:literal)*;)*) => {$(
                    let count = tile.counts[$p - 1];
                    for _ in 0..count / CHAINS as u32 {
                        column!(0: $($r)*);
                        if CHAINS == 2 {
                            column!(1: $($r)*);
                        }
                    }
                    if CHAINS == 2 && count % 2 == 1 {
                        column!(0: $($r)*);
                    }
                )*};
            }
            pattern! {
                1: 0; 2: 1; 3: 0 1; 4: 2; 5: 0 2; 6: 1 2; 7: 0 1 2; 8: 3; 9: 0 3; 10: 1 3;
                11: 0 1 3; 12: 2 3; 13: 0 2 3; 14: 1 2 3; 15: 0 1 2 3;
            }
            macro_rules! rows {
                ($($r:literal)*) => {$(
                    if tile.rows[$r] != PAD_ROW {
                        let dst = out.row(tile.rows[$r] as usize);
                        let mut sum = sums[0][$r];
                        if CHAINS == 2 {
                            for u in 0..K {
                                sum[u] = sum[u].add(sums[1 % CHAINS][$r][u]);
                            }
                        }
                        store::<V, K, TAIL>(sum, &out, dst, mask, len);
                    }
                )*};
            }
            rows!(0 1 2 3);
        }
    }
}
