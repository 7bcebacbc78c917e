//! Kernels of one row: by one column, by a few vectors of columns, by a panel of any width.

use girih_formats::Scalar;

use super::each_row::RowKernel;
use super::edges::{BOTH, ENDS, Edges, FIRST, LAST, NONE};
use super::prefetch::Prefetch;
use super::store::{store, store_one};
use super::sum::{Entries, dot, sum};
use super::whole::{WHOLE_ENTRIES, WHOLE_VECTORS, whole};
use crate::isa::{Vector, Widen};
use crate::operands::{Input, Output};
use crate::thresholds::{PAIR_ENTRIES_MAX, PAIR_ENTRIES_MIN, PAIR_VECTORS_MAX};

/// Rows by one column, whose elements follow one another.
pub(crate) struct Dot<V: Vector, const PREFETCHES: bool> {
    pub(crate) x: *const V::Acc,
    pub(crate) out: Output<V::Acc>,
}

impl<V: Vector, const PREFETCHES: bool> RowKernel for Dot<V, PREFETCHES> {
    type Acc = V::Acc;
    // Rows of fewer than eight entries prefetch nothing.
    const SHORT: usize = if PREFETCHES { 7 } else { 16 };

    #[inline(always)]
    unsafe fn row(&self, entries: Entries<Self::Acc>, row: usize) {
        // SAFETY: the instruction set by point 1, entries and their elements of `x` by point 2, the element
        // of C by point 3.
        unsafe {
            let sum = dot::<V, V::Acc, PREFETCHES>(entries, self.x);
            store_one::<V>(sum, &self.out, self.out.row(row));
        }
    }
}

/// B, C, the lanes of a panel's partial vectors, and what is prefetched: nothing without `PREFETCHES`, whose
/// loops then have the registers to themselves.
pub(super) struct RowOperands<V: Vector, T: Scalar, const PREFETCHES: bool> {
    b: Input<T>,
    out: Output<T::Acc>,
    edges: Edges<V>,
    prefetch: Prefetch,
}

impl<V, T, const PREFETCHES: bool> RowOperands<V, T, PREFETCHES>
where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    /// A panel whose first and last vectors have the lanes of `edges`.
    #[inline(always)]
    pub(super) fn new(
        b: Input<T>,
        out: Output<T::Acc>,
        edges: Edges<V>,
        prefetch: Prefetch,
    ) -> Self {
        Self { b, out, edges, prefetch }
    }

    /// Multiplies a row by `K` vectors of columns from column `j` on, and stores the products from there on
    /// in the row of C that begins at `dst`.
    ///
    /// # Safety
    /// 1. The machine has the instruction set of `V`.
    /// 2. Entries, their columns and B are as [`RowKernel::row`] requires.
    /// 3. `dst` is a row of C that no other thread accesses.
    /// 4. B and C have `K` vectors of columns from `j` on, some of them partial as `EDGES` says. `j` is a
    ///    multiple of `V::LANES` if C is written past the caches.
    #[inline(always)]
    unsafe fn group<const K: usize, const CHAINS: usize, const EDGES: u8>(
        &self,
        entries: Entries<T::Acc>,
        dst: *mut T::Acc,
        j: usize,
    ) {
        let &Self { ref out, ref edges, prefetch, .. } = self;
        let (b, dst) = (self.b.at_col(j), dst.wrapping_offset(j as isize * out.col_stride));
        // SAFETY: the instruction set by point 1, entries by point 2, vectors of B and C by points 2 to 4.
        unsafe {
            let sums = sum::<V, T, K, CHAINS, EDGES, PREFETCHES>(entries, b, edges, prefetch);
            store::<V, K, EDGES>(sums, out, dst, edges);
        }
    }
}

/// Rows by a panel of `K` vectors.
pub(super) struct FewVectors<
    V: Vector,
    T: Scalar,
    const K: usize,
    const CHAINS: usize,
    const EDGES: u8,
    const PREFETCHES: bool,
>(pub(super) RowOperands<V, T, PREFETCHES>);

impl<V, T, const K: usize, const CHAINS: usize, const EDGES: u8, const PREFETCHES: bool> RowKernel
    for FewVectors<V, T, K, CHAINS, EDGES, PREFETCHES>
where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    type Acc = T::Acc;
    // What is prefetched is waited for, whatever the code: one copy is enough.
    const SHORT: usize = if PREFETCHES { 0 } else { 8 };

    #[inline(always)]
    unsafe fn row(&self, entries: Entries<Self::Acc>, row: usize) {
        // SAFETY: the instruction set by point 1, entries by point 2, the row of C by point 3. The panel has
        // `K` vectors, since `few_vectors` made the kernel.
        unsafe { self.0.group::<K, CHAINS, EDGES>(entries, self.0.out.row(row), 0) }
    }
}

