//! Tiles of four sparse rows whose columns are grouped by which of the rows hold them.

use bytemuck::{Pod, Zeroable};
use girih_formats::{PAD_ROW, Scalar};

use super::edges::{BOTH, Edges, FIRST, Headed, LAST, NONE};
use super::prefetch::{EntriesAhead, PREFETCH_AHEAD, Prefetch};
use super::store::store;
use super::sum::widen_vector;
use crate::isa::{Vector, VectorsFor, Widen};
use crate::operands::{Input, Output};

/// Rows of a tile.
pub const TILE_ROWS: usize = 4;

/// Patterns: every choice of rows but none.
pub const PATTERNS: usize = (1 << TILE_ROWS) - 1;

/// A tile: its rows, and how many of its columns are held by which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Tile {
    /// Rows of C, `PAD_ROW` for one that does not exist.
    pub rows: [u32; TILE_ROWS],
    /// Columns of pattern `p + 1`: bit `r` says that row `r` holds them.
    pub counts: [u32; PATTERNS],
}

impl Tile {
    /// The columns of tiles, and their values.
    pub fn sizes(tiles: &[Self]) -> (usize, usize) {
        let mut sums = [0u64; PATTERNS];
        for tile in tiles {
            sums.iter_mut().zip(tile.counts).for_each(|(sum, count)| *sum += u64::from(count));
        }
        let (mut cols, mut values) = (0, 0);
        for (pattern, sum) in (1u32..).zip(sums) {
            cols += sum;
            values += sum * u64::from(pattern.count_ones());
        }
        (cols as usize, values as usize)
    }
}

/// Tiles of a task.
#[derive(Clone, Copy, Debug)]
pub struct PatternBlock<'a, A> {
    /// The tiles, in order.
    pub tiles: &'a [Tile],
    /// Columns of every tile, those of a pattern ascending, patterns ascending.
    pub col_idx: &'a [u32],
    /// Whether rows of B are prefetched, four vectors at a time. Then there are
    /// [`PREFETCH_AHEAD`] columns more.
    pub prefetch_b: bool,
    /// The values of every column, as many as rows hold it, in the order of rows.
    pub values: &'a [A],
}

/// Multiplies tiles by `width` columns of B.
///
/// A row of B is loaded once for all rows of a tile that use it, and their sums stay in registers across
/// patterns (Wilkinson et al., "Register Tiling for Unstructured Sparsity in Neural Network Inference", PLDI
/// 2023, section 4). An element of C is summed in the order of the tile's columns. A group of one or two
/// vectors of columns has two interleaved chains for each pattern: columns that a single row holds would wait
/// for each other's multiply-adds.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. Tiles have as many columns and values as the block, and [`PREFETCH_AHEAD`] columns fewer if it
///    prefetches rows of B. Each column is a row of B, and B has `K` vectors of columns, some of them partial as `EDGES` says.
/// 3. The rows of C in the tiles are valid for `width` columns, and no other thread accesses them.
pub(crate) unsafe fn patterns<I: VectorsFor<T>, T: Scalar>(
    block: &PatternBlock<'_, T::Acc>,
    b: Input<T>,
    out: &Output<T::Acc>,
    width: usize,
) {
    let lanes = const { <I::Vector as Vector>::LANES };
    let (block, out) = (*block, out.in_tiles());
    if let Some(Headed { head, b, out }) = Headed::of::<I::Vector>(&b, &out, width, false) {
        // SAFETY: the points of `headed` are these, and the instruction set masks first lanes.
        unsafe { headed::<I, T>(block, b, out, head, width) }
        if out.streams() {
            I::Vector::fence();
        }
        return;
    }
    // Whether the group of the column `j` has one or two vectors: then each has two chains.
    let is_few = |j: usize| !b.is_part_of_group && width - j / (4 * lanes) * 4 * lanes <= 2 * lanes;
    if const { !I::Vector::WIDE } {
        for j in (0..width).step_by(lanes) {
            let (b, out, len) = (b.at_col(j), out.at_col(j), lanes.min(width - j));
            let chains = if is_few(j) { 2 } else { 1 };
            b.ran("patterns", Prefetch::Nothing, out.streams());
            // SAFETY: the instruction set by point 1, the block and rows of B by point 2, rows of C by point 3.
            // `len` columns are left.
            unsafe {
                I::call(
                    #[inline(always)]
                    move || all_tiles_by_vector::<I::Vector, T>(block, b, out, len, chains),
                );
            }
        }
        return;
    }
    macro_rules! columns {
        ($vector:ty, $k:literal, $chains:literal, $edges:expr, $j:expr) => {{
            // Rows of B are prefetched by four whole vectors alone, and entries with them.
            let (b, out) = (b.at_col($j), out.at_col($j));
            // SAFETY: the instruction set by point 1.
            let edges = unsafe { Edges::new((width - $j).min($k * <$vector>::LANES)) };
            let prefetch = match (const { $k == 4 && $edges == NONE } && block.prefetch_b, b.prefetch_a) {
                _ if const { !I::Vector::PREFETCHES } => Prefetch::Nothing,
                (true, _) => Prefetch::Rows,
                (false, true) => Prefetch::Entries,
                (false, false) => Prefetch::Nothing,
            };
            b.ran("patterns", prefetch, out.streams());
            macro_rules! call {
                ($rows:literal) => {
                    // SAFETY: the instruction set by point 1, the block and rows of B by point 2, rows of C by point
                    // 3. Each use is for columns that are left: `$k` vectors, some partial as `$edges` says.
                    // The block has columns ahead if it prefetches rows.
                    unsafe {
                        I::call(
                            #[inline(always)]
                            move || {
                                all_tiles::<$vector, T, $k, $chains, { $edges }, $rows>(
                                    block, b, out, edges, prefetch,
                                );
                            },
                        )
                    }
                };
            }
            if const { $k == 4 && $edges == NONE } && prefetch == Prefetch::Rows {
                call!(true);
            } else {
                call!(false);
            }
        }};
    }
    if const { I::HAS_QUARTER } && !b.is_part_of_group && width <= I::Quarter::LANES {
        columns!(I::Quarter, 1, 2, LAST, 0);
    } else if const { I::HAS_HALF } && !b.is_part_of_group && width <= I::Half::LANES {
        columns!(I::Half, 1, 2, LAST, 0);
    } else {
        let mut j = 0;
        while j < width {
            let left = width - j;
            let vectors = left.div_ceil(lanes);
            let is_few = is_few(j);
            j += if const { I::STRIP_VECTORS == 4 } {
                match vectors {
                    1 if is_few => columns!(I::Vector, 1, 2, LAST, j),
                    2 if is_few => columns!(I::Vector, 2, 2, LAST, j),
                    1 => columns!(I::Vector, 1, 1, LAST, j),
                    2 => columns!(I::Vector, 2, 1, LAST, j),
                    3 => columns!(I::Vector, 3, 1, LAST, j),
                    _ if left < 4 * lanes => columns!(I::Vector, 4, 1, LAST, j),
                    _ => columns!(I::Vector, 4, 1, NONE, j),
                }
                4 * lanes
            } else {
                match (is_few, left < lanes) {
                    (true, true) => columns!(I::Vector, 1, 2, LAST, j),
                    (true, false) => columns!(I::Vector, 1, 2, NONE, j),
                    (false, true) => columns!(I::Vector, 1, 1, LAST, j),
                    (false, false) => columns!(I::Vector, 1, 1, NONE, j),
                }
                lanes
            };
        }
    }
    if out.streams() {
        I::Vector::fence();
    }
}

