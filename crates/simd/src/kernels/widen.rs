//! Widening stored values to the type that sums have.

use girih_formats::Scalar;

use crate::isa::{Vector, VectorsFor, Widen};

/// Widens `from` to `to`.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. `to` is as long as `from`, at the least.
pub(crate) unsafe fn widen<I: VectorsFor<T>, T: Scalar>(from: &[T], to: &mut [T::Acc]) {
    let lanes = const { <I::Vector as Vector>::LANES };
    // SAFETY: the instruction set by point 1. The loop stops before a vector that would end beyond `from`,
    // and the mask has the lanes that are left: all of them lie in `to` too, by point 2.
    unsafe {
        I::call(
            #[inline(always)]
            move || {
                let (src, dst) = (from.as_ptr(), to.as_mut_ptr());
                let mut i = 0;
                while i + lanes <= from.len() {
                    let vector: I::Vector = Widen::<T>::widen(src.add(i));
                    vector.store(dst.add(i));
                    i += lanes;
                }
                if i < from.len() {
                    let mask = I::Vector::mask(from.len() - i);
                    let vector: I::Vector = Widen::<T>::widen_masked(src.add(i), mask);
                    vector.store_masked(dst.add(i), mask);
                }
            },
        );
    }
}
