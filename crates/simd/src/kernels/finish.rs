//! Storing vectors of sums after a bias, ReLU or rounding.

use girih_backend::Activation;
use girih_formats::Scalar;

use super::rounded::round_vectors;
use super::store::load_vector;
use crate::isa::Vector;
use crate::operands::{BiasPart, Output};

/// Stores `K` vectors of sums at `dst`, the last of `len` lanes with `TAIL`: `out = act(scaled + β·out + bias)`, the sums
/// times α given. The bits are those of [`elements`](super::elements).
///
/// In a function of its own: [`store`](super::store::store) stands in every kernel many times.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. `dst` is valid for the columns of these vectors, which are next to each other, and no other thread accesses them; of
///    a [rounded](Output::rounded) output, the elements are that it stands for.
/// 3. `mask` has `len` lanes.
/// 4. The output has a finish with another activation than GELU, and is not read if it rounds.
#[inline(always)]
pub(super) unsafe fn finish_vectors<V: Vector, const K: usize, const TAIL: bool>(
    scaled: [V; K],
    out: &Output<V::Acc>,
    dst: *mut V::Acc,
    mask: V::Mask,
    len: usize,
) {
    let (lanes, mut vectors) = (V::LANES, scaled);
    let count = (K - 1) * lanes + if TAIL { len } else { lanes };
    // SAFETY: there is one by point 4, and it outlives the product (point 4 of `operands`).
    let finish = unsafe { &*out.finish };
    if !out.beta.is_zero() {
        for u in 0..K {
            // SAFETY: the instruction set by point 1, the columns by points 2 and 3: what is read is not rounded.
            unsafe {
                let before = load_vector::<V, K, TAIL>(dst, u, mask);
                vectors[u] = before.mul_add(V::splat(out.beta), vectors[u]);
            }
        }
    }
    match finish.bias(dst, count) {
        BiasPart::None => {}
        BiasPart::One(bias) => {
            for vector in &mut vectors {
                // SAFETY: the instruction set by point 1.
                *vector = unsafe { vector.add(V::splat(bias)) };
            }
        }
        BiasPart::Each(bias) => {
            for u in 0..K {
                // SAFETY: the instruction set by point 1; the bias has `count` values, the lanes by point 3.
                unsafe {
                    let bias = load_vector::<V, K, TAIL>(bias.as_ptr(), u, mask);
                    vectors[u] = vectors[u].add(bias);
                }
            }
        }
    }
    if finish.activation == Activation::Relu {
        for vector in &mut vectors {
            // SAFETY: the instruction set by point 1. Of equal ones the element stays, and so does NaN.
            *vector = unsafe { vector.greater(V::splat(V::Acc::ZERO)) };
        }
    }
    // SAFETY: the instruction set by point 1; the columns, or the elements that they stand for, by points 2 and 3.
    unsafe {
        if let Some(c) = finish.rounded_at(dst) {
            return round_vectors::<V, K, TAIL>(vectors, c, len);
        }
        for u in 0..K {
            let p = dst.add(u * lanes);
            if TAIL && u + 1 == K {
                vectors[u].store_masked(p, mask);
            } else {
                vectors[u].store(p);
            }
        }
    }
}