/// Rows by a panel of any width, up to `AT_ONCE` vectors at a time, which must be 4 or 8. The more of a row
/// of B is read at once, the sooner the processor sees a stream in it.
pub(super) struct ManyVectors<V: Vector, T: Scalar, const AT_ONCE: usize, const PREFETCHES: bool> {
    pub(super) operands: RowOperands<V, T, PREFETCHES>,
    pub(super) width: usize,
    /// Whether partial vectors [end with rows](super::edges::end_with_rows).
    pub(super) ends: bool,
}

impl<V, T, const AT_ONCE: usize, const PREFETCHES: bool> RowKernel
    for ManyVectors<V, T, AT_ONCE, PREFETCHES>
where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    type Acc = T::Acc;
    const SHORT: usize = 0;

    #[inline(always)]
    unsafe fn row(&self, entries: Entries<Self::Acc>, row: usize) {
        let &Self { ref operands, width, .. } = self;
        let RowOperands { b, out, .. } = operands;
        let (lanes, dst) = (V::LANES, out.row(row));
        if const { !V::WIDE } {
            // SAFETY: points 1 to 3 are those of `one_by_one`.
            return unsafe { self.one_by_one(entries, dst) };
        }
        let mut j = 0;
        // SAFETY: the instruction set by point 1, entries by point 2, the row of C by point 3. The columns
        // lie in the panel: every call below begins at a column `j < width`, and takes whole vectors before
        // `width`, or the rest.
        unsafe {
            if b.is_far && entries.len >= WHOLE_ENTRIES && entries.step == 1 {
                while j + WHOLE_VECTORS * lanes <= width {
                    let dst = dst.wrapping_offset(j as isize * out.col_stride);
                    b.ran_whole_rows();
                    whole::<V, T, PREFETCHES>(entries, b.at_col(j), out, dst, operands.prefetch);
                    j += WHOLE_VECTORS * lanes;
                }
            }
            if const { PREFETCHES } && self.in_pairs(entries.len) {
                while j + 4 * lanes <= width {
                    operands.group::<2, 1, NONE>(entries, dst, j);
                    operands.group::<2, 1, NONE>(entries, dst, j + 2 * lanes);
                    j += 4 * lanes;
                }
            }
            while AT_ONCE == 8 && j + 8 * lanes <= width {
                operands.group::<8, 1, NONE>(entries, dst, j);
                j += 8 * lanes;
            }
            while j + 4 * lanes <= width {
                operands.group::<4, 1, NONE>(entries, dst, j);
                j += 4 * lanes;
            }
            self.rest(entries, dst, j);
        }
    }
}

/// Rows by a panel of more than two vectors that begin before its first column.
pub(super) struct HeadedVectors<V: Vector, T: Scalar, const PREFETCHES: bool> {
    pub(super) operands: RowOperands<V, T, PREFETCHES>,
    /// Three at least.
    pub(super) vectors: usize,
}

impl<V, T, const PREFETCHES: bool> RowKernel for HeadedVectors<V, T, PREFETCHES>
where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    type Acc = T::Acc;
    const SHORT: usize = 0;

    #[inline(always)]
    unsafe fn row(&self, entries: Entries<Self::Acc>, row: usize) {
        let &Self { ref operands, vectors } = self;
        let dst = operands.out.row(row);
        macro_rules! group {
            ($k:literal, $edges:expr, $u:expr) => {
                // SAFETY: the instruction set by point 1, entries by point 2, the row of C by point 3. `$k` vectors are left
                // from `$u` on; the first of all is partial, and so may be the last.
                unsafe { operands.group::<$k, 1, { $edges }>(entries, dst, $u * V::LANES) }
            };
        }
        // Up to nine vectors are summed at once: eight, and a part of one more.
        let mut u = match vectors {
            3 => return group!(3, BOTH, 0),
            4 => return group!(4, BOTH, 0),
            5 => return group!(5, BOTH, 0),
            9 => return group!(9, BOTH, 0),
            6..9 => {
                group!(4, FIRST, 0);
                4
            }
            _ => {
                group!(8, FIRST, 0);
                8
            }
        };
        while vectors - u > 9 {
            group!(8, NONE, u);
            u += 8;
        }
        if matches!(vectors - u, 6..9) {
            group!(4, NONE, u);
            u += 4;
        }
        match vectors - u {
            2 => group!(2, LAST, u),
            3 => group!(3, LAST, u),
            4 => group!(4, LAST, u),
            5 => group!(5, LAST, u),
            _ => group!(9, LAST, u),
        }
    }
}

