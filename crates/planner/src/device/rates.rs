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
    /// The number for `dtype`; for a complex type that of its parts.
    #[must_use]
    pub const fn get(&self, dtype: DType) -> f64 {
        match dtype.part() {
            DType::F16 => self.f16,
            DType::Bf16 => self.bf16,
            DType::F32 => self.f32,
            _ => self.f64,
        }
    }
}

/// A number for each of some formats: those whose kernels a machine has, and that differ from the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each field is named for its format")]
pub struct PerFormat {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csr: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bcsr: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wcsr: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_ell: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bmat: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub two_four: Option<f64>,
}

impl PerFormat {
    /// The number for `kind`, if there is one.
    #[must_use]
    pub const fn get(&self, kind: FormatKind) -> Option<f64> {
        match kind {
            FormatKind::Csr => self.csr,
            FormatKind::Bcsr => self.bcsr,
            // A hybrid's packed windows are WCSR's; by its rows, CSR's number counts.
            FormatKind::Wcsr | FormatKind::Hybrid => self.wcsr,
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
        Self::of([x; 6])
    }

    /// Numbers for all that have one of their own, in the order of [`FormatKind::ALL`].
    pub(crate) const fn of([csr, bcsr, wcsr, blocked_ell, bmat, two_four]: [f64; 6]) -> Self {
        Self {
            csr: Some(csr),
            bcsr: Some(bcsr),
            wcsr: Some(wcsr),
            blocked_ell: Some(blocked_ell),
            bmat: Some(bmat),
            two_four: Some(two_four),
        }
    }

    /// Every number times `factor`.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let times = |x: Option<f64>| x.map(|x| x * factor);
        Self {
            csr: times(self.csr),
            bcsr: times(self.bcsr),
            wcsr: times(self.wcsr),
            blocked_ell: times(self.blocked_ell),
            bmat: times(self.bmat),
            two_four: times(self.two_four),
        }
    }
}
