//! How products of f32 round.

use std::fmt;
use std::str::FromStr;

use girih_formats::DType;
use serde::{Deserialize, Serialize};

/// How far the operands of a product in f32 may be rounded before they are multiplied.
///
/// Tensor cores multiply f32 as TF32, which keeps 11 of 24 significant bits. Products of other value types
/// take their operands as they are, and so do all products on a CPU and in CSR: they are the same in every
/// precision.
///
/// ```
/// use girih_planner::Precision;
///
/// assert_eq!("3xtf32".parse(), Ok(Precision::ThreeTf32));
/// assert_eq!(Precision::default().to_string(), "tf32");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Precision {
    /// To TF32: a relative error of up to 2⁻¹¹ for each operand.
    #[default]
    #[serde(rename = "tf32")]
    Tf32,
    /// Each operand to the sum of two TF32 numbers, of which three products are added: a relative error of up
    /// to 2⁻²¹ for each product. This costs three times the work of tensor cores.
    #[serde(rename = "3xtf32")]
    ThreeTf32,
    /// Not at all: every product is a fused multiply-add in f32, as in CSR. Sums are in the order of the
    /// plan.
    #[serde(rename = "f32")]
    F32,
}

/// A name that is none of a [`Precision`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no precision {0:?}; there are tf32, 3xtf32 and f32")]
pub struct UnknownPrecision(pub String);

impl Precision {
    /// All of them, the coarsest first.
    pub const ALL: [Self; 3] = [Self::Tf32, Self::ThreeTf32, Self::F32];

    /// The name that is read and written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tf32 => "tf32",
            Self::ThreeTf32 => "3xtf32",
            Self::F32 => "f32",
        }
    }

    /// Whether kernels that round f32 to TF32 may multiply a value type, complex ones by their parts.
    #[must_use]
    pub const fn allows_tf32(self, dtype: DType) -> bool {
        matches!(self, Self::Tf32) || !matches!(dtype.part(), DType::F32)
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// By their [names](Precision::name).
impl FromStr for Precision {
    type Err = UnknownPrecision;

    fn from_str(s: &str) -> Result<Self, UnknownPrecision> {
        let found = Self::ALL.into_iter().find(|precision| precision.name() == s);
        found.ok_or_else(|| UnknownPrecision(s.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for precision in Precision::ALL {
            assert_eq!(precision.to_string().parse(), Ok(precision));
            let json = serde_json::to_string(&precision).unwrap();
            assert_eq!(json, format!("\"{precision}\""));
        }
        let error = "fp32".parse::<Precision>().unwrap_err();
        assert!(error.to_string().contains("\"fp32\"") && error.to_string().contains("3xtf32"));
    }

    #[test]
    fn only_f32_is_rounded() {
        for dtype in DType::ALL {
            assert!(Precision::Tf32.allows_tf32(dtype));
            assert_eq!(Precision::F32.allows_tf32(dtype), dtype.part() != DType::F32);
            assert_eq!(Precision::ThreeTf32.allows_tf32(dtype), dtype.part() != DType::F32);
        }
    }
}
