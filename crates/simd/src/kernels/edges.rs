//! Which vectors of a panel are partial.
//!
//! A row of B or C that begins within a cache line is gone through by vectors that begin with lines: the first has some of
//! its lanes alone. Vectors from the first column on would each touch two lines, and none could be written past the caches.
//!
//! Where a far B has rows of parts of lines, the last of several vectors ends with the row, and has lanes in common with the one
//! before it. A masked load from its place on would wait for a cache line of the next row too, which nothing has prefetched.

use girih_formats::Scalar;

use super::prefetch::Prefetch;
use super::sum::is_own_accumulator;
use crate::GROUP_VECTORS;
use crate::isa::Vector;
use crate::operands::{Input, Output, Store};
use crate::thresholds::HEADED_PAST_VECTORS;

/// All vectors are whole.
pub(super) const NONE: u8 = 0;
/// The last vector may be partial.
pub(super) const LAST: u8 = 1;
/// The first vector may be partial.
pub(super) const FIRST: u8 = 2;
/// Both of two vectors or more may.
pub(super) const BOTH: u8 = FIRST | LAST;
/// All vectors are whole, and the last ends with the row: it has lanes in common with the one before.
pub(super) const ENDS: u8 = 4;

/// The lanes of the first and of the last vector of some columns.
#[derive(Clone, Copy)]
pub(super) struct Edges<V: Vector> {
    first: V::Mask,
    last: V::Mask,
    /// Lanes of the last vector.
    pub(super) rest: usize,
}

impl<V: Vector> Edges<V> {
    /// Of vectors for `width ≥ 1` columns, from the first column on. A [first](FIRST) one ends with the row instead, and has the
    /// lanes that a partial last one would have.
    ///
    /// # Safety
    /// 1. The machine has the instruction set of `V`.
    #[inline(always)]
    pub(super) unsafe fn new(width: usize) -> Self {
        let rest = if width.is_multiple_of(V::LANES) { V::LANES } else { width % V::LANES };
        // SAFETY: the instruction set by point 1. It masks first lanes if it has them.
        unsafe {
            let first =
                if const { V::HEADS } { V::mask_from(V::LANES - rest) } else { V::mask(V::LANES) };
            Self { first, last: V::mask(rest), rest }
        }
    }

    /// Of vectors that begin `head` lanes before the first of `width` columns.
    ///
    /// # Safety
    /// 1. The machine has the instruction set of `V`, which masks the lanes [before](Vector::mask_from) others.
    #[inline(always)]
    pub(super) unsafe fn headed(head: usize, width: usize) -> Self {
        // SAFETY: the instruction set by point 1.
        unsafe { Self { first: V::mask_from(head), ..Self::new(head + width) } }
    }

    /// Columns from the first vector of `K` to vector `u`.
    #[inline(always)]
    pub(super) fn column<const K: usize, const EDGES: u8>(&self, u: usize) -> usize {
        if EDGES & ENDS > 0 && u + 1 == K {
            return (K - 1) * V::LANES + self.rest - V::LANES;
        }
        u * V::LANES
    }

    /// The lanes of vector `u` of `K`, if `EDGES` says that it may be partial.
    #[inline(always)]
    pub(super) fn mask<const K: usize, const EDGES: u8>(&self, u: usize) -> Option<V::Mask> {
        if EDGES & FIRST > 0 && u == 0 && (K > 1 || EDGES == FIRST) {
            Some(self.first)
        } else if EDGES & LAST > 0 && u + 1 == K {
            Some(self.last)
        } else {
            None
        }
    }

    /// The same for vectors that are stored: a whole one takes the shorter way.
    #[inline(always)]
    pub(super) fn partial<const K: usize, const EDGES: u8>(&self, u: usize) -> Option<V::Mask> {
        if EDGES & LAST > 0 && u + 1 == K && self.rest == V::LANES {
            None
        } else {
            self.mask::<K, EDGES>(u)
        }
    }
}

/// Whether a partial last vector ends with the row: where it would touch the cache line of a next row that comes from beyond a
/// core's own caches, and C is written or updated in place. Lanes in common have the same sums, and are stored twice.
#[inline(always)]
pub(super) fn end_with_rows<T: Scalar>(
    b: &Input<T>,
    out: &Output<T::Acc>,
    prefetch: Prefetch,
) -> bool {
    let bytes = b.row_stride.unsigned_abs() * size_of::<T>();
    let is_in_place = out.col_stride == 1 && matches!(out.store, Store::Write | Store::Update);
    (prefetch == Prefetch::Rows || b.is_far) && !bytes.is_multiple_of(64) && is_in_place
}

/// A panel whose vectors begin with cache lines, though its columns don't: B and C begin `head` lanes before their first
/// columns, where nothing is read or written.
pub(super) struct Headed<T: Scalar> {
    pub(super) head: usize,
    pub(super) b: Input<T>,
    pub(super) out: Output<T::Acc>,
}

impl<T: Scalar> Headed<T> {
    /// Such a panel of `width` columns, if vectors from the first column on would be in two lines each. `None` where elements
    /// would be added up in another order.
    ///
    /// B says where vectors begin, since each row of it is read several times. With `c_leads` C says it if it can then be
    /// written past the caches: rows of few entries take as long to be written as to be added up.
    #[inline(always)]
    pub(super) fn new<V: Vector<Acc = T::Acc>>(
        b: &Input<T>,
        out: &Output<T::Acc>,
        width: usize,
        c_leads: bool,
    ) -> Option<Self> {
        if const { !V::HEADS || !is_own_accumulator::<T>() } {
            return None;
        }
        // Groups of four vectors, or what is left of one, in single chains.
        let is_even = width > 2 * V::LANES
            && !(1..=2 * V::LANES).contains(&(width % (GROUP_VECTORS * V::LANES)));
        if !is_even || b.is_part_of_group || out.col_stride != 1 {
            return None;
        }
        let of_b = lanes_before(b.ptr, b.row_stride);
        let of_c = lanes_before(out.ptr, out.row_stride);
        let streams = out.would_stream && width >= HEADED_PAST_VECTORS * V::LANES;
        let (head, store) = match out.store {
            Store::Write if streams && (c_leads || of_b == of_c) => (of_c, Store::Stream),
            Store::Write | Store::Update => (of_b, out.store),
            // A C on lines stays there.
            Store::Stream | Store::Finish | Store::Elements => return None,
        };
        let b = Input { ptr: b.ptr.wrapping_sub(head), ..*b };
        (head > 0).then(|| Self { head, b, out: out.headed(head, store) })
    }
}

/// Elements from the beginning of a cache line to `row`, the first of rows that are whole lines apart; zero if they are not.
fn lanes_before<T>(row: *const T, row_stride: isize) -> usize {
    let bytes = row_stride.unsigned_abs() * size_of::<T>();
    if bytes.is_multiple_of(64) && row.is_aligned() { row.addr() % 64 / size_of::<T>() } else { 0 }
}
