//! Loading and storing elements of a C of f16 or bf16.

use std::mem::MaybeUninit;

use girih_formats::RealNumber;

use crate::isa::halves::{bf16_to_f32, f16_to_f32};
use crate::isa::{Compile, Vector};
use crate::operands::RoundedC;

/// Rounds `K` vectors, the last of `len` lanes with `TAIL`, into the elements from `c` on, which are next to each other.
///
/// # Safety
/// 1. The machine has the instruction set of `V`, whose lanes are of f32.
/// 2. C has these elements, and no other thread accesses them.
#[inline(always)]
pub(super) unsafe fn round_vectors<V: Vector, const K: usize, const TAIL: bool>(
    vectors: [V; K],
    c: RoundedC,
    len: usize,
) {
    const { assert!(V::LANES <= 16) };
    // In memory they have no gaps, however long they are.
    let mut wide = [[MaybeUninit::<V::Acc>::uninit(); 16]; K];
    let wide = wide.as_flattened_mut().as_mut_ptr().cast::<V::Acc>();
    let count = (K - 1) * V::LANES + if TAIL { len } else { V::LANES };
    // SAFETY: the instruction set by point 1; there is room for 16 lanes of each vector, of which `count` are written and
    // read, as f32 by point 1. C has as many elements by point 2.
    unsafe {
        for (u, vector) in vectors.into_iter().enumerate() {
            vector.store(wide.add(u * V::LANES));
        }
        V::Isa::narrow(wide.cast(), c.ptr, count, c.is_bf16);
    }
}

/// Adds `beta` times elements of C, from `c` on and `stride` apart, to `sums`, by `mul_add`.
///
/// # Safety
/// 1. C has as many elements there as `sums`, and no other thread accesses them.
#[inline(always)]
pub(super) unsafe fn add_rounded<A: RealNumber>(
    sums: &mut [A],
    c: RoundedC,
    stride: isize,
    beta: A,
    mul_add: impl Fn(A, A, A) -> A,
) {
    for (i, sum) in sums.iter_mut().enumerate() {
        // SAFETY: the element is valid by point 1.
        let bits = unsafe { *c.at(i as isize * stride).ptr };
        let before = if c.is_bf16 { bf16_to_f32(bits) } else { f16_to_f32(bits) };
        *sum = mul_add(A::from_f64(before.into()), beta, *sum);
    }
}

/// Rounds `sums`, which are of f32, to nearest even into elements of C, from `c` on and `stride` apart.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. C has as many elements there as `sums`, and no other thread accesses them.
#[inline(always)]
pub(super) unsafe fn store_rounded<I: Compile, A>(sums: &[A], c: RoundedC, stride: isize) {
    let from = sums.as_ptr().cast::<f32>();
    // SAFETY: the instruction set by point 1, the elements by point 2.
    unsafe {
        if stride == 1 {
            return I::narrow(from, c.ptr, sums.len(), c.is_bf16);
        }
        for i in 0..sums.len() {
            I::narrow(from.add(i), c.at(i as isize * stride).ptr, 1, c.is_bf16);
        }
    }
}
