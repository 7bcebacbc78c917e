//! Widening stored values to the type that sums have.

use girih_formats::Scalar;

use crate::isa::{Vector, VectorsFor, Widen};

/// Widens pieces of `len` values, which begin `stride` apart in `from` and follow one another in `to`.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. `to` is whole pieces, and `from` has as many.
pub(crate) unsafe fn widen<I: VectorsFor<T>, T: Scalar>(
    from: &[T],
    len: usize,
    stride: usize,
    to: &mut [T::Acc],
) {
    let lanes = const { <I::Vector as Vector>::LANES };
    let whole = len - len % lanes;
    // SAFETY: the instruction set by point 1. The inner loop stops before a vector that would end beyond the piece,
    // and the mask has the lanes that are left. Pieces lie in both slices by point 2.
    unsafe {
        I::call(
            #[inline(always)]
            move || {
                let mask = I::Vector::mask(len - whole);
                for (i, to) in to.chunks_exact_mut(len).enumerate() {
                    let (src, dst) = (from.as_ptr().add(i * stride), to.as_mut_ptr());
                    for j in (0..whole).step_by(lanes) {
                        let vector: I::Vector = Widen::<T>::widen(src.add(j));
                        vector.store(dst.add(j));
                    }
                    if whole < len {
                        let vector: I::Vector = Widen::<T>::widen_masked(src.add(whole), mask);
                        vector.store_masked(dst.add(whole), mask);
                    }
                }
            },
        );
    }
}