/// Multiplies tiles by `width` columns, more than two vectors, from `head` lanes before the first on.
///
/// # Safety
/// 1. The machine has the instruction set `I`, which has [heads](Vector::HEADS).
/// 2. The block and B are as [`patterns`] requires, from column `head` on.
/// 3. The rows of C in the tiles are as [`patterns`] requires, from column `head` on.
unsafe fn headed<I: VectorsFor<T>, T: Scalar>(
    block: PatternBlock<'_, T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    head: usize,
    width: usize,
) {
    let lanes = const { <I::Vector as Vector>::LANES };
    let prefetch = match (block.prefetch_b, b.prefetch_a) {
        (true, _) => Prefetch::Rows,
        (false, true) => Prefetch::Entries,
        (false, false) => Prefetch::Nothing,
    };
    b.ran("patterns", prefetch, out.streams());
    b.ran_from_lines(out.streams());
    // SAFETY: the instruction set by point 1.
    let edges = unsafe { Edges::headed(head, width) };
    let vectors = (head + width).div_ceil(lanes);
    macro_rules! columns {
        ($k:literal, $edges:expr, $u:expr) => {{
            let (b, out) = (b.at_col($u * lanes), out.at_col($u * lanes));
            macro_rules! call {
                ($rows:literal) => {
                    // SAFETY: the instruction set by point 1, the block and rows of B by point 2, rows of C by point 3.
                    // Each use is for columns that are left: `$k` vectors, some partial as `$edges` says. The block
                    // has columns ahead if it prefetches rows.
                    unsafe {
                        I::call(
                            #[inline(always)]
                            move || {
                                all_tiles::<I::Vector, T, $k, 1, { $edges }, $rows>(
                                    block, b, out, edges, prefetch,
                                );
                            },
                        )
                    }
                };
            }
            if prefetch == Prefetch::Rows { call!(true) } else { call!(false) }
        }};
    }
    // Four vectors at a time, or five of which one or two are partial.
    let mut u = match vectors {
        3 => return columns!(3, BOTH, 0),
        4 => return columns!(4, BOTH, 0),
        5 => return columns!(5, BOTH, 0),
        _ if vectors % 4 == 1 => {
            columns!(5, FIRST, 0);
            5
        }
        _ => {
            columns!(4, FIRST, 0);
            4
        }
    };
    while u + 4 < vectors {
        columns!(4, NONE, u);
        u += 4;
    }
    match vectors - u {
        2 => columns!(2, LAST, u),
        3 => columns!(3, LAST, u),
        _ => columns!(4, LAST, u),
    }
}

/// Where the next column of a tile, and its first value, are.
struct Cursor<A> {
    cols: *const u32,
    values: *const A,
}

/// All tiles by `K` vectors of columns, some of them partial as `EDGES` says; sums in one chain or two. `prefetch` says
/// what is [prefetched](super::prefetch) meanwhile: entries before each tile, rows of B with `ROWS` alone.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. The block is as [`patterns`] requires; B has `K` vectors of columns, some of them partial as `EDGES` says.
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
unsafe fn all_tiles_by_vector<V, T>(
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
            for u in 0..K {
                V::prefetch_l2(row.wrapping_add(u * V::LANES));
            }
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
