//! The value types, as data.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::FormatError;

/// A value type, as data: what plan files and run-time choices carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DType {
    /// IEEE 754 binary16.
    F16,
    /// bfloat16: the upper half of an `f32`.
    Bf16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// A complex number of two `f32`, 8 bytes: what NumPy calls complex64.
    C32,
    /// A complex number of two `f64`, 16 bytes: what NumPy calls complex128.
    C64,
}

impl DType {
    /// Every value type: the real ones, narrowest first, and then the complex ones.
    pub const ALL: [Self; 6] = [Self::F16, Self::Bf16, Self::F32, Self::F64, Self::C32, Self::C64];

    /// The real value types, narrowest first.
    pub const REAL: [Self; 4] = [Self::F16, Self::Bf16, Self::F32, Self::F64];

    /// Bytes per element.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 | Self::C32 => 8,
            Self::C64 => 16,
        }
    }

    /// The type products are accumulated in, and C is stored in: the type itself for f64, c32 and c64, f32 for
    /// the rest.
    #[must_use]
    pub const fn accumulator(self) -> Self {
        match self {
            Self::F16 | Self::Bf16 | Self::F32 => Self::F32,
            Self::F64 | Self::C32 | Self::C64 => self,
        }
    }

    /// The type of the real and of the imaginary part: f32 for c32, f64 for c64. That of a real type is itself.
    #[must_use]
    pub const fn part(self) -> Self {
        match self {
            Self::C32 => Self::F32,
            Self::C64 => Self::F64,
            real => real,
        }
    }

    /// Whether values have an imaginary part.
    #[must_use]
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::C32 | Self::C64)
    }

    /// The field's name: `f16`, `bf16`, `f32`, `f64`; `c32` and `c64` by the bits of each part.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::C32 => "c32",
            Self::C64 => "c64",
        }
    }
}

impl Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = FormatError;

    fn from_str(s: &str) -> Result<Self, FormatError> {
        Self::ALL.into_iter().find(|d| d.name() == s).ok_or_else(|| FormatError::UnknownName {
            what: "dtype",
            found: s.to_owned(),
            expected: "f16, bf16, f32, f64, c32 or c64",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse::<DType>().unwrap(), dtype);
        }
        assert!("double".parse::<DType>().is_err());
    }
}
