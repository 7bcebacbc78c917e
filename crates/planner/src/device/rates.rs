//! Numbers that depend on the value type or the format.

use girih_formats::{DType, FormatKind};
use serde::{Deserialize, Serialize};

/// One number per value type.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each field is named for its value type")]
pub struct PerDType {
    pub f16: f64,
    pub bf16: f64,
    pub f32: f64,
    pub f64: f64,
}

impl PerDType {
    /// The number for `dtype`.
    #[must_use]
    pub const fn get(&self, dtype: DType) -> f64 {
        match dtype {
            DType::F16 => self.f16,
            DType::Bf16 => self.bf16,
            DType::F32 => self.f32,
            DType::F64 => self.f64,
        }
    }
}

/// One number per format.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each field is named for its format")]
pub struct PerFormat {
    pub csr: f64,
    pub bcsr: f64,
    pub wcsr: f64,
    pub blocked_ell: f64,
    pub bmat: f64,
    pub two_four: f64,
}

impl PerFormat {
    /// The number for `kind`.
    #[must_use]
    pub const fn get(&self, kind: FormatKind) -> f64 {
        match kind {
            FormatKind::Csr => self.csr,
            FormatKind::Bcsr => self.bcsr,
            FormatKind::Wcsr => self.wcsr,
            FormatKind::BlockedEll => self.blocked_ell,
            FormatKind::BMat => self.bmat,
            FormatKind::TwoFour => self.two_four,
        }
    }
}

impl PerDType {
    /// Every number times `factor`.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            f16: self.f16 * factor,
            bf16: self.bf16 * factor,
            f32: self.f32 * factor,
            f64: self.f64 * factor,
        }
    }
}

impl PerFormat {
    /// The same number for all.
    #[must_use]
    pub const fn all(x: f64) -> Self {
        Self { csr: x, bcsr: x, wcsr: x, blocked_ell: x, bmat: x, two_four: x }
    }

    /// Every number times `factor`.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            csr: self.csr * factor,
            bcsr: self.bcsr * factor,
            wcsr: self.wcsr * factor,
            blocked_ell: self.blocked_ell * factor,
            bmat: self.bmat * factor,
            two_four: self.two_four * factor,
        }
    }
}
