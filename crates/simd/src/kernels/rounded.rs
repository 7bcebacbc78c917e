//! Loading and storing elements of a C of f16 or bf16.

use std::mem::MaybeUninit;

use girih_formats::RealNumber;

use crate::isa::halves::{bf16_to_f32, f16_to_f32};
use crate::isa::{Compile, Vector};
use crate::operands::RoundedC;

/// Rounds the first `len` lanes of a vector into the elements from `c` on, which are next to each other.
///
/// # Safety
/// 1. The machine has the instruction set of `V`, whose lanes are of f32.
/// 2. C has these elements, and no other thread accesses them.
#[inline(always)]
pub(super) unsafe fn round_vector<V: Vector>(vector: V, c: RoundedC, len: usize) {
    const { assert!(V::LANES <= 16) };
    let mut wide = MaybeUninit::<[V::Acc; 16]>::uninit();
    let wide = wide.as_mut_ptr().cast::<V::Acc>();
    // SAFETY: the instruction set by point 1; there is space for all lanes, of which `len` are read, as f32 by point 1. C
    // has as many elements by point 2.
    unsafe {
        vector.store(wide);
        // A whole vector never gets to memory: its length is known.
        if len == V::LANES {
            V::Isa::narrow::<false>(wide.cast(), c.ptr, V::LANES, c.is_bf16);
        } else {
            V::Isa::narrow::<false>(wide.cast(), c.ptr, len, c.is_bf16);
        }
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
        *sum = mul_add(unsafe { widened(c.at(i as isize * stride)) }, beta, *sum);
    }
}

/// An element of C.
///
/// # Safety
/// 1. It is valid, and no other thread writes it.
#[inline(always)]
pub(super) unsafe fn widened<A: RealNumber>(c: RoundedC) -> A {
    // SAFETY: point 1.
    let bits = unsafe { *c.ptr };
    let value = if c.is_bf16 { bf16_to_f32(bits) } else { f16_to_f32(bits) };
    A::from_f64(value.into())
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
            return I::narrow::<false>(from, c.ptr, sums.len(), c.is_bf16);
        }
        for i in 0..sums.len() {
            I::narrow::<false>(from.add(i), c.at(i as isize * stride).ptr, 1, c.is_bf16);
        }
    }
}
