//! One type for any tiling of any value type.

use std::any::Any;

use num_complex::Complex;

use super::spec::{FormatKind, FormatSpec};
use super::tiling::Tiling;
use crate::dtype::DType;
use crate::layout::RowLayout;
use crate::scalar::Scalar;

/// A matrix in any of the formats and value types: what a plan holds.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is named for the value type it holds")]
pub enum AnyTiling {
    F16(Tiling<half::f16>),
    Bf16(Tiling<half::bf16>),
    F32(Tiling<f32>),
    F64(Tiling<f64>),
    C32(Tiling<Complex<f32>>),
    C64(Tiling<Complex<f64>>),
}

/// Evaluates an expression on the tiling inside an [`AnyTiling`], whatever its value type.
///
/// ```
/// # use girih_formats::{AnyTiling, for_any_tiling};
/// fn n_windows(any: &AnyTiling) -> usize {
///     for_any_tiling!(any, tiling => tiling.n_windows())
/// }
/// ```
#[macro_export]
macro_rules! for_any_tiling {
    ($any:expr, $tiling:ident => $body:expr) => {
        match $any {
            $crate::AnyTiling::F16($tiling) => $body,
            $crate::AnyTiling::Bf16($tiling) => $body,
            $crate::AnyTiling::F32($tiling) => $body,
            $crate::AnyTiling::F64($tiling) => $body,
            $crate::AnyTiling::C32($tiling) => $body,
            $crate::AnyTiling::C64($tiling) => $body,
        }
    };
}

/// Evaluates an expression on the tiling inside an [`AnyTiling`] if its values are real, and another one if they are
/// complex.
///
/// ```
/// # use girih_formats::{AnyTiling, Real, Tiling, for_real_tiling};
/// fn largest<T: Real>(tiling: &Tiling<T>) -> f64 {
///     tiling.to_csr().values().iter().map(|value| value.to_f64()).fold(0.0, f64::max)
/// }
/// fn largest_real(any: &AnyTiling) -> Option<f64> {
///     for_real_tiling!(any, tiling => Some(largest(tiling)), complex => None)
/// }
/// ```
#[macro_export]
macro_rules! for_real_tiling {
    ($any:expr, $tiling:ident => $body:expr, complex => $complex:expr $(,)?) => {
        match $any {
            $crate::AnyTiling::F16($tiling) => $body,
            $crate::AnyTiling::Bf16($tiling) => $body,
            $crate::AnyTiling::F32($tiling) => $body,
            $crate::AnyTiling::F64($tiling) => $body,
            $crate::AnyTiling::C32(_) | $crate::AnyTiling::C64(_) => $complex,
        }
    };
}

impl AnyTiling {
    /// The value type.
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

    /// The format with its sizes.
    #[must_use]
    pub fn spec(&self) -> FormatSpec {
        for_any_tiling!(self, t => t.spec())
    }

    /// The format.
    #[must_use]
    pub fn kind(&self) -> FormatKind {
        self.spec().kind()
    }

    /// The tiling, if its values are of type `T`.
    ///
    /// ```
    /// use girih_formats::{AnyTiling, Csr, FormatSpec, RowLayout, Tiling};
    ///
    /// let a = Csr::<f32>::identity(2)?;
    /// let any = AnyTiling::from(Tiling::from_csr(&a, FormatSpec::Csr, RowLayout::natural(2, 1)?)?);
    /// assert_eq!(any.as_typed::<f32>().map(Tiling::to_csr), Some(a));
    /// assert_eq!(any.as_typed::<f64>(), None);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[must_use]
    pub fn as_typed<T: Scalar>(&self) -> Option<&Tiling<T>> {
        for_any_tiling!(self, t => (t as &dyn Any).downcast_ref())
    }

    /// Which original row stands in which slot.
    #[must_use]
    pub fn layout(&self) -> &RowLayout {
        for_any_tiling!(self, t => t.layout())
    }

    /// Number of rows (m).
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.layout().nrows()
    }

    /// Number of columns (k).
    #[must_use]
    pub fn ncols(&self) -> usize {
        for_any_tiling!(self, t => t.ncols())
    }

    /// Entries the tiles were filled from.
    #[must_use]
    pub fn nnz(&self) -> usize {
        for_any_tiling!(self, t => t.nnz())
    }

    /// Bytes of all arrays, those of the layout included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        for_any_tiling!(self, t => t.bytes())
    }

    /// Windows of rows.
    #[must_use]
    pub fn n_windows(&self) -> usize {
        self.layout().n_windows()
    }

    /// Where window `w`'s tiles begin; see [`Tiling::tile_ptr`].
    ///
    /// # Panics
    /// If `w > n_windows()`.
    #[must_use]
    pub fn tile_ptr(&self, w: usize) -> u64 {
        for_any_tiling!(self, t => t.tile_ptr(w))
    }
}

impl<T: Scalar> From<Tiling<T>> for AnyTiling {
    fn from(tiling: Tiling<T>) -> Self {
        T::erase_tiling(tiling)
    }
}
