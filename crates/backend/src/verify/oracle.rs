//! Sums that are better than what they judge.

use std::ops::Range;

use girih_formats::{DType, Real};
use ndarray::{Axis, Slice};

use super::problem::Problem;
use crate::dense::DenseScalar;

/// Columns summed at once: the sums live on the stack.
pub(super) const PANEL: usize = 64;

/// A row of `A·B` and of `|A|·|B|` over a panel of columns.
///
/// Narrow inputs are summed in f64, where their products are exact. For f64 inputs `low` collects
/// what each product and addition lost (Ogita, Rump & Oishi 2005, algorithm Dot2), as if in twice
/// the precision.
pub(super) struct Sums {
    high: [f64; PANEL],
    low: [f64; PANEL],
    magnitude: [f64; PANEL],
    aligned: [f64; PANEL],
}

/// One element of the sums.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    /// The sum in plain f64: right in class even where it is not finite.
    pub(super) high: f64,
    /// What `high` lost.
    pub(super) low: f64,
    /// The sum of the terms' magnitudes.
    pub(super) magnitude: f64,
    /// The same sum, in which small operands count as the [least one](super::Rounding::least_operand): M.
    pub(super) aligned: f64,
}

impl Sums {
    pub(super) fn of<T: DenseScalar + Real>(
        problem: &Problem<'_, T>,
        row: usize,
        panel: Range<usize>,
    ) -> Self {
        let mut sums = Self::none();
        if problem.alpha == 0.0 {
            return sums;
        }
        let b = problem.b.slice_axis(Axis(1), Slice::from(panel));
        let (cols, values) = problem.a.row(row);
        let mut x = [0.0; PANEL];
        for (&col, a) in cols.iter().zip(values) {
            let b_row = b.row(col as usize);
            let x = &mut x[..b_row.len()];
            x.iter_mut().zip(b_row).for_each(|(x, b)| *x = b.to_f64());
            if T::DTYPE == DType::F64 {
                sums.add_compensated(a.to_f64(), x);
            } else {
                sums.add(a.to_f64(), x);
            }
            if problem.least_operand > 0.0 {
                sums.add_aligned(a.to_f64(), x, problem.least_operand);
            }
        }
        sums
    }

    /// No terms yet.
    pub(super) fn none() -> Self {
        let zeros = [0.0; PANEL];
        Self { high: zeros, low: zeros, magnitude: zeros, aligned: zeros }
    }

    pub(super) fn add(&mut self, a: f64, x: &[f64]) {
        for ((high, magnitude), x) in self.high.iter_mut().zip(&mut self.magnitude).zip(x) {
            *high += a * x;
            *magnitude += (a * x).abs();
        }
    }

    /// Adds magnitudes in which an operand below `least` counts as `least`, unless it is 0.
    fn add_aligned(&mut self, a: f64, x: &[f64], least: f64) {
        let aligned = |x: f64| if x == 0.0 { 0.0 } else { x.abs().max(least) };
        for (sum, x) in self.aligned.iter_mut().zip(x) {
            *sum += aligned(a) * aligned(*x);
        }
    }

    pub(super) fn add_compensated(&mut self, a: f64, x: &[f64]) {
        let sums = self.high.iter_mut().zip(&mut self.low).zip(&mut self.magnitude);
        for (((high, low), magnitude), &x) in sums.zip(x) {
            let (product, lost) = two_prod(a, x);
            let (sum, lost_again) = two_sum(*high, product);
            *high = sum;
            *low += lost + lost_again;
            *magnitude += product.abs();
        }
    }

    pub(super) fn at(&self, i: usize) -> Sum {
        let Self { high, low, magnitude, aligned } = self;
        let (magnitude, aligned) = (magnitude[i], aligned[i].max(magnitude[i]));
        Sum { high: high[i], low: low[i], magnitude, aligned }
    }
}

/// `a·b` and what rounding took from it: exact but for underflow.
pub(super) fn two_prod(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// `a + b` and what rounding took from it: exact (Knuth 1997, §4.2.2).
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}
