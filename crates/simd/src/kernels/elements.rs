//! Storing sums element by element: where columns of C are apart, or a bias, an activation or rounding follows.

use girih_backend::Activation;
use girih_formats::Scalar;

use super::activation::Activate;
use super::rounded::{add_rounded, store_rounded};
use crate::isa::Vector;
use crate::operands::{BiasPart, Finish, Output};

/// Stores `sums` at `dst` and the columns after it: `out = act(α·sum + β·out + bias)`.
///
/// In a function of its own: it is rare and long, and [`store`](super::store::store) stands in every kernel
/// many times.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. `dst` is valid for as many columns at the output's column stride, and no other thread accesses them; of a
///    [rounded](Output::rounded) output, the elements are that it stands for.
#[inline(always)]
pub(super) unsafe fn elements<V: Vector>(
    sums: &mut [V::Acc],
    out: &Output<V::Acc>,
    dst: *mut V::Acc,
) {
    let at = |i: usize| dst.wrapping_offset(i as isize * out.col_stride);
    for sum in sums.iter_mut() {
        *sum = out.alpha * *sum;
    }
    // SAFETY: it is null or outlives the product (point 4 of `operands`).
    let finish = unsafe { out.finish.as_ref() };
    if let Some((finish, c)) = finish.and_then(|finish| Some((finish, finish.rounded_at(dst)?))) {
        // SAFETY: the elements are valid by point 2.
        unsafe {
            if !out.beta.is_zero() {
                add_rounded(sums, c, out.col_stride, out.beta, V::mul_add_one);
            }
            apply::<V>(finish, sums, dst);
            store_rounded::<V::Isa, _>(sums, c, out.col_stride);
        }
        return;
    }
    if !out.beta.is_zero() {
        for (i, sum) in sums.iter_mut().enumerate() {
            // SAFETY: the element is valid by point 2.
            *sum = V::mul_add_one(unsafe { *at(i) }, out.beta, *sum);
        }
    }
    if let Some(finish) = finish {
        apply::<V>(finish, sums, dst);
    }
    if out.col_stride == 1 {
        // SAFETY: columns are next to each other and valid by point 2. `sums` is exclusive, so they do not
        // overlap.
        unsafe { std::ptr::copy_nonoverlapping(sums.as_ptr(), dst, sums.len()) };
        return;
    }
    for (i, &sum) in sums.iter().enumerate() {
        // SAFETY: the element is valid, and this thread's alone, by point 2.
        unsafe { *at(i) = sum };
    }
}

/// Adds the bias of the elements from `dst` on to `sums`, and applies the activation.
#[inline(always)]
fn apply<V: Vector>(finish: &Finish<V::Acc>, sums: &mut [V::Acc], dst: *const V::Acc) {
    match finish.bias(dst, sums.len()) {
        BiasPart::None => {}
        BiasPart::One(bias) => sums.iter_mut().for_each(|sum| *sum += bias),
        BiasPart::Each(bias) => sums.iter_mut().zip(bias).for_each(|(sum, &bias)| *sum += bias),
    }
    act::<V>(finish.activation, sums);
}

/// Elements that activations are applied to at a time: the compiler makes vectors of them.
pub(super) const VECTORIZED: usize = 16;

/// Applies an activation.
#[inline(always)]
pub(super) fn act<V: Vector>(activation: Activation, sums: &mut [V::Acc]) {
    match activation {
        Activation::Relu => sums.iter_mut().for_each(|sum| *sum = sum.relu()),
        Activation::Gelu => {
            let gelu = |sums: &mut [V::Acc; VECTORIZED]| {
                for sum in sums {
                    *sum = sum.gelu(V::mul_add_one);
                }
            };
            let (whole, rest) = sums.as_chunks_mut();
            whole.iter_mut().for_each(gelu);
            if !rest.is_empty() {
                let mut last = [V::Acc::ZERO; VECTORIZED];
                last[..rest.len()].copy_from_slice(rest);
                gelu(&mut last);
                rest.copy_from_slice(&last[..rest.len()]);
            }
        }
        // None; others are refused before.
        _ => {}
    }
}
