//! What a product's elements go through before they are stored: `C = act(α·A·B + β·C + bias)`.

use std::ops::Range;

use girih_formats::RealNumber;
use ndarray::{Axis, Slice};

use crate::dense::DenseView;
use crate::error::BackendError;
use crate::shape::{ProductShape, check};

/// A function of every element of C.
///
/// NaN stays NaN in all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Activation {
    /// The element itself.
    #[default]
    None,
    /// `max(x, 0)`.
    Relu,
    /// The Gaussian error linear unit in its *tanh* form (Hendrycks and Gimpel, "Gaussian Error Linear
    /// Units", 2016, §2): `x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³)))`. It differs from the form with erf by up
    /// to 5e-4. An infinite `x` gives the limit: Inf or 0.
    ///
    /// Backends may be off by [16 rounding units](Self::units) of `x`, and take for 0 what is below the least
    /// normal number.
    Gelu,
}

/// `2·√(2/π)`, and what x³ is multiplied by.
const GELU: (f64, f64) = (1.595_769_121_605_730_8, 0.044_715);

impl Activation {
    /// Every activation.
    pub const ALL: [Self; 3] = [Self::None, Self::Relu, Self::Gelu];

    /// The activation of `x`, to some units in the last place of f64.
    #[must_use]
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Self::Relu if x < 0.0 => 0.0,
            Self::None | Self::Relu => x,
            // x·σ(2u), which does not cancel as 1 + tanh(u) does.
            Self::Gelu if x == f64::NEG_INFINITY => 0.0,
            Self::Gelu => x / (1.0 + (-twice_u(x)).exp()),
        }
    }

    /// The derivative at a finite `x`.
    pub(crate) fn slope(self, x: f64) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Relu => f64::from(u8::from(x > 0.0)),
            Self::Gelu => {
                let sigmoid = 1.0 / (1.0 + (-twice_u(x)).exp());
                let inner = x * GELU.0 * (1.0 + 3.0 * GELU.1 * x * x);
                // Far out σ·(1 − σ) vanishes before `inner` overflows; their product must not be NaN.
                let bend = sigmoid * (1.0 - sigmoid);
                sigmoid + if bend == 0.0 { 0.0 } else { bend * inner }
            }
        }
    }

    /// A bound on the slope: how much an error of `x` may grow.
    #[must_use]
    pub const fn lipschitz(self) -> f64 {
        match self {
            Self::None | Self::Relu => 1.0,
            // The maximum is 1.1290, at x = 1.4.
            Self::Gelu => 1.13,
        }
    }

    /// How many rounding units of `x` a backend's own computation of the activation may be off.
    #[must_use]
    pub const fn units(self) -> f64 {
        match self {
            Self::None | Self::Relu => 0.0,
            Self::Gelu => 16.0,
        }
    }
}

/// Twice the argument of tanh.
fn twice_u(x: f64) -> f64 {
    GELU.0 * x * (1.0 + GELU.1 * x * x)
}

/// What is added to C's elements, in the product's accumulation type.
#[derive(Clone, Debug)]
pub enum Bias<'a> {
    /// One for each row of C: m×1.
    PerRow(DenseView<'a>),
    /// One for each column of C: n×1.
    PerColumn(DenseView<'a>),
}

impl<'a> Bias<'a> {
    fn values(&self) -> &DenseView<'a> {
        let (Self::PerRow(values) | Self::PerColumn(values)) = self;
        values
    }
}

/// What is done to the elements of `α·A·B + β·C` in the kernels' store: a bias is added, an activation
/// applied.
///
/// ```
/// use girih_backend::{Activation, Epilogue};
///
/// let bias = [0.5f32, -0.5];
/// let epilogue = Epilogue::new().bias_per_column(&bias[..]).activation(Activation::Relu);
/// assert_eq!(epilogue.apply(7, 1, 2.0), 1.5);
/// assert_eq!(epilogue.apply(7, 1, -2.0), 0.0);
/// assert!(Epilogue::new().is_none());
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Epilogue<'a> {
    /// What is added first.
    pub bias: Option<Bias<'a>>,
    /// What is applied last.
    pub activation: Activation,
}

impl<'a> Epilogue<'a> {
    /// Nothing: C is stored as it is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one value to each row of C.
    #[must_use]
    pub fn bias_per_row(self, values: impl Into<DenseView<'a>>) -> Self {
        Self { bias: Some(Bias::PerRow(values.into())), ..self }
    }

    /// Adds one value to each column of C.
    #[must_use]
    pub fn bias_per_column(self, values: impl Into<DenseView<'a>>) -> Self {
        Self { bias: Some(Bias::PerColumn(values.into())), ..self }
    }

