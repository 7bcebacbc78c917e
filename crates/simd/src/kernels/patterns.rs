//! Tiles of four sparse rows whose columns are grouped by which of the rows hold them.

use bytemuck::{Pod, Zeroable};
use girih_formats::Scalar;

use super::edges::{BOTH, ENDS, Edges, FIRST, Headed, LAST, NONE, end_with_rows};
use super::pattern_columns::{all_tiles_by_vector, columns};
use super::prefetch::{Prefetch, tiles_prefetch};
use crate::isa::{Vector, VectorsFor};
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
    /// [`PREFETCH_AHEAD`](super::prefetch::PREFETCH_AHEAD) columns more.
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
/// 2. Tiles have as many columns and values as the block, and
///    [`PREFETCH_AHEAD`](super::prefetch::PREFETCH_AHEAD) columns fewer if it prefetches rows of B. Each
///    column is a row of B, and B has `width` columns.
/// 3. The rows of C in the tiles are valid for `width` columns, and no other thread accesses them.
pub(crate) unsafe fn patterns<I: VectorsFor<T>, T: Scalar>(
    block: &PatternBlock<'_, T::Acc>,
    b: Input<T>,
    out: &Output<T::Acc>,
    width: usize,
) {
    let (block, out) = (*block, out.in_tiles());
    // SAFETY: points 1 to 3 are those of each.
    let out = unsafe {
        if let Some(headed) = Headed::new::<I::Vector>(&b, &out, width, false) {
            from_lines::<I, T>(block, &headed, width);
            headed.out
        } else {
            if const { I::Vector::WIDE } {
                from_first_column::<I, T>(block, b, out, width);
            } else {
                by_vector::<I, T>(block, b, out, width);
            }
            out
        }
    };
    if out.streams() {
        I::Vector::fence();
    }
}

/// Whether the group of column `j` has one or two vectors: then each has two chains.
fn is_few<T>(b: &Input<T>, j: usize, width: usize, lanes: usize) -> bool {
    !b.is_part_of_group && width - j / (4 * lanes) * 4 * lanes <= 2 * lanes
}

