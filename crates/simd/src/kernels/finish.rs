//! Storing vectors of sums after a bias, a rectifier or rounding.

use girih_backend::Activation;
use girih_formats::Scalar;

use super::rounded::round_vector;
use crate::isa::{Compile, Vector};
use crate::operands::{BiasPart, Finish};

/// Stores `count` vectors of sums, α times them, at `dst`, the last of `rest` lanes: `out = act(sums + β·out + bias)`. The
/// bits are those of [`elements`](super::elements).
///
/// In a function of its own, which all kernels share: [`store`](super::store::store) stands in each many times.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. There are `count` vectors, one at least.
/// 3. `dst` is valid for the columns of these vectors, which are next to each other, and no other thread accesses them; of
///    a [rounded](crate::operands::Output::rounded) output, the elements are that it stands for.
/// 4. The finish outlives the product, has another activation than GELU, and β is zero if it rounds.
#[inline(always)]
pub(super) unsafe fn finish_vectors<V: Vector>(
    vectors: *const V,
    count: usize,
    rest: usize,
    beta: V::Acc,
    finish: *const Finish<V::Acc>,
    dst: *mut V::Acc,
) {
    // SAFETY: points 1 to 4 are those of `finish_all`.
    unsafe {
        V::Isa::call(
            #[inline(always)]
            move || finish_all(vectors, count, rest, beta, finish, dst),
        );
    }
}

/// [`finish_vectors`], in the function that is compiled for the instruction set.
///
/// # Safety
/// Points 1 to 4 of [`finish_vectors`].
#[inline(always)]
unsafe fn finish_all<V: Vector>(
    vectors: *const V,
    count: usize,
    rest: usize,
    beta: V::Acc,
    finish: *const Finish<V::Acc>,
    dst: *mut V::Acc,
) {
    let lanes = V::LANES;
    // SAFETY: point 4.
    let finish = unsafe { &*finish };
    let bias = finish.bias(dst, (count - 1) * lanes + rest);
    let rounded = finish.rounded_at(dst);
    // SAFETY: the instruction set by point 1.
    let (mask, zero) = unsafe { (V::mask(rest), V::splat(V::Acc::ZERO)) };
    for u in 0..count {
        let (at, is_part) = (u * lanes, u + 1 == count && rest < lanes);
        let p = dst.wrapping_add(at);
        // SAFETY: the instruction set by point 1, the vector by point 2; its columns of C by point 3, which are read and
        // written as they are unless they are rounded, by point 4. The bias has as many values.
        unsafe {
            let load = |from: *const V::Acc| match is_part {
                true => V::load_masked(from, mask),
                false => V::load(from),
            };
            let mut vector = vectors.add(u).read();
            if !beta.is_zero() {
                vector = load(p).mul_add(V::splat(beta), vector);
            }
            match bias {
                BiasPart::None => {}
                BiasPart::One(bias) => vector = vector.add(V::splat(bias)),
                BiasPart::Each(bias) => vector = vector.add(load(bias.as_ptr().add(at))),
            }
            if finish.activation == Activation::Relu {
                // Of equal ones the element stays, and so does NaN.
                vector = vector.greater(zero);
            }
            match rounded {
                Some(c) => {
                    round_vector(vector, c.at(at as isize), if is_part { rest } else { lanes });
                }
                None if is_part => vector.store_masked(p, mask),
                None => vector.store(p),
            }
        }
    }
}
