//! How a backend rounds.

use girih_formats::DType;

/// The rounding units a product is judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// `u`: the relative error with which an input is taken. 0 where inputs enter the sums as they
    /// are; 2⁻¹¹ where f32 is rounded to TF32, 2⁻¹⁰ where it is truncated.
    pub input_unit: f64,
    /// `ε`: the relative error of one multiplication or addition.
    pub unit: f64,
    /// `η`: a smaller operand counts as this large in the bound, unless it is zero. Tensor cores align a subnormal
    /// number as the least normal one of its type. 0 where each operand counts as it is.
    pub least_operand: f64,
    /// Of a plan whose values are in e4m3: whether B is narrowed to it too, and how tensor cores sum then.
    pub e4m3: Option<E4m3Sums>,
}

/// Sums of products of e4m3 on tensor cores: B is narrowed by a
/// [scale for each column](girih_formats::E4m3Scales::of_column).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct E4m3Sums {
    /// `κ`: how far a sum may be from exact before it is added to others in the accumulation type. It is relative to
    /// the sum of its terms' magnitudes.
    pub partial: f64,
}

impl Rounding {
    /// Inputs as they are, sums in the accumulation type of `dtype`, or its parts', rounded to nearest: 2⁻²⁴ for
    /// f32 and 2⁻⁵³ for f64.
    #[must_use]
    pub fn exact_inputs(dtype: DType) -> Self {
        let unit = match dtype.accumulator().part() {
            DType::F64 => f64::EPSILON / 2.0,
            _ => f64::from(f32::EPSILON) / 2.0,
        };
        Self { input_unit: 0.0, unit, least_operand: 0.0, e4m3: None }
    }

    /// Sums of products of `dtype` on tensor cores, which align subnormal operands as the least normal number: 2⁻¹⁴ for
    /// f16, and 2⁻¹²⁶ for bf16 and TF32 (Xie et al., MMA-Sim, arXiv 2511.10909).
    #[must_use]
    pub fn tensor_cores(dtype: DType, input_unit: f64, unit: f64) -> Self {
        let least_operand = match dtype {
            DType::F16 => 2f64.powi(-14),
            _ => f64::from(f32::MIN_POSITIVE),
        };
        Self { input_unit, unit, least_operand, e4m3: None }
    }

    /// `γ = t·ε/(1 − t·ε)`: the bound on the relative error of `t` roundings in a row; infinite where
    /// there is none.
    #[must_use]
    pub fn gamma(&self, t: u64) -> f64 {
        let te = t as f64 * self.unit;
        if te < 1.0 { te / (1.0 - te) } else { f64::INFINITY }
    }
}
