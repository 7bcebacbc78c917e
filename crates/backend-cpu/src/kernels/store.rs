//! Storing sums: `out = α·sum + β·out`.

use girih_formats::Scalar;

use crate::isa::{Vector, VectorsFor};
use crate::operands::{Output, RowMap, Store};

/// Stores `K` vectors of sums at `dst`, the last of them `len` lanes wide.
///
/// # Safety
/// The instruction set of `V`; `dst` must be valid for the vectors at the output's column stride, and
/// no other thread may access them. `mask` is of length `len`.
#[inline(always)]
pub(crate) unsafe fn store<V: Vector, const K: usize, const TAIL: bool>(
    sums: [V; K],
    out: &Output<V::Acc>,
    dst: *mut V::Acc,
    mask: V::Mask,
    len: usize,
) {
    let lanes = V::LANES;
    // SAFETY: the caller's contract, for every access below.
    unsafe {
        let alpha = V::splat(out.alpha);
        macro_rules! write {
            ($store:ident) => {
                for u in 0..K {
                    let (v, p) = (sums[u].mul(alpha), dst.add(u * lanes));
                    if TAIL && u + 1 == K && len < lanes {
                        v.store_masked(p, mask);
                    } else {
                        v.$store(p);
                    }
                }
            };
        }
        match out.store {
            Store::Write => write!(store),
            Store::Stream => write!(stream),
            Store::Update => update::<V, K, TAIL>(sums, out, dst, mask, len),
        }
    }
}

/// As [`store`], where C may be read, or have its columns apart.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn update<V: Vector, const K: usize, const TAIL: bool>(
    sums: [V; K],
    out: &Output<V::Acc>,
    dst: *mut V::Acc,
    mask: V::Mask,
    len: usize,
) {
    let lanes = V::LANES;
    // SAFETY: the caller's contract, for every access below.
    unsafe {
        if out.col_stride != 1 {
            let mut spilled = [V::Acc::ZERO; 16];
            for (u, sum) in sums.into_iter().enumerate() {
                sum.store(spilled.as_mut_ptr());
                let n = if TAIL && u + 1 == K { len } else { lanes };
                for (i, &sum) in spilled.iter().enumerate().take(n) {
                    store_one::<V>(sum, out, dst.offset((u * lanes + i) as isize * out.col_stride));
                }
            }
            return;
        }
        let (alpha, beta) = (V::splat(out.alpha), V::splat(out.beta));
        for u in 0..K {
            let (v, p) = (sums[u].mul(alpha), dst.add(u * lanes));
            if TAIL && u + 1 == K {
                V::load_masked(p, mask).mul_add(beta, v).store_masked(p, mask);
            } else {
                V::load(p).mul_add(beta, v).store(p);
            }
        }
    }
}

/// Stores one sum.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
pub(crate) unsafe fn store_one<V: Vector>(sum: V::Acc, out: &Output<V::Acc>, dst: *mut V::Acc) {
    let v = out.alpha * sum;
    // SAFETY: the caller's contract.
    unsafe {
        *dst = match out.store {
            Store::Update if !out.beta.is_zero() => V::mul_add_one(*dst, out.beta, v),
            _ => v,
        };
    }
}

/// Adds up `parts` arrays of sums in order and stores them: part `p` holds the sums of slot `i` at
/// `sums[p·part_stride + i·width ..]`.
///
/// # Safety
/// The machine must have `I`. `sums` must hold `width` sums for every slot and part; the rows of the
/// output in `map` must be valid for `width` columns and accessed by no other thread.
pub(crate) unsafe fn combine<I: VectorsFor<T>, T: Scalar>(
    sums: &[T::Acc],
    parts: usize,
    out: &Output<T::Acc>,
    map: RowMap<'_>,
    width: usize,
) {
    let out = out.cached();
    // SAFETY: the caller's contract.
    unsafe {
        I::call(
            #[inline(always)]
            move || add_parts::<I::Vector>(sums, parts, &out, map, width),
        );
    }
}

/// # Safety
/// As for [`combine`], with the instruction set of `V`; `out` must not stream.
#[inline(always)]
unsafe fn add_parts<V: Vector>(
    sums: &[V::Acc],
    parts: usize,
    out: &Output<V::Acc>,
    map: RowMap<'_>,
    width: usize,
) {
    let lanes = V::LANES;
    let part_stride = sums.len() / parts;
    let last = if width.is_multiple_of(lanes) { lanes } else { width % lanes };
    // SAFETY: the caller's contract, for every access below.
    unsafe {
        let mask = V::mask(last);
        for i in 0..map.len() {
            let Some(row) = map.row(i) else { continue };
            let dst = out.row(row);
            for j in (0..width).step_by(lanes) {
                let p = sums.as_ptr().add(i * width + j);
                let dst = dst.offset(j as isize * out.col_stride);
                if j + lanes <= width {
                    let mut total = V::load(p);
                    for part in 1..parts {
                        total = total.add(V::load(p.add(part * part_stride)));
                    }
                    store::<V, 1, false>([total], out, dst, mask, lanes);
                } else {
                    let mut total = V::load_masked(p, mask);
                    for part in 1..parts {
                        total = total.add(V::load_masked(p.add(part * part_stride), mask));
                    }
                    store::<V, 1, true>([total], out, dst, mask, last);
                }
            }
        }
    }
}
