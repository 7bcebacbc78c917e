//! The verdict on one element.

use girih_formats::{AnyTiling, DType, Real, RealNumber, Scalar, for_any_tiling};
use girih_planner::Plan;
use girih_reorder::Permutation;
use half::{bf16, f16};

use super::oracle::{Sum, two_prod, two_sum};
use super::problem::Problem;
use super::rounding::Rounding;
use super::verification::{Verification, Worst};
use crate::dense::DenseScalar;
use crate::epilogue::{Activation, Epilogue};

/// What every element of one product is judged by.
pub(super) struct Judge<'p, 'a, T: DenseScalar + Real> {
    problem: &'p Problem<'a, T>,
    tiling: &'p AnyTiling,
    /// The slot of every row; `None` where rows stand in their natural order.
    slot_of: Option<Vec<usize>>,
    /// The row of B that stands at each column of the tiles; `None` where they are the same.
    row_of_b: Option<Vec<u32>>,
    rounding: Rounding,
    /// Roundings that α and β cost besides those of the row's sum.
    scaling_roundings: u64,
    /// The accumulation type's least subnormal and largest number.
    range: (f64, f64),
    /// Its least normal number.
    least_normal: f64,
    /// How C is rounded once more, if it is.
    stored: Option<StoredIn16Bits>,
}

/// A 16-bit type, in which C is stored.
#[derive(Clone, Copy)]
struct StoredIn16Bits {
    /// The relative error of a rounding to it.
    unit: f64,
    /// Its least subnormal.
    least: f64,
    /// From here on numbers are rounded to Inf: half a unit beyond its largest.
    overflow: f64,
    /// Rounds to nearest even.
    round: fn(f64) -> f64,
}

impl StoredIn16Bits {
    /// `None` for a type of more bits.
    fn new(dtype: DType) -> Option<Self> {
        match dtype {
            DType::F16 => Some(Self {
                unit: 2f64.powi(-11),
                least: 2f64.powi(-24),
                overflow: 65520.0,
                round: |x| f16::from_f64(x).to_f64(),
            }),
            DType::Bf16 => Some(Self {
                unit: 2f64.powi(-8),
                least: 2f64.powi(-133),
                overflow: (1.0 - 2f64.powi(-9)) * 2f64.powi(128),
                round: |x| bf16::from_f64(x).to_f64(),
            }),
            _ => None,
        }
    }

    /// Whether `found` is right: what is stored lay within `bound` of `expected + low`; and else how far it may be off.
    fn judge(self, found: f64, expected: f64, low: f64, bound: f64) -> Result<(), f64> {
        let largest = expected.abs() + bound;
        let overflows = found.is_infinite()
            && found.is_sign_negative() == expected.is_sign_negative()
            && largest >= self.overflow;
        let is_exact = bound == 0.0 && low == 0.0;
        if overflows || is_exact && found == (self.round)(expected) {
            return Ok(());
        }
        if is_exact { Err(0.0) } else { Err(bound + self.unit * largest + self.least / 2.0) }
    }
}

/// The activation of `x + low`, and what rounding took from it.
fn activated(activation: Activation, x: f64, low: f64) -> (f64, f64) {
    match activation {
        Activation::None => (x, low),
        // Of a pair that is zero in its first half the second decides.
        Activation::Relu if x + low < 0.0 => (0.0, 0.0),
        Activation::Relu => (x, low),
        other => (other.apply(x), other.slope(x) * low),
    }
}

