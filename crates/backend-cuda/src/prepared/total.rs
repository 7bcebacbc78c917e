//! What the products of a row's entries come to, and the kernels that compute it.

use girih_backend::{Aggregation, Epilogue};
use girih_formats::{Complex, DType};

use crate::CudaError;
use crate::epilogue::PlacedEpilogue;
use crate::kernels::Kernel;
use crate::launch::tensor_map::MapEncoder;
use crate::launch::{Addresses, Each, LaunchSequence, Operands};

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
    /// Their sum, which goes through an epilogue that the plan takes, and may be rounded.
    Sum(PlacedEpilogue),
    /// An aggregation that the plan takes. α is its [sign](Self::sign), and β is zero.
    Aggregation(Aggregation),
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
    WithEpilogueInF16,
    WithEpilogueInBf16,
}

impl Later {
    /// How many there are.
    pub(super) const COUNT: usize = Self::WithEpilogueInBf16 as usize + 1;

    /// That of sums, through a bias or an activation or not, and rounded or not.
    pub(crate) fn of_sums(applies: bool, output: Option<DType>) -> Option<Self> {
        match (output, applies) {
            (None, false) => None,
            (None, true) => Some(Self::WithEpilogue),
            (Some(DType::F16), false) => Some(Self::InF16),
            (Some(DType::F16), true) => Some(Self::WithEpilogueInF16),
            (Some(_), false) => Some(Self::InBf16),
            (Some(_), true) => Some(Self::WithEpilogueInBf16),
        }
    }

    /// The kernel in the place of one of plain products.
    pub(crate) fn kernel(self, plain: &Kernel) -> Kernel {
        match self {
            Self::WithEpilogue => plain.with_epilogue(),
            Self::Means => plain.with_aggregation(Aggregation::Mean),
            Self::Extremes => plain.with_aggregation(Aggregation::Max),
            Self::InF16 => plain.with_output(DType::F16),
            Self::InBf16 => plain.with_output(DType::Bf16),
            Self::WithEpilogueInF16 => plain.with_epilogue().with_output(DType::F16),
            Self::WithEpilogueInBf16 => plain.with_epilogue().with_output(DType::Bf16),
        }
    }
}

impl Total {
    /// The kernels that compute it; `None` for those of plain products.
    pub(crate) fn later(&self) -> Option<Later> {
        match self {
            Self::Sum(epilogue) => Later::of_sums(epilogue.applies(), epilogue.output()),
            Self::Aggregation(Aggregation::Mean) => Some(Later::Means),
            Self::Aggregation(_) => Some(Later::Extremes),
        }
    }

    /// That of the columns from `first` on, of sums of `size` bytes each.
    pub(super) fn columns(self, first: u64, size: u64) -> Self {
        match self {
            Self::Sum(epilogue) => Self::Sum(epilogue.columns(first, size)),
            other @ Self::Aggregation(_) => other,
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
        }
    }
}