impl<V, T, const AT_ONCE: usize, const PREFETCHES: bool> ManyVectors<V, T, AT_ONCE, PREFETCHES>
where
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    /// Whether two vectors of a row of B are read at a time for a row of `len` entries, where the rows are no whole cache lines.
    #[inline(always)]
    fn in_pairs(&self, len: usize) -> bool {
        let is_line = const { V::LANES * size_of::<T>() == 64 };
        let (lanes, is_far) = (V::LANES, self.operands.b.is_far);
        let is_narrow = self.width <= PAIR_VECTORS_MAX * lanes;
        let has_few = (PAIR_ENTRIES_MIN..=PAIR_ENTRIES_MAX).contains(&len);
        is_line && is_far && is_narrow && has_few && !self.width.is_multiple_of(lanes)
    }

    /// Multiplies by the columns from `j` on, fewer than four whole vectors, in as many chains as products of
    /// so wide a panel alone.
    ///
    /// # Safety
    /// 1. The machine has the instruction set of `V`.
    /// 2. Entries, their columns and B are as [`RowKernel::row`] requires.
    /// 3. `dst` is a row of C that no other thread accesses.
    #[inline(always)]
    unsafe fn rest(&self, entries: Entries<T::Acc>, dst: *mut T::Acc, j: usize) {
        let lanes = V::LANES;
        let left = self.width - j;
        macro_rules! group {
            ($k:literal, $chains:literal, $edges:expr) => {
                group!($k, $chains, $edges, j)
            };
            ($k:literal, $chains:literal, $edges:expr, $from:expr) => {
                // SAFETY: the instruction set by point 1, entries by point 2, C by point 3. `$k` vectors of
                // columns are there from `$from` on, one of them partial where `$edges` says so.
                unsafe { self.operands.group::<$k, $chains, { $edges }>(entries, dst, $from) }
            };
        }
        let in_group = self.operands.b.is_part_of_group;
        if const { PREFETCHES } && self.ends && !left.is_multiple_of(lanes) {
            match left.div_ceil(lanes) {
                1 if j == 0 || const { !V::HEADS } => {}
                1 if in_group => return group!(1, 1, FIRST, self.width - lanes),
                1 => return group!(1, 4, FIRST, self.width - lanes),
                2 if in_group => return group!(2, 1, ENDS),
                2 => return group!(2, 2, ENDS),
                3 => return group!(3, 1, ENDS),
                _ if self.in_pairs(entries.len) => {
                    group!(2, 1, NONE);
                    return group!(2, 1, ENDS, j + 2 * lanes);
                }
                _ => return group!(4, 1, ENDS),
            }
        }
        match (left.div_ceil(lanes), left % lanes) {
            (0, _) => {}
            (1, _) if in_group => group!(1, 1, LAST),
            (2, _) if in_group => group!(2, 1, LAST),
            (1, 0) => group!(1, 4, NONE),
            (1, _) => group!(1, 4, LAST),
            (2, 0) => group!(2, 2, NONE),
            (2, _) => group!(2, 2, LAST),
            (3, _) => group!(3, 1, LAST),
            _ => group!(4, 1, LAST),
        }
    }

    /// Multiplies by one vector of columns after the other, each in as many chains as the group that it
    /// belongs to. Every vector counts as partial, so that one copy is enough.
    ///
    /// # Safety
    /// 1. The machine has the instruction set of `V`.
    /// 2. Entries, their columns and B are as [`RowKernel::row`] requires.
    /// 3. `dst` is a row of C that no other thread accesses.
    #[inline(always)]
    unsafe fn one_by_one(&self, entries: Entries<T::Acc>, dst: *mut T::Acc) {
        let &Self { operands: RowOperands { b, ref out, prefetch, .. }, width, .. } = self;
        let lanes = V::LANES;
        let tail = width % (4 * lanes);
        for j in (0..width).step_by(lanes) {
            // SAFETY: the instruction set by point 1.
            let edges = &unsafe { Edges::new(lanes.min(width - j)) };
            let is_rest = width - j <= tail && !b.is_part_of_group;
            let vectors = if is_rest { tail.div_ceil(lanes) } else { 4 };
            let (b, dst) = (b.at_col(j), dst.wrapping_offset(j as isize * out.col_stride));
            macro_rules! vector {
                ($chains:literal) => {
                    sum::<V, T, 1, $chains, LAST, PREFETCHES>(entries, b, edges, prefetch)
                };
            }
            // SAFETY: the instruction set by point 1, entries by point 2, C by point 3. The columns are left.
            unsafe {
                let sums = match vectors {
                    1 => vector!(4),
                    2 => vector!(2),
                    _ => vector!(1),
                };
                store::<V, 1, LAST>(sums, out, dst, edges);
            }
        }
    }
}
