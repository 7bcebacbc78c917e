//! Tiles by some vectors of columns: the loops over tiles and their patterns.

use girih_formats::{PAD_ROW, Scalar};

use super::edges::{Edges, LAST, NONE};
use super::patterns::{PatternBlock, TILE_ROWS};
use super::prefetch::{EntriesAhead, PREFETCH_AHEAD, Prefetch, prefetch_vectors};
use super::store::store;
use super::sum::widen_vector;
use crate::isa::{Compile, Vector, Widen};
use crate::operands::{Input, Output};
use crate::thresholds::TILE_COLS_AT_ONCE;

/// Columns of a long pattern after which entries of A are prefetched again: an even number, for two chains.
const AT_ONCE: u32 = TILE_COLS_AT_ONCE as u32;

/// Where the next column of a tile, and its first value, are.
struct Cursor<A> {
    cols: *const u32,
    values: *const A,
}

/// All tiles by `K` vectors of columns, as a function of its own.
///
/// # Safety
/// Points 1 to 3 of [`all_tiles`].
#[inline(always)]
pub(super) unsafe fn columns<V, T, const K: usize, const CHAINS: usize, const EDGES: u8>(
    block: PatternBlock<'_, T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    edges: Edges<V>,
    prefetch: Prefetch,
) where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    macro_rules! call {
        ($rows:literal) => {
            // SAFETY: points 1 to 3 are those of `all_tiles`.
            unsafe {
                V::Isa::call(
                    #[inline(always)]
                    move || {
                        all_tiles::<V, T, K, CHAINS, EDGES, $rows>(block, b, out, edges, prefetch);
                    },
                )
            }
        };
    }
    if const { V::PREFETCHES } && prefetch == Prefetch::Rows {
        call!(true);
    } else {
        call!(false);
    }
}

/// All tiles by `K` vectors of columns, some of them partial as `EDGES` says; sums in one chain or two. `prefetch` says
/// what is [prefetched](super::prefetch) meanwhile: entries before each tile and within long patterns, rows of B with `ROWS`
/// alone.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. The block is as [`patterns`](super::patterns::patterns) requires; B has `K` vectors of columns, some of them partial as `EDGES` says.
/// 3. The rows of C in the tiles are valid for as many, and no other thread accesses them.
#[inline(always)]
unsafe fn all_tiles<V, T, const K: usize, const CHAINS: usize, const EDGES: u8, const ROWS: bool>(
    block: PatternBlock<'_, T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    edges: Edges<V>,
    prefetch: Prefetch,
) where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    // SAFETY: the instruction set by point 1.
    let (edges, zero) = unsafe { (&edges, V::splat(T::Acc::ZERO)) };
    let mut next = Cursor { cols: block.col_idx.as_ptr(), values: block.values.as_ptr() };
    let mut ahead = EntriesAhead::of((next.cols, next.values));
    for tile in block.tiles {
        if prefetch != Prefetch::Nothing {
            ahead.prefetch::<V, _>((next.cols, next.values));
        }
        let mut sums = [[[zero; K]; TILE_ROWS]; CHAINS];
        // Rows by name: sums at indices known only once loops are unrolled are kept in memory from one
        // pattern to the next.
        macro_rules! column {
            ($chain:literal: $($r:literal)*) => {
                // SAFETY: the instruction set by point 1; the column and its values by point 2, since every
                // use is for a column that the tile counts.
                unsafe {
                    let x = next_column::<V, T, K, EDGES, ROWS>(&mut next, b, edges);
                    $(
                        let a = V::splat(*next.values);
                        next.values = next.values.add(1);
                        for u in 0..K {
                            let sum = &mut sums[$chain % CHAINS][$r][u];
                            *sum = x[u].mul_add(a, *sum);
                        }
                    )*
                }
            };
        }
        // A run of columns of one pattern, an even number unless it is the last.
        macro_rules! run {
            ($count:expr; $($r:literal)*) => {
                for _ in 0..$count / CHAINS as u32 {
                    column!(0: $($r)*);
                    if CHAINS == 2 {
                        column!(1: $($r)*);
                    }
                }
            };
        }
        macro_rules! last {
            ($count:expr; $($r:literal)*) => {
                if CHAINS == 2 && $count % 2 == 1 {
                    column!(0: $($r)*);
                }
            };
        }
        macro_rules! short {
            ($($p:literal: $($r:literal)*;)*) => {$(
                let count = tile.counts[$p - 1];
                run!(count; $($r)*);
                last!(count; $($r)*);
            )*};
        }
        macro_rules! long {
            ($($p:literal: $($r:literal)*;)*) => {$(
                let mut left = tile.counts[$p - 1];
                while left > 0 {
                    let count = left.min(AT_ONCE);
                    run!(count; $($r)*);
                    let rows = const { [$($r),*].len() };
                    EntriesAhead::prefetch_again::<V, _>((next.cols, next.values), rows);
                    left -= count;
                }
                last!(tile.counts[$p - 1]; $($r)*);
            )*};
        }
        macro_rules! patterns {
            ($columns:ident) => {
                $columns! {
                    1: 0; 2: 1; 3: 0 1; 4: 2; 5: 0 2; 6: 1 2; 7: 0 1 2; 8: 3; 9: 0 3; 10: 1 3;
                    11: 0 1 3; 12: 2 3; 13: 0 2 3; 14: 1 2 3; 15: 0 1 2 3;
                }
            };
        }
        // A function that knows long patterns has the loops of all patterns twice. So few do: those of one or two vectors, which
        // read A for most of their time, and that of four whole vectors.
        let may_be_long =
            const { V::PREFETCHES && !ROWS && (CHAINS == 2 || K == 4 && EDGES == NONE) };
        if may_be_long
            && prefetch != Prefetch::Nothing
            && tile.counts.iter().any(|&count| count > AT_ONCE)
        {
            patterns!(long);
        } else {
            patterns!(short);
        }
        macro_rules! rows {
            ($($r:literal)*) => {$(
                if tile.rows[$r] != PAD_ROW {
                    let dst = out.row(tile.rows[$r] as usize);
                    let mut sum = sums[0][$r];
                    // SAFETY: the instruction set by point 1, the row of C by point 3.
                    unsafe {
                        if CHAINS == 2 {
                            for u in 0..K {
                                sum[u] = sum[u].add(sums[1 % CHAINS][$r][u]);
                            }
                        }
                        store::<V, K, EDGES>(sum, &out, dst, edges);
                    }
                }
            )*};
        }
        rows!(0 1 2 3);
    }
}

