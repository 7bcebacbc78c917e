//! Sums of one sparse row: over vectors of columns, or over one column.

use girih_formats::{DType, RealAccumulator, Scalar};

use super::edges::Edges;
use super::prefetch::{Prefetch, prefetch_entries, prefetch_vectors};
use crate::isa::{Four, Vector, Widen};
use crate::operands::Input;
use crate::thresholds::PREFETCH_AT_ONCE;

/// The entries of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entries<A> {
    pub(crate) col_idx: *const u32,
    /// Added to every column.
    pub(crate) shift: usize,
    pub(crate) values: *const A,
    /// From a value to the next.
    pub(crate) step: usize,
    pub(crate) len: usize,
    /// Columns of later entries, `len` of them, whose rows of B are prefetched if rows are.
    pub(crate) next_col_idx: *const u32,
    /// Added to every one of those.
    pub(crate) next_shift: usize,
}

impl<A> Entries<A> {
    /// Entries that follow one another, from `start` on.
    ///
    /// # Safety
    /// 1. Both slices have at least `start + len` elements.
    #[inline(always)]
    pub(crate) unsafe fn consecutive(
        col_idx: &[u32],
        values: &[A],
        start: usize,
        len: usize,
    ) -> Self {
        debug_assert!(start + len <= col_idx.len() && start + len <= values.len());
        // SAFETY: `start` is within both slices by point 1.
        let (col_idx, values) =
            unsafe { (col_idx.as_ptr().add(start), values.as_ptr().add(start)) };
        Self { col_idx, shift: 0, values, step: 1, len, next_col_idx: col_idx, next_shift: 0 }
    }

    /// Prefetches the row of B that a later entry uses, the one that corresponds to entry `p`.
    ///
    /// # Safety
    /// 1. `next_col_idx` is valid for `p + 1` columns.
    #[inline(always)]
    unsafe fn prefetch_row<V: Vector, T: Copy, const K: usize, const EDGES: u8>(
        &self,
        p: usize,
        b: Input<T>,
        edges: &Edges<V>,
    ) {
        // SAFETY: column `p` is readable by point 1. Nothing is read at `row`.
        let col = unsafe { *self.next_col_idx.add(p) } as isize + self.next_shift as isize;
        let row = b.ptr.wrapping_offset(col.wrapping_mul(b.row_stride));
        prefetch_vectors::<V, T, K, EDGES>(row, edges);
    }
}

/// Vector `u` of the `K` vectors of a row of B, widened: its own lanes alone where `EDGES` says that it may be partial.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. The lanes of the vector lie in the row that begins at `row`.
#[inline(always)]
pub(super) unsafe fn widen_vector<V: Widen<T>, T, const K: usize, const EDGES: u8>(
    row: *const T,
    u: usize,
    edges: &Edges<V>,
) -> V {
    // SAFETY: the instruction set by point 1, the lanes by point 2.
    unsafe {
        let p = row.wrapping_add(edges.column::<K, EDGES>(u));
        match edges.mask::<K, EDGES>(u) {
            Some(mask) => V::widen_masked(p, mask),
            None => V::widen(p),
        }
    }
}

/// Whether values of type `T` are summed as they are.
pub(crate) const fn is_own_accumulator<T: Scalar>() -> bool {
    matches!(T::DTYPE, DType::F32 | DType::F64)
}

/// The sums of one row over `K` vectors of columns, entry `p` in chain `p mod CHAINS`. `prefetch` says what
/// is [prefetched](super::prefetch) meanwhile: nothing without `PREFETCHES`.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. The columns and values of `entries` are readable. If rows of B are prefetched, so are its next columns.
/// 3. Every column plus `shift` is a row of B, whose columns are those of `K` vectors, some of them
///    partial as `EDGES` says.
#[inline(always)]
pub(crate) unsafe fn sum<
    V,
    T,
    const K: usize,
    const CHAINS: usize,
    const EDGES: u8,
    const PREFETCHES: bool,