/// [`patterns`] by one vector after the other.
///
/// # Safety
/// Points 1 to 3 of [`patterns`].
unsafe fn by_vector<I: VectorsFor<T>, T: Scalar>(
    block: PatternBlock<'_, T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    width: usize,
) {
    let lanes = const { <I::Vector as Vector>::LANES };
    for j in (0..width).step_by(lanes) {
        let chains = if is_few(&b, j, width, lanes) { 2 } else { 1 };
        let (b, out, len) = (b.at_col(j), out.at_col(j), lanes.min(width - j));
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
}

/// [`patterns`] by up to four vectors at a time, from the first column on.
///
/// # Safety
/// Points 1 to 3 of [`patterns`].
unsafe fn from_first_column<I: VectorsFor<T>, T: Scalar>(
    block: PatternBlock<'_, T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    width: usize,
) {
    let lanes = const { <I::Vector as Vector>::LANES };
    let rows = block.prefetch_b && tiles_prefetch(width * size_of::<T::Acc>(), b.is_far);
    let prefetch = prefetched::<I::Vector, T>(rows, &b);
    let ends = end_with_rows(&b, &out, prefetch);
    macro_rules! vectors {
        ($vector:ty, $k:literal, $chains:literal, $edges:expr, $j:expr) => {{
            // SAFETY: the instruction set by point 1.
            let edges = unsafe { Edges::new(width) };
            let (b, out) = (b.at_col($j), out.at_col($j));
            b.ran("patterns", prefetch, out.streams());
            // SAFETY: the instruction set by point 1, the block and rows of B by point 2, rows of C by point 3. Each use
            // is for columns that are left: `$k` vectors, of which the last may be partial where `$edges` says so.
            unsafe {
                columns::<$vector, T, $k, $chains, { $edges }>(block, b, out, edges, prefetch);
            }
        }};
    }
    if const { I::HAS_QUARTER } && !b.is_part_of_group && width <= I::Quarter::LANES {
        return vectors!(I::Quarter, 1, 2, LAST, 0);
    }
    if const { I::HAS_HALF } && !b.is_part_of_group && width <= I::Half::LANES {
        return vectors!(I::Half, 1, 2, LAST, 0);
    }
    let mut j = 0;
    while j < width {
        let left = width - j;
        let is_few = is_few(&b, j, width, lanes);
        j += if const { I::STRIP_VECTORS == 4 } {
            let ends = ends && !left.is_multiple_of(lanes);
            let is_alone = const { I::Vector::HEADS } && ends && j > 0;
            match left.div_ceil(lanes) {
                1 if is_alone && is_few => vectors!(I::Vector, 1, 2, FIRST, width - lanes),
                1 if is_alone => vectors!(I::Vector, 1, 1, FIRST, width - lanes),
                2 if ends && is_few => vectors!(I::Vector, 2, 2, ENDS, j),
                2 if ends => vectors!(I::Vector, 2, 1, ENDS, j),
                3 if ends => vectors!(I::Vector, 3, 1, ENDS, j),
                4 if ends => vectors!(I::Vector, 4, 1, ENDS, j),
                1 if is_few => vectors!(I::Vector, 1, 2, LAST, j),
                2 if is_few => vectors!(I::Vector, 2, 2, LAST, j),
                1 => vectors!(I::Vector, 1, 1, LAST, j),
                2 => vectors!(I::Vector, 2, 1, LAST, j),
                3 => vectors!(I::Vector, 3, 1, LAST, j),
                _ if left < 4 * lanes => vectors!(I::Vector, 4, 1, LAST, j),
                _ => vectors!(I::Vector, 4, 1, NONE, j),
            }
            4 * lanes
        } else {
            match (is_few, left < lanes) {
                (true, true) => vectors!(I::Vector, 1, 2, LAST, j),
                (true, false) => vectors!(I::Vector, 1, 2, NONE, j),
                (false, true) => vectors!(I::Vector, 1, 1, LAST, j),
                (false, false) => vectors!(I::Vector, 1, 1, NONE, j),
            }
            lanes
        };
    }
}

/// [`patterns`] by up to five vectors at a time, from the cache line before the first of more than two vectors on.
///
/// # Safety
/// Points 1 to 3 of [`patterns`], for columns from `headed.head` on. The instruction set has
/// [heads](Vector::HEADS).
unsafe fn from_lines<I: VectorsFor<T>, T: Scalar>(
    block: PatternBlock<'_, T::Acc>,
    headed: &Headed<T>,
    width: usize,
) {
    let lanes = const { <I::Vector as Vector>::LANES };
    let &Headed { head, b, out } = headed;
    let prefetch = prefetched::<I::Vector, T>(block.prefetch_b, &b);
    b.ran("patterns", prefetch, out.streams());
    b.ran_from_lines(out.streams());
    // SAFETY: the instruction set by point 1.
    let edges = unsafe { Edges::headed(head, width) };
    macro_rules! vectors {
        ($k:literal, $edges:expr, $u:expr) => {{
            let (b, out) = (b.at_col($u * lanes), out.at_col($u * lanes));
            // SAFETY: the instruction set by point 1, the block and rows of B by point 2, rows of C by point 3. Each use
            // is for columns that are left: `$k` vectors, some partial as `$edges` says.
            unsafe {
                columns::<I::Vector, T, $k, 1, { $edges }>(block, b, out, edges, prefetch);
            }
        }};
    }
    let vectors = (head + width).div_ceil(lanes);
    let mut u = match vectors {
        3 => return vectors!(3, BOTH, 0),
        4 => return vectors!(4, BOTH, 0),
        5 => return vectors!(5, BOTH, 0),
        // Then whole groups of four are left.
        _ if vectors % 4 == 1 => {
            vectors!(5, FIRST, 0);
            5
        }
        _ => {
            vectors!(4, FIRST, 0);
            4
        }
    };
    while u + 4 < vectors {
        vectors!(4, NONE, u);
        u += 4;
    }
    match vectors - u {
        2 => vectors!(2, LAST, u),
        3 => vectors!(3, LAST, u),
        _ => vectors!(4, LAST, u),
    }
}

/// What tiles prefetch: rows of B if `rows` says so, else entries if B does.
fn prefetched<V: Vector, T>(rows: bool, b: &Input<T>) -> Prefetch {
    match (rows, b.prefetch_a) {
        _ if const { !V::PREFETCHES } => Prefetch::Nothing,
        (true, _) => Prefetch::Rows,
        (false, true) => Prefetch::Entries,
        (false, false) => Prefetch::Nothing,
    }
}
