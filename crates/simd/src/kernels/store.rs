//! Storing sums: `out = α·sum + β·out`, and what [`elements`] does besides.

use std::mem::MaybeUninit;
use std::slice;

use girih_formats::Scalar;

use super::edges::{Edges, LAST, NONE};
use super::elements::elements;
use super::finish::finish_vectors;
use super::finish_rows::finish_rows;
use crate::isa::{Compile, Vector, VectorsFor};
use crate::operands::{Output, RowMap, Store};

/// The most vectors of sums that kernels store together.
const MOST_VECTORS: usize = 9;

/// Stores `K` vectors of sums at `dst`, some of them partial as `EDGES` says.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. `dst` is valid for the columns of these vectors at the output's column stride, and no other thread
///    accesses them.
/// 3. If the output streams, `dst` lies whole vectors after the beginning of a row, so that it is
///    [aligned](Store::Stream).
/// 4. Where the first vector may be partial, columns are next to each other, and elements go through nothing.
#[inline(always)]
pub(super) unsafe fn store<V: Vector, const K: usize, const EDGES: u8>(
    sums: [V; K],
    out: &Output<V::Acc>,
    dst: *mut V::Acc,
    edges: &Edges<V>,
) {
    const { assert!(K <= MOST_VECTORS && V::LANES <= 16) };
    let lanes = V::LANES;
    // SAFETY: the instruction set by point 1.
    let (alpha, mut scaled) = (unsafe { V::splat(out.alpha) }, sums);
    for u in 0..K {
        // SAFETY: the instruction set by point 1.
        scaled[u] = unsafe { sums[u].mul(alpha) };
    }
    macro_rules! write_all {
        ($store:ident) => {
            for u in 0..K {
                // SAFETY: the instruction set by point 1. Columns are next to each other wherever this stands:
                // the lanes of vector `u` are valid by point 2, and aligned by point 3 if it streams.
                unsafe {
                    let p = dst.add(edges.column::<K, EDGES>(u));
                    match edges.partial::<K, EDGES>(u) {
                        Some(mask) => scaled[u].store_masked(p, mask),
                        None => scaled[u].$store(p),
                    }
                }
            }
        };
    }
    // First what most products do: short rows have no time for more questions.
    if out.store == Store::Write {
        write_all!(store);
        return;
    }
    if out.store == Store::Stream {
        write_all!(stream);
        return;
    }
    if out.store == Store::Finish {
        let (vectors, rest) = (scaled, if EDGES & LAST > 0 { edges.rest } else { lanes });
        // SAFETY: the instruction set by point 1, the columns by points 2 and 4. There are `K` vectors, and a finish.
        unsafe { finish_vectors(vectors.as_ptr(), K, rest, out.beta, out.finish, dst) };
        return;
    }
    if out.store == Store::Elements {
        let (vectors, rest) = (sums, if EDGES & LAST > 0 { edges.rest } else { lanes });
        // SAFETY: the instruction set by point 1, the columns by point 2. There are `K` vectors.
        unsafe { scatter::<V>(vectors.as_ptr(), K, rest, *out, dst) };
        return;
    }
    // The last vector may have lanes in common with the one before: all are read before any is written.
    for u in 0..K {
        // SAFETY: the instruction set by point 1. Columns are next to each other where C is updated: the
        // lanes of vector `u` are valid by point 2.
        unsafe {
            let c = load_vector::<V, K, EDGES>(dst, u, edges);
            scaled[u] = c.mul_add(V::splat(out.beta), scaled[u]);
        }
    }
    for u in 0..K {
        // SAFETY: the instruction set by point 1, the lanes of vector `u` by point 2.
        unsafe {
            let p = dst.add(edges.column::<K, EDGES>(u));
            match edges.mask::<K, EDGES>(u) {
                Some(mask) => scaled[u].store_masked(p, mask),
                None => scaled[u].store(p),
            }
        }
    }
}

/// Stores `count` vectors of sums as [`store`] does, the last of `rest` lanes, element by element.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. `dst` is valid for the columns of these vectors at the output's column stride, and no other thread
///    accesses them.
/// 3. There are as many vectors, one at least and [`MOST_VECTORS`] at most.
#[inline(always)]
unsafe fn scatter<V: Vector>(
    vectors: *const V,
    count: usize,
    rest: usize,
    out: Output<V::Acc>,
    dst: *mut V::Acc,
) {
    // SAFETY: the instruction set by point 1, the vectors by point 3, the columns by point 2. There is memory for that
    // many vectors, of 16 elements at most; the sums are elements that were stored.
    unsafe {
        V::Isa::call(
            #[inline(always)]
            move || {
                let mut spilled = MaybeUninit::<[[V::Acc; 16]; MOST_VECTORS]>::uninit();
                let to = spilled.as_mut_ptr().cast::<V::Acc>();
                for u in 0..count {
                    vectors.add(u).read().store(to.add(u * V::LANES));
                }
                let len = (count - 1) * V::LANES + rest;
                elements::<V>(slice::from_raw_parts_mut(to, len), &out, dst);
            },
        );
    }
}

