//! Dense operands of any value type, borrowed.

use girih_formats::DType;
use half::{bf16, f16};
use ndarray::{ArrayView2, ArrayViewMut2};

/// B: a k×n view of any value type and any strides.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each variant is named for the value type it holds")]
pub enum DenseView<'a> {
    F16(ArrayView2<'a, f16>),
    Bf16(ArrayView2<'a, bf16>),
    F32(ArrayView2<'a, f32>),
    F64(ArrayView2<'a, f64>),
}

/// C: an m×n view of an accumulation type, mutable, any strides.
#[derive(Debug)]
#[expect(missing_docs, reason = "each variant is named for the value type it holds")]
pub enum DenseViewMut<'a> {
    F32(ArrayViewMut2<'a, f32>),
    F64(ArrayViewMut2<'a, f64>),
}

macro_rules! from_view {
    ($($variant:ident: $t:ty),*) => {$(
        impl<'a> From<ArrayView2<'a, $t>> for DenseView<'a> {
            fn from(view: ArrayView2<'a, $t>) -> Self {
                Self::$variant(view)
            }
        }
    )*};
}

from_view!(F16: f16, Bf16: bf16, F32: f32, F64: f64);

impl<'a> From<ArrayViewMut2<'a, f32>> for DenseViewMut<'a> {
    fn from(view: ArrayViewMut2<'a, f32>) -> Self {
        Self::F32(view)
    }
}

impl<'a> From<ArrayViewMut2<'a, f64>> for DenseViewMut<'a> {
    fn from(view: ArrayViewMut2<'a, f64>) -> Self {
        Self::F64(view)
    }
}

impl DenseView<'_> {
    /// The value type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        match self {
            Self::F16(_) => DType::F16,
            Self::Bf16(_) => DType::Bf16,
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
        }
    }

    /// Rows and columns.
    #[must_use]
    pub fn dim(&self) -> (usize, usize) {
        match self {
            Self::F16(v) => v.dim(),
            Self::Bf16(v) => v.dim(),
            Self::F32(v) => v.dim(),
            Self::F64(v) => v.dim(),
        }
    }
}

impl DenseViewMut<'_> {
    /// The value type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        match self {
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
        }
    }

    /// Rows and columns.
    #[must_use]
    pub fn dim(&self) -> (usize, usize) {
        match self {
            Self::F32(v) => v.dim(),
            Self::F64(v) => v.dim(),
        }
    }
}
