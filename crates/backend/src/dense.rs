//! Dense operands of any value type, borrowed.
//!
//! A view may have any strides that ndarray allows: rows or columns contiguous or not, negative
//! strides, and for B, which is only read, stride 0 (broadcast). Elements of a mutable view never
//! overlap, so no backend has to care whether two elements of C are the same.

use std::ops::Range;

use girih_formats::{Complex, DType, Scalar};
use half::{bf16, f16};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, Slice};

/// B: a k×n view of any value type and any strides.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each variant is named for the value type it holds")]
pub enum DenseView<'a> {
    F16(ArrayView2<'a, f16>),
    Bf16(ArrayView2<'a, bf16>),
    F32(ArrayView2<'a, f32>),
    F64(ArrayView2<'a, f64>),
    C32(ArrayView2<'a, Complex<f32>>),
    C64(ArrayView2<'a, Complex<f64>>),
}

/// C: an m×n view, mutable, any strides: of an accumulation type, or of 16 bits where products are
/// [rounded](crate::SpmmBackend::supports_output) to those.
#[derive(Debug)]
#[expect(missing_docs, reason = "each variant is named for the value type it holds")]
pub enum DenseViewMut<'a> {
    F16(ArrayViewMut2<'a, f16>),
    Bf16(ArrayViewMut2<'a, bf16>),
    F32(ArrayViewMut2<'a, f32>),
    F64(ArrayViewMut2<'a, f64>),
    C32(ArrayViewMut2<'a, Complex<f32>>),
    C64(ArrayViewMut2<'a, Complex<f64>>),
}

/// A value type whose dense views can be put into a [`DenseView`] and taken out again: all of
/// [`Scalar`]'s.
pub trait DenseScalar: Scalar {
    /// The view, if it holds this type.
    fn view(view: DenseView<'_>) -> Option<ArrayView2<'_, Self>>;
    /// The view, if it holds this type's accumulation type.
    fn acc_view(view: DenseView<'_>) -> Option<ArrayView2<'_, Self::Acc>>;
    /// The mutable view, if it holds this type's accumulation type.
    fn acc_view_mut(view: DenseViewMut<'_>) -> Option<ArrayViewMut2<'_, Self::Acc>>;
    /// Puts a view in.
    fn erase(view: ArrayView2<'_, Self>) -> DenseView<'_>;
    /// Puts a view of the accumulation type in.
    fn erase_acc(view: ArrayView2<'_, Self::Acc>) -> DenseView<'_>;
    /// Puts a mutable view in.
    fn erase_mut(view: ArrayViewMut2<'_, Self>) -> DenseViewMut<'_>;
    /// Puts a mutable view of the accumulation type in.
    fn erase_acc_mut(view: ArrayViewMut2<'_, Self::Acc>) -> DenseViewMut<'_>;
}

macro_rules! dense_scalar {
    ($($variant:ident: $t:ty => $acc:ident),*) => {$(
        impl<'a> From<ArrayView2<'a, $t>> for DenseView<'a> {
            #[inline]
            fn from(view: ArrayView2<'a, $t>) -> Self {
                Self::$variant(view)
            }
        }

        impl<'a> From<ArrayViewMut2<'a, $t>> for DenseViewMut<'a> {
            #[inline]
            fn from(view: ArrayViewMut2<'a, $t>) -> Self {
                Self::$variant(view)
            }
        }

        impl DenseScalar for $t {
            #[inline]
            fn view(view: DenseView<'_>) -> Option<ArrayView2<'_, Self>> {
                if let DenseView::$variant(view) = view { Some(view) } else { None }
            }

            #[inline]
            fn acc_view(view: DenseView<'_>) -> Option<ArrayView2<'_, Self::Acc>> {
                if let DenseView::$acc(view) = view { Some(view) } else { None }
            }

            #[inline]
            fn acc_view_mut(view: DenseViewMut<'_>) -> Option<ArrayViewMut2<'_, Self::Acc>> {
                if let DenseViewMut::$acc(view) = view { Some(view) } else { None }
            }

            #[inline]
            fn erase(view: ArrayView2<'_, Self>) -> DenseView<'_> {
                view.into()
            }

            #[inline]
            fn erase_acc(view: ArrayView2<'_, Self::Acc>) -> DenseView<'_> {
                view.into()
            }

            #[inline]
            fn erase_mut(view: ArrayViewMut2<'_, Self>) -> DenseViewMut<'_> {
                view.into()
            }

            #[inline]
            fn erase_acc_mut(view: ArrayViewMut2<'_, Self::Acc>) -> DenseViewMut<'_> {
                view.into()
            }
        }
    )*};
}

dense_scalar!(
    F16: f16 => F32,
    Bf16: bf16 => F32,
    F32: f32 => F32,
    F64: f64 => F64,
    C32: Complex<f32> => C32,
    C64: Complex<f64> => C64
);

impl DenseView<'_> {
    /// The value type.
    #[inline]
    #[must_use]
    pub fn dtype(&self) -> DType {
        match self {
            Self::F16(_) => DType::F16,
            Self::Bf16(_) => DType::Bf16,
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
            Self::C32(_) => DType::C32,
            Self::C64(_) => DType::C64,
        }
    }

    /// Rows and columns.
    #[inline]
    #[must_use]
    pub fn dim(&self) -> (usize, usize) {
        match self {
            Self::F16(v) => v.dim(),
            Self::Bf16(v) => v.dim(),
            Self::F32(v) => v.dim(),
            Self::F64(v) => v.dim(),
            Self::C32(v) => v.dim(),
            Self::C64(v) => v.dim(),
        }
    }

    /// The same view, for a shorter time.
    #[inline]
    #[must_use]
    pub fn reborrow(&self) -> DenseView<'_> {
        match self {
            Self::F16(v) => v.view().into(),
            Self::Bf16(v) => v.view().into(),
            Self::F32(v) => v.view().into(),
            Self::F64(v) => v.view().into(),
            Self::C32(v) => v.view().into(),
            Self::C64(v) => v.view().into(),
        }
    }
}

impl DenseViewMut<'_> {
    /// The value type.
    #[inline]
    #[must_use]
    pub fn dtype(&self) -> DType {
        match self {
            Self::F16(_) => DType::F16,
            Self::Bf16(_) => DType::Bf16,
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
            Self::C32(_) => DType::C32,
            Self::C64(_) => DType::C64,
        }
    }

    /// Rows and columns.
    #[inline]
    #[must_use]
    pub fn dim(&self) -> (usize, usize) {
        match self {
            Self::F16(v) => v.dim(),
            Self::Bf16(v) => v.dim(),
            Self::F32(v) => v.dim(),
            Self::F64(v) => v.dim(),
            Self::C32(v) => v.dim(),
            Self::C64(v) => v.dim(),
        }
    }

    /// The view of some of the columns.
    ///
    /// # Panics
    /// If there are not as many.
    #[must_use]
    pub fn columns_mut(&mut self, cols: Range<usize>) -> DenseViewMut<'_> {
        let slice = Slice::from(cols);
        match self {
            Self::F16(v) => v.slice_axis_mut(Axis(1), slice).into(),
            Self::Bf16(v) => v.slice_axis_mut(Axis(1), slice).into(),
            Self::F32(v) => v.slice_axis_mut(Axis(1), slice).into(),
            Self::F64(v) => v.slice_axis_mut(Axis(1), slice).into(),
            Self::C32(v) => v.slice_axis_mut(Axis(1), slice).into(),
            Self::C64(v) => v.slice_axis_mut(Axis(1), slice).into(),
        }
    }

    /// A read-only view of the same elements.
    #[inline]
    #[must_use]
    pub fn view(&self) -> DenseView<'_> {
        match self {
            Self::F16(v) => v.view().into(),
            Self::Bf16(v) => v.view().into(),
            Self::F32(v) => v.view().into(),
            Self::F64(v) => v.view().into(),
            Self::C32(v) => v.view().into(),
            Self::C64(v) => v.view().into(),
        }
    }

    /// The same view, for a shorter time.
    #[inline]
    #[must_use]
    pub fn reborrow(&mut self) -> DenseViewMut<'_> {
        match self {
            Self::F16(v) => v.view_mut().into(),
            Self::Bf16(v) => v.view_mut().into(),
            Self::F32(v) => v.view_mut().into(),
            Self::F64(v) => v.view_mut().into(),
            Self::C32(v) => v.view_mut().into(),
            Self::C64(v) => v.view_mut().into(),
        }
    }
}
