//! Sums of one sparse row: over lines of columns, or over one column.

use girih_formats::{Accumulator, DType, Scalar};

use super::access::Access;
use crate::isa::{Line, Widen};
use crate::operands::Input;

/// Columns and values of entries, equally many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entries<'a, A> {
    pub(crate) col_idx: &'a [u32],
    pub(crate) values: &'a [A],
}

/// Whether values of type `T` are summed as they are.
pub(crate) const fn is_own_accumulator<T: Scalar>() -> bool {
    matches!(T::DTYPE, DType::F32 | DType::F64)
}

/// The sums of one row over `K` lines, entry `p` in chain `p mod CHAINS`.
///
/// # Safety
/// The instruction set of `V`. Positions must lie in `entries`, and columns in B.
#[inline(always)]
pub(crate) unsafe fn sum<V, S, T, const K: usize, const CHAINS: usize, const TAIL: bool>(
    entries: Entries<'_, T::Acc>,
    (lo, hi): (usize, usize),
    b: Input<T>,
    mask: V::Mask,
    len: usize,
) -> [V; K]
where
    V: Widen<T> + Line<Acc = T::Acc>,
    S: Access,
    T: Scalar,
{
    // SAFETY: the caller's contract: positions lie in the block, columns in B.
    unsafe {
        let zero = V::splat(T::Acc::ZERO);
        let mut sums = [[zero; K]; CHAINS];
        let col_idx = entries.col_idx.as_ptr();
        let values = entries.values.as_ptr();
        macro_rules! entry {
            ($p:expr, $chain:expr) => {{
                let a = V::splat(*values.add($p));
                let row = b.ptr.offset(*col_idx.add($p) as isize * b.row_stride);
                for u in 0..K {
                    let x: V = if TAIL && u + 1 == K {
                        S::part(row, u, b.col_stride, mask, len)
                    } else {
                        S::line(row, u, b.col_stride)
                    };
                    sums[$chain][u] = x.mul_add(a, sums[$chain][u]);
                }
            }};
        }
        let mut p = lo;
        while p + CHAINS <= hi {
            for chain in 0..CHAINS {
                entry!(p + chain, chain);
            }
            p += CHAINS;
        }
        for chain in 0..CHAINS - 1 {
            if p + chain < hi {
                entry!(p + chain, chain);
            }
        }
        add_chains(sums)
    }
}

/// The chains of every line, added pairwise.
///
/// # Safety
/// The instruction set of `V`.
#[inline(always)]
unsafe fn add_chains<V: Line, const K: usize, const CHAINS: usize>(
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

/// One row by one column, in the order of additions of [`sum`] with four chains.
///
/// # Safety
/// The instruction set of `V`. Positions must lie in `entries`, and columns in B.
#[inline(always)]
pub(crate) unsafe fn dot<V: Line<Acc = A>, A: Accumulator>(
    entries: Entries<'_, A>,
    (lo, hi): (usize, usize),
    x: *const A,
    stride: isize,
) -> A {
    let mut sums = [A::ZERO; 4];
    let col_idx = entries.col_idx.as_ptr();
    let values = entries.values.as_ptr();
    // SAFETY: the caller's contract: positions lie in the block, columns in B.
    unsafe {
        macro_rules! entry {
            ($p:expr, $chain:expr) => {
                let x = *x.offset(*col_idx.add($p) as isize * stride);
                sums[$chain] = V::mul_add_one(x, *values.add($p), sums[$chain]);
            };
        }
        macro_rules! entries {
            ($($p:literal)*) => {{ $(entry!(lo + $p, $p % 4);)* }};
        }
        // Short rows without a loop: where most rows are equally long, one jump is foreseen.
        match hi - lo {
            0 => {}
            1 => entries!(0),
            2 => entries!(0 1),
            3 => entries!(0 1 2),
            4 => entries!(0 1 2 3),
            5 => entries!(0 1 2 3 4),
            6 => entries!(0 1 2 3 4 5),
            7 => entries!(0 1 2 3 4 5 6),
            _ => {
                let mut p = lo;
                while p + 4 <= hi {
                    for chain in 0..4 {
                        entry!(p + chain, chain);
                    }
                    p += 4;
                }
                if p < hi {
                    entry!(p, 0);
                    if p + 1 < hi {
                        entry!(p + 1, 1);
                        if p + 2 < hi {
                            entry!(p + 2, 2);
                        }
                    }
                }
            }
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}