impl<'p, 'a, T: DenseScalar + Real> Judge<'p, 'a, T> {
    /// Of a C that is stored in the type `output`.
    pub(super) fn new(
        problem: &'p Problem<'a, T>,
        plan: &'p Plan,
        rounding: Rounding,
        output: DType,
    ) -> Self {
        let slot_of = plan.tiling().layout().slot_of_rows();
        // A scale factor is rounded to the accumulation type, then multiplied; ±1 does neither.
        let of_factor = |x: f64| match x {
            _ if x.abs() == 1.0 || x == 0.0 => 0,
            _ if T::Acc::from_f64(x).to_f64() == x => 1,
            _ => 2,
        };
        // β·C is scaled and added.
        let added = problem.before.as_ref().map_or(0, |(beta, _)| of_factor(*beta) + 1);
        let range = match T::DTYPE.accumulator() {
            DType::F64 => (f64::from_bits(1), f64::MAX),
            _ => (f64::from(f32::from_bits(1)), f64::from(f32::MAX)),
        };
        let least_normal = match T::DTYPE.accumulator() {
            DType::F64 => f64::MIN_POSITIVE,
            _ => f64::from(f32::MIN_POSITIVE),
        };
        Self {
            least_normal,
            stored: StoredIn16Bits::new(output),
            problem,
            tiling: plan.tiling(),
            slot_of,
            row_of_b: plan.b_permutation().map(Permutation::order),
            rounding,
            scaling_roundings: of_factor(problem.alpha) + added + problem.scales.roundings(),
            range,
        }
    }

    pub(super) fn element(&self, row: usize, col: usize, sum: Sum, found: f64) -> Verification {
        let non_finite = u64::from(!found.is_finite());
        let one = Verification { elements: 1, non_finite, ..Verification::default() };
        let wrong = |expected, bound, ratio| Verification {
            max_error_over_bound: ratio,
            worst: Some(Worst { row, col, is_imaginary: false, found, expected, bound }),
            ..one
        };
        let (beta, before) = self.before(row, col);
        let alpha = self.problem.alpha_at(row, col);
        let magnitude = alpha.abs() * sum.magnitude + (beta * before).abs();
        let (activation, bias) =
            (self.problem.epilogue.activation, self.problem.epilogue.bias_at(row, col));
        if !(magnitude + bias.abs()).is_finite() {
            let Some(class) = self.class(row, col, bias) else {
                return Verification { unjudged: 1, ..one };
            };
            let class = activation.apply(class);
            let right = found == class
                || found.is_nan() && (class.is_nan() || self.fill_in_leaks(row, col));
            let verdict = if right { one } else { wrong(class, 0.0, f64::INFINITY) };
            return Verification { non_finite_expected: non_finite, ..verdict };
        }
        // Half the range is left for the roundings on the way.
        if (magnitude + bias.abs()).max(sum.magnitude) > self.range.1 / 2.0 {
            return Verification { unjudged: 1, ..one };
        }
        let (product, lost) = self.scaled(alpha, sum, beta, before);
        let (biased, lost_by_bias) = two_sum(product, bias);
        let (expected, low) = activated(activation, biased, lost + lost_by_bias);
        if found.is_nan() {
            let right = self.fill_in_leaks(row, col);
            return if right { one } else { wrong(expected, 0.0, f64::INFINITY) };
        }
        // Exact: the two are close, or the error is large anyway.
        let error = ((found - expected) - low).abs();
        if error == 0.0 {
            return one;
        }
        let bound = self.bound(row, alpha, sum, magnitude);
        let bound = self.bound_with_epilogue(bound, biased);
        let bound = match self.stored.map(|stored| stored.judge(found, expected, low, bound)) {
            None => bound,
            Some(Ok(())) => return one,
            Some(Err(bound)) => bound,
        };
        let ratio = if found.is_finite() { error / bound } else { f64::INFINITY };
        wrong(expected + low, bound, ratio)
    }

    /// β and the element of C before; zeros if β is.
    fn before(&self, row: usize, col: usize) -> (f64, f64) {
        self.problem.before.as_ref().map_or((0.0, 0.0), |(beta, c)| (*beta, c.at(row, col)))
    }

    /// `α·sum + β·before`, and what rounding took from it.
    fn scaled(&self, alpha: f64, sum: Sum, beta: f64, before: f64) -> (f64, f64) {
        if alpha == 0.0 {
            return two_prod(beta, before);
        }
        let (product, lost) = two_prod(alpha, sum.high);
        let (added, lost_added) = two_prod(beta, before);
        let (total, lost_total) = two_sum(product, added);
        (total, alpha * sum.low + lost + lost_added + lost_total)
    }

