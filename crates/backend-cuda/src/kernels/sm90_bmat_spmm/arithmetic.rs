//! In what A and B are multiplied.

use girih_formats::DType;
use girih_planner::Precision;

/// What the kernels make of the values: `VALUE` in CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    F16,
    Bf16,
    /// f32, rounded to TF32, on tensor cores.
    Tf32,
    /// f32 as the sum of two TF32, three products of which are added, on tensor cores.
    ThreeTf32,
    /// f32 as it is, on CUDA cores.
    F32,
}

impl Arithmetic {
    pub(crate) const ALL: [Self; 5] =
        [Self::F16, Self::Bf16, Self::Tf32, Self::ThreeTf32, Self::F32];

    /// What multiplies a value type in a precision.
    pub(crate) fn of(dtype: DType, precision: Precision) -> Self {
        match (dtype, precision) {
            (DType::F16, _) => Self::F16,
            (DType::Bf16, _) => Self::Bf16,
            (_, Precision::Tf32) => Self::Tf32,
            (_, Precision::ThreeTf32) => Self::ThreeTf32,
            (_, Precision::F32) => Self::F32,
        }
    }

    /// The name of the struct in CUDA.
    pub(super) const fn value(self) -> &'static str {
        match self {
            Self::F16 => "F16",
            Self::Bf16 => "Bf16",
            Self::Tf32 => "Tf32",
            Self::ThreeTf32 => "ThreeTf32",
            Self::F32 => "F32",
        }
    }

    /// The name of a kernel's configuration.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Tf32 => "tf32",
            Self::ThreeTf32 => "3xtf32",
            Self::F32 => "f32",
        }
    }

    /// Bytes of a value.
    pub(crate) const fn size(self) -> u32 {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 | Self::ThreeTf32 | Self::F32 => 4,
        }
    }

    /// Whether warps take rows of a window and walk their entries, on CUDA cores.
    pub(super) const fn is_by_rows(self) -> bool {
        matches!(self, Self::F32)
    }

    /// The precision of f32 for people, and what it comes from; `None` for 16 bits.
    pub(super) const fn explained(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::F16 | Self::Bf16 => None,
            Self::Tf32 => Some(("tf32", "tensor cores round f32 to TF32")),
            Self::ThreeTf32 => {
                Some(("3xtf32", "tensor cores add three products of operands split into two TF32"))
            }
            Self::F32 => Some(("f32", "CUDA cores add entry by entry, without rounding to TF32")),
        }
    }
}