    /// Applies an activation.
    #[must_use]
    pub fn activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// Whether C is stored as it is.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.bias.is_none() && self.activation == Activation::None
    }

    /// What is added to the element at row `row`, column `col` of C; −0 without a bias, which changes
    /// nothing.
    ///
    /// # Panics
    /// If the bias has no such element.
    #[must_use]
    pub fn bias_at(&self, row: usize, col: usize) -> f64 {
        match &self.bias {
            None => -0.0,
            Some(Bias::PerRow(values)) => value(values, row),
            Some(Bias::PerColumn(values)) => value(values, col),
        }
    }

    /// What becomes of the element `x` at row `row`, column `col`, in f64.
    ///
    /// # Panics
    /// If the bias has no such element.
    #[must_use]
    pub fn apply(&self, row: usize, col: usize, x: f64) -> f64 {
        self.activation.apply(x + self.bias_at(row, col))
    }

    /// The same epilogue, for a shorter time.
    #[must_use]
    pub fn reborrow(&self) -> Epilogue<'_> {
        let bias = self.bias.as_ref().map(|bias| match bias {
            Bias::PerRow(values) => Bias::PerRow(values.reborrow()),
            Bias::PerColumn(values) => Bias::PerColumn(values.reborrow()),
        });
        Epilogue { bias, activation: self.activation }
    }

    /// The epilogue of some of C's columns.
    ///
    /// # Panics
    /// If the bias does not have as many.
    #[must_use]
    pub fn columns(&self, cols: Range<usize>) -> Epilogue<'_> {
        match &self.bias {
            Some(Bias::PerColumn(values)) => {
                let bias = Some(Bias::PerColumn(part(values, cols)));
                Epilogue { bias, activation: self.activation }
            }
            _ => self.reborrow(),
        }
    }

    /// Checks the bias of products with `n` columns. Every backend calls this before it writes anything.
    ///
    /// # Errors
    /// [`BackendError::Shape`] or [`BackendError::DType`] naming the bias.
    pub fn check(&self, shape: &ProductShape, n: usize) -> Result<(), BackendError> {
        let Some(bias) = &self.bias else { return Ok(()) };
        let rows = match bias {
            Bias::PerRow(_) => shape.m,
            Bias::PerColumn(_) => n,
        };
        let values = bias.values();
        check("bias", values.dim(), (rows, 1), values.dtype(), shape.dtype.accumulator())
    }
}

/// An activation alone.
impl From<Activation> for Epilogue<'_> {
    fn from(activation: Activation) -> Self {
        Self::new().activation(activation)
    }
}

fn value(values: &DenseView<'_>, i: usize) -> f64 {
    match values {
        DenseView::F16(v) => v[[i, 0]].to_f64(),
        DenseView::Bf16(v) => v[[i, 0]].to_f64(),
        DenseView::F32(v) => RealNumber::to_f64(v[[i, 0]]),
        DenseView::F64(v) => v[[i, 0]],
        // Complex sums have no epilogue but none: every backend refuses others.
        DenseView::C32(v) => v[[i, 0]].re.into(),
        DenseView::C64(v) => v[[i, 0]].re,
    }
}

fn part<'b>(values: &'b DenseView<'_>, rows: Range<usize>) -> DenseView<'b> {
    let slice = Slice::from(rows);
    match values {
        DenseView::F16(v) => v.slice_axis(Axis(0), slice).into(),
        DenseView::Bf16(v) => v.slice_axis(Axis(0), slice).into(),
        DenseView::F32(v) => v.slice_axis(Axis(0), slice).into(),
        DenseView::F64(v) => v.slice_axis(Axis(0), slice).into(),
        DenseView::C32(v) => v.slice_axis(Axis(0), slice).into(),
        DenseView::C64(v) => v.slice_axis(Axis(0), slice).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x/2·(1 + tanh(u))` as it is written, where that does not cancel.
    fn gelu_as_written(x: f64) -> f64 {
        let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
        0.5 * x * (1.0 + u.tanh())
    }

    #[test]
    fn gelu_is_the_tanh_form_and_has_its_limits() {
        for i in -600..=600 {
            let x = f64::from(i) / 100.0;
            let (found, expected) = (Activation::Gelu.apply(x), gelu_as_written(x));
            assert!((found - expected).abs() <= 1e-15 * x.abs(), "{x}: {found}, {expected}");
        }
        // scipy: x·norm.cdf(x) at 1 is 0.8413447, the tanh form 0.8411920.
        assert!((Activation::Gelu.apply(1.0) - 0.841_192).abs() < 1e-6);
        assert_eq!(Activation::Gelu.apply(f64::INFINITY), f64::INFINITY);
        assert_eq!(Activation::Gelu.apply(f64::NEG_INFINITY), 0.0);
        assert_eq!(Activation::Gelu.apply(-1e300), 0.0);
        assert!(Activation::ALL.iter().all(|act| act.apply(f64::NAN).is_nan()));
    }

    #[test]
    fn no_slope_exceeds_the_lipschitz_constant_and_slopes_are_differences() {
        for act in Activation::ALL {
            let mut steepest = 0f64;
            for i in -40_000..40_000 {
                let (x, h) = (f64::from(i) / 4000.0 + 1e-5, 1e-6);
                let difference = (act.apply(x + h) - act.apply(x - h)) / (2.0 * h);
                assert!((act.slope(x) - difference).abs() < 1e-8, "{act:?}, {x}");
                steepest = steepest.max(act.slope(x).abs());
            }
            assert!(steepest <= act.lipschitz() && act.lipschitz() < 1.002 * steepest, "{act:?}");
            assert!([1e200, -1e200].iter().all(|&x| act.slope(x).is_finite()));
        }
    }

    #[test]
    fn a_bias_is_one_value_for_each_row_or_column() {
        let shape = ProductShape { m: 2, k: 5, dtype: girih_formats::DType::F16 };
        let values = [1.0f32, 2.0, 3.0];
        let per_column = Epilogue::new().bias_per_column(&values[..]);
        assert!(per_column.check(&shape, 3).is_ok());
        assert_eq!(per_column.columns(1..3).apply(0, 1, 0.5), 3.5);
        assert_eq!(Epilogue::new().bias_per_row(&values[..]).apply(2, 0, 0.5), 3.5);
        let wrong = per_column.check(&shape, 2).unwrap_err();
        assert!(matches!(wrong, BackendError::Shape { operand: "bias", rows: 2, .. }), "{wrong}");
        let per_row = Epilogue::new().bias_per_row(&values[..]);
        assert!(matches!(per_row.check(&shape, 3), Err(BackendError::Shape { rows: 2, .. })));
        let wide = Epilogue::new().bias_per_row(&[1.0f64, 2.0][..]);
        assert!(matches!(wide.check(&shape, 3), Err(BackendError::DType { operand: "bias", .. })));
    }
}
