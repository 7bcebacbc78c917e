//! A C of f16 or bf16, to which sums are rounded as they are stored.

use girih_formats::{DType, Real};
use ndarray::ArrayViewMut2;

/// An element of a C of 16 bits, by its address.
#[derive(Clone, Copy, Debug)]
pub struct RoundedC {
    /// Where it lies.
    pub ptr: *mut u16,
    /// Whether it is of bf16; of f16 if not.
    pub is_bf16: bool,
}

impl RoundedC {
    /// The element in row 0 and column 0.
    pub(super) fn new<C: Real>(c: &mut ArrayViewMut2<'_, C>) -> Self {
        Self { ptr: c.as_mut_ptr().cast(), is_bf16: C::DTYPE == DType::Bf16 }
    }

    /// The one that lies `offset` elements on.
    #[inline(always)]
    pub fn at(self, offset: isize) -> Self {
        Self { ptr: self.ptr.wrapping_offset(offset), ..self }
    }
}
