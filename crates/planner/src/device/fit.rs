//! Coefficients that calibration found.

use girih_formats::{DType, FormatSpec};
use serde::{Deserialize, Serialize};

use crate::precision::Precision;

/// Far more fits than there are candidates and value types.
pub(super) const MAX_FITS: usize = 256;

/// Quantities that the time of a product is linear in, or the seconds of one of each: Voltrix's eq. 1
/// with the tiles' cost taken apart. See [`crate::calibrate`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Terms {
    /// The product itself: cf₃.
    pub product: f64,
    /// Rows of C, and windows of several.
    pub windows: f64,
    /// Elements of C: cf₂.
    pub c_elements: f64,
    /// Values multiplied, fill-in included, whatever n is.
    pub values: f64,
    /// Values times columns, those rounded up to whole lines: cf₁.
    pub multiply_adds: f64,
    /// Tiles of a format that has to find its way through each: BMat.
    pub tiles: f64,
    /// Bytes of B fetched, from wherever.
    pub b_fetched: f64,
    /// Bytes of A, B and C that a worker's own cache does not have.
    pub from_cache: f64,
    /// Bytes of A, B and C that no cache has.
    pub from_memory: f64,
}

impl Terms {
    /// Number of terms.
    pub const COUNT: usize = 9;

    /// Their names, in the order of [`to_array`](Self::to_array).
    pub const NAMES: [&'static str; Self::COUNT] = [
        "product",
        "windows",
        "c_elements",
        "values",
        "multiply_adds",
        "tiles",
        "b_fetched",
        "from_cache",
        "from_memory",
    ];

    /// The terms in order.
    #[must_use]
    pub const fn to_array(self) -> [f64; Self::COUNT] {
        [
            self.product,
            self.windows,
            self.c_elements,
            self.values,
            self.multiply_adds,
            self.tiles,
            self.b_fetched,
            self.from_cache,
            self.from_memory,
        ]
    }

    /// The terms from an array.
    #[must_use]
    pub const fn from_array(array: [f64; Self::COUNT]) -> Self {
        let [
            product,
            windows,
            c_elements,
            values,
            multiply_adds,
            tiles,
            b_fetched,
            from_cache,
            from_memory,
        ] = array;
        Self {
            product,
            windows,
            c_elements,
            values,
            multiply_adds,
            tiles,
            b_fetched,
            from_cache,
            from_memory,
        }
    }

    /// Term by term.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        let (a, b) = (self.to_array(), other.to_array());
        Self::from_array(std::array::from_fn(|i| a[i] * b[i]))
    }

    /// All terms together.
    #[must_use]
    pub fn sum(self) -> f64 {
        self.to_array().iter().sum()
    }
}

/// How well a fit predicts problems that it has not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// Problems, each of them predicted by coefficients that were found without it.
    pub held_out: u32,
    /// Coefficient of determination of these predictions.
    pub r2: f64,
    /// Mean of |predicted − measured| / measured over them.
    pub mean_relative_error: f64,
    /// The largest of them.
    pub max_relative_error: f64,
}

/// Seconds per unit of each term, for a format, a value type and a precision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// The format with its sizes: kernels for other sizes are other kernels.
    pub spec: FormatSpec,
    /// The value type.
    pub dtype: DType,
    /// The precision of the products in f32; `None` for TF32, and for kernels that are the same in every
    /// precision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Seconds per unit.
    pub seconds: Terms,
    /// How good it is.
    pub quality: Quality,
}

impl Fit {
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if !self.seconds.to_array().iter().all(|x| x.is_finite() && *x >= 0.0) {
            return Err("coefficients must be finite and not negative");
        }
        let Quality { r2, mean_relative_error, max_relative_error, .. } = self.quality;
        if ![r2, mean_relative_error, max_relative_error].iter().all(|x| x.is_finite()) {
            return Err("the quality of a fit must be finite");
        }
        Ok(())
    }
}