    /// How far from the exact value an element may lie after bias and activation. Before the bias it was no
    /// farther than `bound` from its exact value; with the bias that value is `biased`.
    fn bound_with_epilogue(&self, bound: f64, biased: f64) -> f64 {
        let Epilogue { bias, activation, .. } = &self.problem.epilogue;
        let rounded = match bias {
            Some(_) if bound > 0.0 => bound + self.rounding.unit * (biased.abs() + bound),
            _ => bound,
        };
        let units = activation.units();
        let oracle = Rounding::exact_inputs(DType::F64).unit * units.min(8.0);
        let own = (units * self.rounding.unit + oracle) * (biased.abs() + rounded);
        activation.lipschitz() * rounded + own + units * self.least_normal
    }

    /// How far from the exact value an element may lie, before bias and activation.
    fn bound(&self, row: usize, alpha: f64, sum: Sum, magnitude: f64) -> f64 {
        if magnitude == 0.0 {
            return 0.0;
        }
        let (alpha, u) = (alpha.abs(), self.rounding.input_unit);
        let roundings = self.problem.a.row_range(row).len() as u64 + self.scaling_roundings;
        let gamma = self.rounding.gamma(roundings);
        // The magnitudes were summed in f64 and may be too small by as many of its roundings.
        let oracle = 1.0 + Rounding::exact_inputs(DType::F64).gamma(roundings + 4);
        let inputs = (2.0 * u + u * u) * alpha * sum.aligned;
        let magnitude = magnitude + alpha * (sum.aligned - sum.magnitude);
        let partial = self.problem.scales.sums.map_or(0.0, |sums| sums.partial);
        let partial = partial * (1.0 + gamma) * alpha * sum.aligned;
        let sums = gamma * (1.0 + u) * (1.0 + u) * magnitude;
        let underflow = roundings as f64 * alpha.max(1.0) * self.range.0;
        (inputs + sums + partial) * oracle + underflow
    }

    /// NaN, +Inf or −Inf as non-finite inputs and the bias make it; `None` if it is not they alone that
    /// decide.
    fn class(&self, row: usize, col: usize, bias: f64) -> Option<f64> {
        let (alpha, (beta, before)) = (self.problem.alpha_at(row, col), self.before(row, col));
        if !alpha.is_finite() || !beta.is_finite() {
            return None;
        }
        let (mut class, mut finite_magnitude) = (0.0, 0.0);
        if alpha != 0.0 {
            let (cols, values) = self.problem.a.row(row);
            for (&j, a) in cols.iter().zip(values) {
                let (a, b) = (a.to_f64(), self.problem.b[[j as usize, col]].to_f64());
                if a.is_finite() && b.is_finite() {
                    finite_magnitude += (a * b).abs();
                } else {
                    class += alpha * (a * b);
                }
            }
        }
        if before.is_finite() {
            finite_magnitude += (beta * before).abs();
        } else {
            class += beta * before;
        }
        if bias.is_finite() {
            finite_magnitude += bias.abs();
        } else {
            class += bias;
        }
        let in_range = finite_magnitude.max(alpha.abs() * finite_magnitude) <= self.range.1 / 2.0;
        (in_range && !class.is_finite()).then_some(class)
    }

    /// Whether a zero that the row's tiles store multiplies a non-finite value of B's column.
    fn fill_in_leaks(&self, row: usize, col: usize) -> bool {
        if self.problem.alpha == 0.0 {
            return false;
        }
        let slot = self.slot_of.as_ref().map_or(row, |slot_of| slot_of[row]);
        let b = &self.problem.b;
        let mut leaks = false;
        for_any_tiling!(self.tiling, tiling => tiling.visit_stored(slot, |j, a| {
            let j = self.row_of_b.as_ref().map_or(j, |rows| rows[j] as usize);
            leaks |= a.is_zero() && !b[[j, col]].to_f64().is_finite();
        }));
        leaks
    }
}
