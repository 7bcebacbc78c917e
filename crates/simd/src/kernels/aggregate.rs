//! What the products of sparse rows come to: the greatest of them, or their sum.
//!
//! The least product is the greatest of products with the values' signs changed, with its sign changed again;
//! a mean is a sum that is stored times the reciprocal of the number of entries. So there are two loops, and
//! one way to store.

use girih_formats::{RealNumber, Scalar};

use super::edges::{Edges, LAST, NONE};
use super::rows::RowBlock;
use super::store::store;
use super::sum::widen_vector;
use crate::isa::{VectorsFor, Widen};
use crate::operands::{Output, RowMap, Source};

/// Vectors of C that are kept in registers, where columns are enough.
const GROUP: usize = 4;

/// What products come to, before they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// The greatest; NaN where any is.
    Greatest,
    /// The sum over the number of products, rounded as a sum times a reciprocal. One chain, in stored order.
    Mean,
}

/// Stores for each row of a block what its entries' products with `width` columns of B come to, times the
/// output's α but for a mean; zero for a row without entries.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. The block has a column and a value for each of its `entries`; `row_ptr` ascends. Each column is a row
///    of B, and B has `width` columns, which are next to each other.
/// 3. The rows of C in `map` are valid for `width` columns, and no other thread accesses them.
/// 4. `map` is shorter than `row_ptr`, and `out` does not stream.
pub(crate) unsafe fn aggregate<I: VectorsFor<T>, T: Scalar>(
    block: &RowBlock<'_, T::Acc>,
    total: Total,
    b: Source<T>,
    out: &Output<T::Acc>,
    map: RowMap<'_>,
    width: usize,
) {
    let (block, out) = (*block, *out);
    // SAFETY: the instruction set by point 1; rows by points 2 to 4.
    unsafe {
        match total {
            Total::Greatest => I::call(
                #[inline(always)]
                move || each::<I::Vector, T, false>(&block, b, &out, map, width),
            ),
            Total::Mean => I::call(
                #[inline(always)]
                move || each::<I::Vector, T, true>(&block, b, &out, map, width),
            ),
        }
    }
}

/// [`aggregate`], in the function that is compiled for the instruction set.
///
/// # Safety
/// Points 1 to 4 of [`aggregate`].
#[inline(always)]
unsafe fn each<V: Widen<T>, T: Scalar<Acc = V::Acc>, const SUM: bool>(
    block: &RowBlock<'_, V::Acc>,
    b: Source<T>,
    out: &Output<V::Acc>,
    map: RowMap<'_>,
    width: usize,
) {
    let (lanes, group) = (V::LANES, GROUP * V::LANES);
    // SAFETY: the instruction set by point 1.
    let edges = &unsafe { Edges::new(width) };
    let at = |i: usize| (block.row_ptr[i] - block.first) as usize;
    for i in 0..map.len() {
        let Some(row) = map.row(i) else { continue };
        let entries = at(i)..at(i + 1);
        let (cols, values) = (&block.col_idx[entries.clone()], &block.values[entries]);
        let mut out = *out;
        match cols.len() {
            // A zero keeps its sign.
            0 => out.alpha = V::Acc::ONE,
            len if SUM => out.alpha = V::Acc::from_f64(1.0 / len as f64),
            _ => {}
        }
        let mut j = 0;
        macro_rules! vectors {
            ($k:expr, $edges:expr) => {
                // SAFETY: the instruction set by point 1. Columns end before `width`, so they are valid in B
                // by point 2 and in C by point 3; nothing streams by point 4.
                unsafe {
                    let totals =
                        totals::<V, T, { $k }, { $edges }, SUM>(cols, values, b.at_col(j), edges);
                    let dst = out.row(row).wrapping_offset(j as isize * out.col_stride);
                    store::<V, { $k }, { $edges }>(totals, &out, dst, edges);
                }
            };
        }
        while const { V::WIDE } && j + group <= width {
            vectors!(GROUP, NONE);
            j += group;
        }
        while j + lanes <= width {
            vectors!(1, NONE);
            j += lanes;
        }
        if j < width {
            vectors!(1, LAST);
        }
    }
}

/// What `K` vectors of products come to, some of them partial as `EDGES` says.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. `cols` are rows of B, which has as many columns from `b` on as there are lanes.
#[inline(always)]
unsafe fn totals<
    V: Widen<T>,
    T: Scalar<Acc = V::Acc>,
    const K: usize,
    const EDGES: u8,
    const SUM: bool,
>(
    cols: &[u32],
    values: &[V::Acc],
    b: Source<T>,
    edges: &Edges<V>,
) -> [V; K] {
    let load = |col: u32, u: usize| -> V {
        let row = b.ptr.wrapping_offset(col as isize * b.row_stride);
        // SAFETY: the instruction set by point 1, the lanes by point 2.
        unsafe { widen_vector::<V, T, K, EDGES>(row, u, edges) }
    };
    // SAFETY: the instruction set by point 1.
    unsafe {
        let mut totals = [V::splat(V::Acc::ZERO); K];
        let mut entries = cols.iter().zip(values);
        if let Some((&col, &value)) = entries.next() {
            let value = V::splat(value);
            for u in 0..K {
                totals[u] = value.mul(load(col, u));
            }
        }
        for (&col, &value) in entries {
            let value = V::splat(value);
            for u in 0..K {
                let x = load(col, u);
                totals[u] = match SUM {
                    true => value.mul_add(x, totals[u]),
                    false => totals[u].greater(value.mul(x)),
                };
            }
        }
        totals
    }
}
