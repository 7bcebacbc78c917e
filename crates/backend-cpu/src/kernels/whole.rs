//! One long sparse row by whole rows of B, a few entries at a time.

use std::mem::MaybeUninit;

use girih_formats::Scalar;

use super::prefetch::{NOTHING, ROWS, prefetch_entries};
use super::store::store;
use super::sum::Entries;
use crate::isa::{Vector, Widen};
use crate::operands::{Input, Output};
pub(super) use crate::thresholds::{WHOLE_ENTRIES, WHOLE_VECTORS};

/// Entries that are added at a time.
const AT_ONCE: usize = 4;

/// One row by [`WHOLE_VECTORS`] vectors of columns, with their sums in the first-level cache: four entries at a time,
/// and of the rows of B that they name all vectors, so that the processor sees a stream in each. Adds in the
/// order of [`sum`](super::sum::sum) with a single chain; `PREFETCH` as there.
///
/// # Safety
/// As for [`sum`](super::sum::sum), and for [`store`] at `dst`. There must be an entry, columns as they are and
/// values next to each other.
#[inline(always)]
pub(super) unsafe fn whole<V, T, const PREFETCH: u8>(
    entries: Entries<T::Acc>,
    b: Input<T>,
    out: &Output<T::Acc>,
    dst: *mut T::Acc,
) where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    let Entries { col_idx, values, len, prefetch_col_idx, .. } = entries;
    let mut sums = [MaybeUninit::<V>::uninit(); WHOLE_VECTORS];
    // SAFETY: the caller's contract; every sum is read only after the first entries have written it.
    unsafe {
        let all = V::mask(V::LANES);
        let row = |cols: *const u32, i: usize| {
            b.ptr.wrapping_offset((*cols.add(i) as isize).wrapping_mul(b.row_stride))
        };
        macro_rules! add {
            ($first:expr; $($i:literal)*) => {{
                if const { PREFETCH == ROWS } {
                    $(
                        let next = row(prefetch_col_idx, $first + $i);
                        for u in 0..WHOLE_VECTORS {
                            V::prefetch_l2(next.wrapping_add(u * V::LANES));
                        }
                    )*
                }
                if const { PREFETCH != NOTHING } {
                    prefetch_entries::<V, _>(col_idx.add($first), values.add($first));
                }
                let a = [$(V::splat(*values.add($first + $i))),*];
                let x = [$(row(col_idx, $first + $i)),*];
                let is_last = $first + a.len() == len;
                for u in 0..WHOLE_VECTORS {
                    let mut sum =
                        if $first == 0 { V::splat(T::Acc::ZERO) } else { sums[u].assume_init() };
                    $(
                        sum = V::widen(x[$i].add(u * V::LANES)).mul_add(a[$i], sum);
                    )*
                    if is_last {
                        let dst = dst.wrapping_offset((u * V::LANES) as isize * out.col_stride);
                        store::<V, 1, false>([sum], out, dst, all, V::LANES);
                    } else {
                        sums[u].write(sum);
                    }
                }
            }};
        }
        let mut p = 0;
        while p + AT_ONCE <= len {
            add!(p; 0 1 2 3);
            p += AT_ONCE;
        }
        match len - p {
            0 => {}
            1 => add!(p; 0),
            2 => add!(p; 0 1),
            _ => add!(p; 0 1 2),
        }
    }
}
