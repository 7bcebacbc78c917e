//! Loading and storing elements of a C of f16 or bf16.

use girih_formats::RealNumber;

use crate::isa::halves::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use crate::operands::RoundedC;

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

/// Rounds `sums` to nearest even into elements of C, from `c` on and `stride` apart. C of 16 bits has sums of f32.
///
/// # Safety
/// 1. C has as many elements there as `sums`, and no other thread accesses them.
#[inline(always)]
pub(super) unsafe fn store_rounded<A: RealNumber>(sums: &[A], c: RoundedC, stride: isize) {
    if stride == 1 {
        // SAFETY: the elements are valid, and this thread's alone, by point 1.
        let to = unsafe { std::slice::from_raw_parts_mut(c.ptr, sums.len()) };
        let elements = to.iter_mut().zip(sums);
        if c.is_bf16 {
            elements.for_each(|(to, sum)| *to = f32_to_bf16(sum.to_f64() as f32));
        } else {
            elements.for_each(|(to, sum)| *to = f32_to_f16(sum.to_f64() as f32));
        }
        return;
    }
    for (i, sum) in sums.iter().enumerate() {
        let sum = sum.to_f64() as f32;
        let bits = if c.is_bf16 { f32_to_bf16(sum) } else { f32_to_f16(sum) };
        // SAFETY: the element is valid, and this thread's alone, by point 1.
        unsafe { *c.at(i as isize * stride).ptr = bits };
    }
}
