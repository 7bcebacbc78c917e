//! What the products of a row's entries come to, and the kernels that compute it.

use girih_backend::{Aggregation, Epilogue};
use girih_formats::{Complex, DType};

use super::launch::{Addresses, Each, LaunchSequence, Operands};
use super::tensor_map::MapEncoder;
use crate::CudaError;
use crate::epilogue::PlacedEpilogue;
use crate::kernels::Kernel;

/// What is requested, with a bias where the caller has it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Requested<'a, 'e> {
    /// A product that goes through an epilogue, which may be none.
    Sum(&'a Epilogue<'e>),
    /// An aggregation that the plan takes.
    Aggregation(Aggregation),
}

/// What the products of a row's entries come to, on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Total {
    /// Their sum, which goes through an epilogue that the plan takes.
    Sum(PlacedEpilogue),
    /// An aggregation that the plan takes. α is its [sign](Self::sign), and β is zero.
    Aggregation(Aggregation),
    /// Their sum, in a C of f16 or bf16.
    Rounded(DType),
}

/// Kernels besides those of plain products, which are loaded when they are first requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Later {
    WithEpilogue,
    Means,
    /// The greatest products, and the least.
    Extremes,
    InF16,
    InBf16,
}

impl Later {
    /// How many there are.
    pub(super) const COUNT: usize = Self::InBf16 as usize + 1;

    /// The kernel in the place of one of plain products.
    pub(crate) fn kernel(self, plain: &Kernel) -> Kernel {
        match self {
            Self::WithEpilogue => plain.with_epilogue(),
            Self::Means => plain.with_aggregation(Aggregation::Mean),
            Self::Extremes => plain.with_aggregation(Aggregation::Max),
            Self::InF16 => plain.with_output(DType::F16),
            Self::InBf16 => plain.with_output(DType::Bf16),
        }
    }
}

impl Total {
    /// The kernels that compute it; `None` for those of plain products.
    pub(crate) fn later(&self) -> Option<Later> {
        match self {
            Self::Sum(epilogue) if epilogue.is_none() => None,
            Self::Sum(_) => Some(Later::WithEpilogue),
            Self::Aggregation(Aggregation::Mean) => Some(Later::Means),
            Self::Aggregation(_) => Some(Later::Extremes),
            Self::Rounded(DType::F16) => Some(Later::InF16),
            Self::Rounded(_) => Some(Later::InBf16),
        }
    }

    /// That of the columns from `first` on, of elements of `size` bytes each.
    pub(super) fn columns(self, first: u64, size: u64) -> Self {
        match self {
            Self::Sum(epilogue) => Self::Sum(epilogue.columns(first, size)),
            other @ (Self::Aggregation(_) | Self::Rounded(_)) => other,
        }
    }

    /// The α of an aggregation's operands: the least product is the greatest with A's signs changed, with its own
    /// changed again.
    pub(crate) fn sign(aggregation: Aggregation) -> Complex<f64> {
        if aggregation == Aggregation::Min { -Complex::ONE } else { Complex::ONE }
    }

    /// Hands each launch that computes it to `each`: see [`LaunchSequence`].
    ///
    /// # Errors
    /// Those of `each` and of `encoder`.
    pub(crate) fn launches(
        &self,
        sequence: &dyn LaunchSequence,
        at: &Addresses,
        operands: &Operands,
        encoder: &dyn MapEncoder,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        match self {
            Self::Sum(epilogue) => sequence.launches(at, operands, epilogue, encoder, each),
            Self::Aggregation(_) => sequence.aggregations(at, operands, each),
            Self::Rounded(dtype) => sequence.rounded(at, operands, *dtype, encoder, each),
        }
    }
}
