//! One long sparse row by whole rows of B, a few entries at a time.

use std::mem::MaybeUninit;

use girih_formats::Scalar;

use super::edges::{Edges, NONE};
use super::prefetch::{Prefetch, prefetch_entries};
use super::store::store;
use super::sum::Entries;
use crate::isa::{Vector, Widen};
use crate::operands::{Input, Output};
pub(super) use crate::thresholds::{WHOLE_ENTRIES, WHOLE_VECTORS};

/// Entries that are added at a time.
const AT_ONCE: usize = 4;

/// One row by [`WHOLE_VECTORS`] vectors of columns, with their sums in the first-level cache. Four entries
/// are added at a time, by all vectors of their rows of B, so that the processor sees a stream in each of
/// these rows.
///
/// Adds in the order of [`sum`](super::sum::sum) with a single chain. `prefetch` says what is
/// [prefetched](super::prefetch) meanwhile: nothing without `PREFETCHES`.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. There is an entry. The columns and values of `entries` are readable, values follow one another, and
///    columns have no shift. If rows of B are prefetched, the next columns are
///    readable too.
/// 3. Every column is a row of B with [`WHOLE_VECTORS`] vectors.
/// 4. `dst` is valid for as many vectors of C at the output's column stride, and no other thread accesses
///    them.
#[inline(always)]
pub(super) unsafe fn whole<V, T, const PREFETCHES: bool>(
    entries: Entries<T::Acc>,
    b: Input<T>,
    out: &Output<T::Acc>,
    dst: *mut T::Acc,
    prefetch: Prefetch,
) where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    let mut sums = [MaybeUninit::<V>::uninit(); WHOLE_VECTORS];
    macro_rules! add {
        ($n:literal: $first:expr) => {
            // SAFETY: the points of `add_entries` are these: every use names entries before `len`, and the
            // first use begins with entry 0.
            unsafe { add_entries::<V, T, $n, PREFETCHES>(entries, $first, b, &mut sums, out, dst, prefetch) }
        };
    }
    let mut p = 0;
    while p + AT_ONCE <= entries.len {
        add!(4: p);
        p += AT_ONCE;
    }
    match entries.len - p {
        0 => {}
        1 => add!(1: p),
        2 => add!(2: p),
        _ => add!(3: p),
    }
}

/// Adds `N` entries from entry `first` on to the sums, or begins with them, and stores the sums after the
/// last entry.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. There are `N` entries from `first` on, readable as in [`whole`].
/// 3. Their columns are rows of B with [`WHOLE_VECTORS`] vectors.
/// 4. `dst` is valid for as many vectors of C at the output's column stride, and no other thread accesses
///    them.
/// 5. If `first` is not 0, earlier calls have written `sums`.
#[inline(always)]
unsafe fn add_entries<V, T, const N: usize, const PREFETCHES: bool>(
    entries: Entries<T::Acc>,
    first: usize,
    b: Input<T>,
    sums: &mut [MaybeUninit<V>; WHOLE_VECTORS],
    out: &Output<T::Acc>,
    dst: *mut T::Acc,
    prefetch: Prefetch,
) where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    let Entries { col_idx, values, len, next_col_idx, .. } = entries;
    let row = |col: u32| b.ptr.wrapping_offset((col as isize).wrapping_mul(b.row_stride));
    if const { PREFETCHES && V::PREFETCHES } && prefetch == Prefetch::Rows {
        for i in 0..N {
            // SAFETY: the next columns are readable by point 2. Nothing is read at `next`.
            let next = row(unsafe { *next_col_idx.add(first + i) });
            for u in 0..WHOLE_VECTORS {
                V::prefetch_l2(next.wrapping_add(u * V::LANES));
            }
        }
    }
    if const { PREFETCHES && V::PREFETCHES } && prefetch != Prefetch::Nothing {
        prefetch_entries::<V, _>(col_idx.wrapping_add(first), values.wrapping_add(first));
    }
    // SAFETY: the instruction set by point 1, the entries by point 2.
    let (a, x, edges) = unsafe {
        let (mut a, mut x) = ([V::splat(T::Acc::ZERO); N], [b.ptr; N]);
        for i in 0..N {
            a[i] = V::splat(*values.add(first + i));
            x[i] = row(*col_idx.add(first + i));
        }
        (a, x, Edges::new(V::LANES))
    };
    for u in 0..WHOLE_VECTORS {
        // SAFETY: the instruction set by point 1. Sums are read if `first` is not 0, and written then by
        // point 5; vector `u` of each row of B lies in B by point 3; that of C is valid by point 4.
        unsafe {
            let mut sum = if first == 0 { V::splat(T::Acc::ZERO) } else { sums[u].assume_init() };
            for i in 0..N {
                sum = V::widen(x[i].add(u * V::LANES)).mul_add(a[i], sum);
            }
            if first + N == len {
                let dst = dst.wrapping_offset((u * V::LANES) as isize * out.col_stride);
                store::<V, 1, NONE>([sum], out, dst, &edges);
            } else {
                sums[u].write(sum);
            }
        }
    }
}