/// Stores one sum.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. `dst` is valid, and no other thread accesses it.
#[inline(always)]
pub(crate) unsafe fn store_one<V: Vector>(sum: V::Acc, out: &Output<V::Acc>, dst: *mut V::Acc) {
    let v = out.alpha * sum;
    // SAFETY: the instruction set by point 1; `dst` is valid, and this thread's alone, by point 2.
    unsafe {
        match out.store {
            Store::Write | Store::Stream => *dst = v,
            Store::Update if out.beta.is_zero() => *dst = v,
            Store::Update => *dst = V::mul_add_one(*dst, out.beta, v),
            Store::Finish | Store::Elements => {
                let out = *out;
                V::Isa::call(
                    #[inline(always)]
                    move || elements::<V>(&mut [sum], &out, dst),
                );
            }
        }
    }
}

/// Vector `u` of the `K` vectors of sums at `p`, its own lanes alone where `EDGES` says that it may be partial.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. The lanes of the vector are valid.
#[inline(always)]
pub(super) unsafe fn load_vector<V: Vector, const K: usize, const EDGES: u8>(
    p: *const V::Acc,
    u: usize,
    edges: &Edges<V>,
) -> V {
    // SAFETY: the instruction set by point 1, the lanes by point 2.
    unsafe {
        let p = p.add(edges.column::<K, EDGES>(u));
        match edges.mask::<K, EDGES>(u) {
            Some(mask) => V::load_masked(p, mask),
            None => V::load(p),
        }
    }
}

/// Adds up `parts` arrays of sums in order and stores them: part `p` holds the sums of slot `i` at
/// `sums[p·part_stride + i·width ..]`.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. `sums` holds `width` sums for every slot of `map` and every part.
/// 3. The rows of C in `map` are valid for `width` columns, and no other thread accesses them.
pub(crate) unsafe fn combine<I: VectorsFor<T>, T: Scalar>(
    sums: &[T::Acc],
    parts: usize,
    out: &Output<T::Acc>,
    map: RowMap<'_>,
    width: usize,
) {
    let out = out.cached();
    // SAFETY: the points of `add_parts` are these; `out` does not stream.
    unsafe { add_parts::<I::Vector>(sums, parts, out, map, width) };
}

/// As [`combine`], compiled once for values of all types that have these sums.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. `sums` holds `width` sums for every slot of `map` and every part.
/// 3. The rows of C in `map` are valid for `width` columns, and no other thread accesses them.
/// 4. `out` does not stream.
#[inline(always)]
unsafe fn add_parts<V: Vector>(
    sums: &[V::Acc],
    parts: usize,
    out: Output<V::Acc>,
    map: RowMap<'_>,
    width: usize,
) {
    // SAFETY: it is null or outlives the product (point 4 of `operands`).
    if let Some(finish) = unsafe { out.finish.as_ref() }
        && parts == 1
    {
        // SAFETY: points 1 to 3 are those of `finish_rows`.
        unsafe { finish_rows::<V>(sums, out, finish, map, width) };
        return;
    }
    // SAFETY: points 1 to 4 are those of `add_all_parts`.
    unsafe {
        V::Isa::call(
            #[inline(always)]
            move || add_all_parts::<V>(sums, parts, &out, map, width),
        );
    }
}

/// [`add_parts`], in the function that is compiled for the instruction set.
///
/// # Safety
/// Points 1 to 4 of [`add_parts`].
#[inline(always)]
unsafe fn add_all_parts<V: Vector>(
    sums: &[V::Acc],
    parts: usize,
    out: &Output<V::Acc>,
    map: RowMap<'_>,
    width: usize,
) {
    let lanes = V::LANES;
    let part_stride = sums.len() / parts;
    // SAFETY: the instruction set by point 1.
    let edges = unsafe { Edges::new(width) };
    macro_rules! add_up {
        ($p:expr, $dst:expr, $edges:expr) => {
            // SAFETY: the instruction set by point 1. Each use is for columns before `width`: sums of every
            // part by point 2, the row of C by point 3; nothing streams by point 4.
            unsafe {
                let mut total = load_vector::<V, 1, { $edges }>($p, 0, &edges);
                for part in 1..parts {
                    let p = $p.add(part * part_stride);
                    total = total.add(load_vector::<V, 1, { $edges }>(p, 0, &edges));
                }
                store::<V, 1, { $edges }>([total], out, $dst, &edges);
            }
        };
    }
    for i in 0..map.len() {
        let Some(row) = map.row(i) else { continue };
        let dst = out.row(row);
        for j in (0..width).step_by(lanes) {
            let p = sums.as_ptr().wrapping_add(i * width + j);
            let dst = dst.wrapping_offset(j as isize * out.col_stride);
            if j + lanes <= width {
                add_up!(p, dst, NONE);
            } else {
                add_up!(p, dst, LAST);
            }
        }
    }
}