/// All tiles by one vector of columns of `len` lanes, sums in one chain or two. One loop for all patterns, which keeps
/// sums in memory: for vectors that are not wide.
///
/// # Safety
/// Points 1 to 3 of [`all_tiles`].
#[inline(always)]
pub(super) unsafe fn all_tiles_by_vector<V, T>(
    block: PatternBlock<'_, T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    len: usize,
    chains: usize,
) where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    // SAFETY: the instruction set by point 1.
    let (edges, zero) = unsafe { (&Edges::new(len), V::splat(T::Acc::ZERO)) };
    let mut next = Cursor { cols: block.col_idx.as_ptr(), values: block.values.as_ptr() };
    for tile in block.tiles {
        let mut sums = [[zero; TILE_ROWS]; 2];
        for (pattern, &count) in (1..).zip(&tile.counts) {
            for column in 0..count as usize {
                // SAFETY: the instruction set by point 1; the column and its values by point 2, since the tile
                // counts it.
                unsafe {
                    let [x] = next_column::<V, T, 1, LAST, false>(&mut next, b, edges);
                    for (r, sum) in sums[column & (chains - 1)].iter_mut().enumerate() {
                        if pattern >> r & 1 == 1 {
                            *sum = x.mul_add(V::splat(*next.values), *sum);
                            next.values = next.values.add(1);
                        }
                    }
                }
            }
        }
        for (r, &row) in tile.rows.iter().enumerate().filter(|(_, row)| **row != PAD_ROW) {
            // SAFETY: the instruction set by point 1, the row of C by point 3.
            unsafe {
                let sum = if chains == 2 { sums[0][r].add(sums[1][r]) } else { sums[0][r] };
                store::<V, 1, LAST>([sum], &out, out.row(row as usize), edges);
            }
        }
    }
}

/// The next column's row of B. With `ROWS` prefetches the row of B that a later column needs.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. A column is left. It is a row of B with `K` vectors, some of them partial as `EDGES` says. With
///    `ROWS`, [`PREFETCH_AHEAD`] columns are readable after it.
#[inline(always)]
unsafe fn next_column<V, T, const K: usize, const EDGES: u8, const ROWS: bool>(
    next: &mut Cursor<T::Acc>,
    b: Input<T>,
    edges: &Edges<V>,
) -> [V; K]
where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    // SAFETY: the instruction set by point 1; the column, its row of B and the column ahead by point 2.
    // Nothing is read at what is prefetched.
    unsafe {
        if const { ROWS } {
            let col = *next.cols.add(PREFETCH_AHEAD) as isize;
            let row = b.ptr.wrapping_offset(col.wrapping_mul(b.row_stride));
            prefetch_vectors::<V, T, K, EDGES>(row, edges);
        }
        let row = b.ptr.wrapping_offset(*next.cols as isize * b.row_stride);
        next.cols = next.cols.add(1);
        let mut x = [V::splat(T::Acc::ZERO); K];
        for u in 0..K {
            x[u] = widen_vector::<V, T, K, EDGES>(row, u, edges);
        }
        x
    }
}