>(
    entries: Entries<T::Acc>,
    b: Input<T>,
    edges: &Edges<V>,
    prefetch: Prefetch,
) -> [V; K]
where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    // SAFETY: the instruction set by point 1.
    let mut sums = [[unsafe { V::splat(T::Acc::ZERO) }; K]; CHAINS];
    let Entries { col_idx, values, step, len, .. } = entries;
    macro_rules! entry {
        ($p:expr, $chain:expr) => {
            // SAFETY: the instruction set by point 1. Every use names an entry before `len`, so its column
            // and value are readable by point 2, and its row of B by point 3.
            unsafe {
                sums[$chain] = add_entry::<V, T, K, EDGES>(entries, $p, b, edges, sums[$chain]);
            }
        };
    }
    macro_rules! prefetch_rows {
        ($range:expr) => {
            if prefetch == Prefetch::Rows {
                for p in $range {
                    // SAFETY: `p` is before `len` in every use, so the next column is readable by point 2.
                    unsafe { entries.prefetch_row::<V, T, K, EDGES>(p, b, edges) };
                }
            }
        };
    }
    let mut p = 0;
    if const { PREFETCHES && V::PREFETCHES } && prefetch != Prefetch::Nothing {
        let at_once = const { if K < 4 { PREFETCH_AT_ONCE } else { 1 } };
        while p + at_once <= len {
            // The rows of a slice share the cache lines of their values.
            if step == 1 {
                prefetch_entries::<V, _>(col_idx.wrapping_add(p), values.wrapping_add(p));
            }
            prefetch_rows!(p..p + at_once);
            for i in 0..at_once {
                entry!(p + i, i % CHAINS);
            }
            p += at_once;
        }
        prefetch_rows!(p..len);
    }
    while p + CHAINS <= len {
        for chain in 0..CHAINS {
            entry!(p + chain, chain);
        }
        p += CHAINS;
    }
    for chain in 0..CHAINS - 1 {
        if p + chain < len {
            entry!(p + chain, chain);
        }
    }
    // SAFETY: the instruction set by point 1.
    unsafe { add_chains(sums) }
}

/// `sum`, with the product of entry `p` and its row of B added.
///
/// # Safety
/// As [`sum`], with its points:
///
/// 1. The machine has the instruction set of `V`.
/// 2. The column and the value of entry `p` are readable.
/// 3. The column plus `shift` is a row of B with `K` vectors, some of them partial as `EDGES` says.
#[inline(always)]
unsafe fn add_entry<V, T, const K: usize, const EDGES: u8>(
    entries: Entries<T::Acc>,
    p: usize,
    b: Input<T>,
    edges: &Edges<V>,
    mut sum: [V; K],
) -> [V; K]
where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    // SAFETY: the instruction set by point 1, the entry by point 2, its row of B by point 3.
    unsafe {
        let a = V::splat(*entries.values.add(p * entries.step));
        let col = *entries.col_idx.add(p) as usize + entries.shift;
        let row = b.ptr.wrapping_offset(col as isize * b.row_stride);
        for u in 0..K {
            let x = widen_vector::<V, T, K, EDGES>(row, u, edges);
            sum[u] = x.mul_add(a, sum[u]);
        }
    }
    sum
}

/// The chains of every vector, added pairwise.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
#[inline(always)]
unsafe fn add_chains<V: Vector, const K: usize, const CHAINS: usize>(
    mut sums: [[V; K]; CHAINS],
) -> [V; K] {
    let mut half = CHAINS / 2;
    while half > 0 {
        for chain in 0..half {
            for u in 0..K {
                // SAFETY: the instruction set by point 1.
                sums[chain][u] = unsafe { sums[chain][u].add(sums[chain + half][u]) };
            }
        }
        half /= 2;
    }
    sums[0]
}

/// One row by one column `x`.
///
/// Entries are added in eight chains, eight at a time; four of those left join the first four chains. The
/// chains are added pairwise, and the last three entries at most to what they come to. `PREFETCH` says
/// whether entries are [prefetched](super::prefetch) meanwhile.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. The columns and values of `entries` are readable, values follow one another, and columns have no shift.
/// 3. `x` is valid for an element at every column.
#[inline(always)]
pub(crate) unsafe fn dot<V: Vector<Acc = A>, A: RealAccumulator, const PREFETCHES: bool>(
    entries: Entries<A>,
    x: *const A,
) -> A {
    let Entries { col_idx, values, len, .. } = entries;
    let mut sum = A::ZERO;
    let mut p = 0;
    if len >= 4 {
        // SAFETY: the instruction set by point 1. Both loops and the last step name entries before `len`, so
        // columns and values are readable by point 2, and elements of `x` by point 3.
        unsafe {
            let mut sums = [V::Four::zero(); 2];
            let more =
                |sums: V::Four, p: usize| sums.add_products(values.add(p), col_idx.add(p), x);
            while p + 8 <= len {
                if const { PREFETCHES } {
                    prefetch_entries::<V, A>(col_idx.add(p), values.add(p));
                }
                sums[0] = more(sums[0], p);
                sums[1] = more(sums[1], p + 4);
                p += 8;
            }
            if p + 4 <= len {
                sums[0] = more(sums[0], p);
                p += 4;
            }
            sum = sums[0].add(sums[1]).total();
        }
    }
    macro_rules! entries {
        ($($p:literal)*) => {{$(
            // SAFETY: each arm below names entries before `len`: readable by point 2, their elements by point
            // 3.
            let (b, a) = unsafe { (*x.add(*col_idx.add(p + $p) as usize), *values.add(p + $p)) };
            sum = V::mul_add_one(b, a, sum);
        )*}};
    }
    // Without a loop: where most rows are equally long, one jump is predicted.
    match len - p {
        0 => {}
        1 => entries!(0),
        2 => entries!(0 1),
        _ => entries!(0 1 2),
    }
    sum
}
