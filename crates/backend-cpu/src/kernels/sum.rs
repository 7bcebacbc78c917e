//! Sums of one sparse row: over vectors of columns, or over one column.

use girih_formats::{Accumulator, DType, Scalar};

use super::prefetch::{NOTHING, ROWS, prefetch_entries};
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
    /// Columns of which to ask for the row of B, as many, where that is done.
    pub(crate) prefetch_col_idx: *const u32,
    /// Added to every one of those.
    pub(crate) prefetch_shift: usize,
}

impl<A> Entries<A> {
    /// The entries from `start` on of rows that stand one after the other.
    ///
    /// # Safety
    /// There must be so many columns and values.
    #[inline(always)]
    pub(crate) unsafe fn at(col_idx: &[u32], values: &[A], start: usize, len: usize) -> Self {
        debug_assert!(start + len <= col_idx.len() && start + len <= values.len());
        // SAFETY: the caller's contract.
        let (col_idx, values) =
            unsafe { (col_idx.as_ptr().add(start), values.as_ptr().add(start)) };
        Self {
            col_idx,
            shift: 0,
            values,
            step: 1,
            len,
            prefetch_col_idx: col_idx,
            prefetch_shift: 0,
        }
    }
}

/// Vector `u` of `K` of a row of B: the last of them only where `mask` says with `TAIL`.
///
/// # Safety
/// The instruction set of `V`; those lanes must lie inside B.
#[inline(always)]
pub(super) unsafe fn vector<V: Widen<T>, T, const TAIL: bool>(
    row: *const T,
    u: usize,
    of: usize,
    mask: V::Mask,
) -> V {
    // SAFETY: the caller's contract.
    unsafe {
        let p = row.add(u * V::LANES);
        if TAIL && u + 1 == of { V::widen_masked(p, mask) } else { V::widen(p) }
    }
}

/// Whether values of type `T` are summed as they are.
pub(crate) const fn is_own_accumulator<T: Scalar>() -> bool {
    matches!(T::DTYPE, DType::F32 | DType::F64)
}

/// The sums of one row over `K` vectors, entry `p` in chain `p mod CHAINS`; `PREFETCH` says what is prefetch_col_idx for
/// meanwhile: entries further on, and those vectors of the rows that are to be [prefetch_col_idx](Entries::prefetch_col_idx) for.
///
/// # Safety
/// The instruction set of `V`. The entries must be there, and their columns in B; with `PREFETCH` of
/// [`ROWS`], so must the columns of what is prefetch_col_idx for.
#[inline(always)]
pub(crate) unsafe fn sum<
    V,
    T,
    const K: usize,
    const CHAINS: usize,
    const TAIL: bool,
    const PREFETCH: u8,
>(
    entries: Entries<T::Acc>,
    b: Input<T>,
    mask: V::Mask,
) -> [V; K]
where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    // SAFETY: the caller's contract: the entries are there, and their columns lie in B.
    unsafe {
        let zero = V::splat(T::Acc::ZERO);
        let mut sums = [[zero; K]; CHAINS];
        let Entries { col_idx, shift, values, step, len: count, prefetch_col_idx, prefetch_shift } =
            entries;
        macro_rules! entry {
            ($p:expr, $chain:expr) => {{
                if const { PREFETCH == ROWS } {
                    let col = *prefetch_col_idx.add($p) as isize + prefetch_shift as isize;
                    let row = b.ptr.wrapping_offset(col.wrapping_mul(b.row_stride));
                    for u in 0..K {
                        V::prefetch_l2(row.wrapping_add(u * V::LANES));
                    }
                }
                let a = V::splat(*values.add($p * step));
                let col = *col_idx.add($p) as usize + shift;
                let row = b.ptr.offset(col as isize * b.row_stride);
                for u in 0..K {
                    let x = vector::<V, T, TAIL>(row, u, K, mask);
                    sums[$chain][u] = x.mul_add(a, sums[$chain][u]);
                }
            }};
        }
        let mut p = 0;
        // The rows of a slice share the cache lines of their values.
        if const { PREFETCH != NOTHING } && step == 1 {
            let at_once = const { if K < 4 { PREFETCH_AT_ONCE } else { 1 } };
            while p + at_once <= count {
                prefetch_entries::<V, _>(col_idx.add(p), values.add(p));
                for i in 0..at_once {
                    entry!(p + i, i % CHAINS);
                }
                p += at_once;
            }
        }
        while p + CHAINS <= count {
            for chain in 0..CHAINS {
                entry!(p + chain, chain);
            }
            p += CHAINS;
        }
        for chain in 0..CHAINS - 1 {
            if p + chain < count {
                entry!(p + chain, chain);
            }
        }
        add_chains(sums)
    }
}

/// The chains of every vector, added pairwise.
///
/// # Safety
/// The instruction set of `V`.
#[inline(always)]
unsafe fn add_chains<V: Vector, const K: usize, const CHAINS: usize>(
    mut sums: [[V; K]; CHAINS],
) -> [V; K] {
    let mut half = CHAINS / 2;
    while half > 0 {
        for chain in 0..half {
            for u in 0..K {
                // SAFETY: the caller's contract.
                sums[chain][u] = unsafe { sums[chain][u].add(sums[chain + half][u]) };
            }
        }
        half /= 2;
    }
    sums[0]
}

/// One row by one column, its values next to each other and its columns as they are.
///
/// Entries are added in eight chains, eight at a time, then four more of those left in the first
/// four; what the chains come to, pairwise, is the beginning of the last three entries' only chain.
/// `PREFETCH` says what is [prefetch_col_idx](super::prefetch) for meanwhile.
///
/// # Safety
/// The instruction set of `V`. The entries must be there, and their columns in B.
#[inline(always)]
pub(crate) unsafe fn dot<V: Vector<Acc = A>, A: Accumulator, const PREFETCH: u8>(
    entries: Entries<A>,
    x: *const A,
) -> A {
    // SAFETY: the caller's contract: the entries are there, and their columns lie in B.
    unsafe {
        let Entries { col_idx, values, len: count, .. } = entries;
        let mut sum = A::ZERO;
        let mut p = 0;
        if count >= 4 {
            let mut sums = [V::Four::zero(); 2];
            let more =
                |sums: V::Four, p: usize| sums.add_products(values.add(p), col_idx.add(p), x);
            while p + 8 <= count {
                if const { PREFETCH != NOTHING } {
                    prefetch_entries::<V, A>(col_idx.add(p), values.add(p));
                }
                sums[0] = more(sums[0], p);
                sums[1] = more(sums[1], p + 4);
                p += 8;
            }
            if p + 4 <= count {
                sums[0] = more(sums[0], p);
                p += 4;
            }
            sum = sums[0].add(sums[1]).total();
        }
        macro_rules! entries {
            ($($p:literal)*) => {{$(
                let b = *x.add(*col_idx.add(p + $p) as usize);
                sum = V::mul_add_one(b, *values.add(p + $p), sum);
            )*}};
        }
        // Without a loop: where most rows are equally long, one jump is foreseen.
        match count - p {
            0 => {}
            1 => entries!(0),
            2 => entries!(0 1),
            _ => entries!(0 1 2),
        }
        sum
    }
}
