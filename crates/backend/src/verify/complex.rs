//! The verdict on products of complex values: on each part of an element apart.

use girih_formats::{Complex, ComplexScalar, Csr, DType, Scalar, for_any_tiling};
use girih_parallel::prelude::*;
use girih_planner::Plan;
use girih_reorder::Permutation;
use ndarray::{ArrayView2, Axis, Slice};

use super::Product;
use super::oracle::{PANEL, Sum, Sums, two_prod, two_sum};
use super::problem::ones;
use super::rounding::Rounding;
use super::verification::{Verification, Worst};
use crate::dense::{DenseScalar, DenseView};
use crate::epilogue::Epilogue;
use crate::error::{BackendError, Unsupported};
use crate::shape::{ProductShape, check};

/// What was computed with complex factors: `α·A·B`, or `α·A·B + β·C` of the C there was before.
#[derive(Clone, Debug)]
pub struct ComplexProduct<'a> {
    /// α.
    pub alpha: Complex<f64>,
    /// B, k×n, in the plan's value type, which is complex.
    pub b: DenseView<'a>,
    /// β and C as it was before, m×n; `None` for β = 0.
    pub added: Option<(Complex<f64>, DenseView<'a>)>,
}

/// [`verify`](super::verify) of complex values and factors.
///
/// # Errors
/// If a shape or a value type does not fit the plan.
pub fn verify_complex<T: DenseScalar + ComplexScalar>(
    a: &Csr<T>,
    plan: &Plan,
    product: &ComplexProduct<'_>,
    found: &DenseView<'_>,
    rounding: Rounding,
) -> Result<Verification, BackendError> {
    let shape = ProductShape::of(plan);
    check("A", (a.nrows(), a.ncols()), (shape.m, shape.k), T::DTYPE, shape.dtype)?;
    shape.check_b(&product.b)?;
    let dim = (shape.m, product.b.dim().1);
    if let Some((_, before)) = &product.added {
        check("C before", before.dim(), dim, before.dtype(), shape.dtype)?;
    }
    check("C", found.dim(), dim, found.dtype(), shape.dtype)?;
    let added = product.added.as_ref().map(|(beta, c)| (*beta, T::view(c.reborrow())));
    let (Some(b), Some(found)) = (T::view(product.b.reborrow()), T::view(found.reborrow())) else {
        unreachable!("the types were checked")
    };
    let before = added.and_then(|(beta, c)| Some((beta, c?))).filter(|(beta, _)| !beta.is_zero());
    let ones = ones(a, plan);
    let judge = ComplexJudge {
        a: ones.as_ref().unwrap_or(a),
        alpha: product.alpha,
        b,
        scaling_roundings: factor_roundings(product.alpha)
            + before.as_ref().map_or(0, |(beta, _)| factor_roundings(*beta) + 1),
        before,
        plan,
        slot_of: plan.tiling().layout().slot_of_rows(),
        row_of_b: plan.b_permutation().map(Permutation::order),
        rounding,
        range: match T::DTYPE.part() {
            DType::F64 => (f64::from_bits(1), f64::MAX),
            _ => (f32::from_bits(1).into(), f32::MAX.into()),
        },
    };
    let rows = (0..dim.0).into_par_iter().map(|row| judge.row(row, &found));
    Ok(rows.reduce(Verification::default, Verification::merge))
}

/// [`verify_with`](super::verify_with) of complex values.
pub(super) fn verify_scaled<T: DenseScalar + ComplexScalar>(
    a: &Csr<T>,
    plan: &Plan,
    product: &Product<'_>,
    epilogue: &Epilogue<'_>,
    found: &DenseView<'_>,
    rounding: Rounding,
) -> Result<Verification, BackendError> {
    if !epilogue.is_none() {
        let reason = "products of complex values have none".to_owned();
        return Err(Unsupported::Epilogue { reason }.by("verify"));
    }
    let added = product.added.as_ref().map(|(beta, c)| ((*beta).into(), c.reborrow()));
    let product = ComplexProduct { alpha: product.alpha.into(), b: product.b.reborrow(), added };
    verify_complex(a, plan, &product, found, rounding)
}

/// Roundings that multiplying by a factor costs: of the factor, of products and, if it has both parts, of their
/// sum. ±1 costs nothing. A real factor may be rounded and multiplied.
fn factor_roundings(x: Complex<f64>) -> u64 {
    match x {
        Complex { re, im: 0.0 } if re.abs() == 1.0 || re == 0.0 => 0,
        Complex { im: 0.0, .. } => 2,
        _ => 3,
    }
}

/// What every element of one product is judged by.
struct ComplexJudge<'p, T: DenseScalar> {
    a: &'p Csr<T>,
    alpha: Complex<f64>,
    b: ArrayView2<'p, T>,
    /// β, never 0, and C before.
    before: Option<(Complex<f64>, ArrayView2<'p, T>)>,
    plan: &'p Plan,
    /// The slot of every row; `None` where rows stand in their natural order.
    slot_of: Option<Vec<usize>>,
    /// The row of B that stands at each column of the tiles; `None` where they are the same.
    row_of_b: Option<Vec<u32>>,
    rounding: Rounding,
    /// Roundings that α and β cost besides those of the row's sum.
    scaling_roundings: u64,
    /// The parts' least subnormal and largest number.
    range: (f64, f64),
}

/// A real factor and what it multiplies.
type Term = (f64, Sum);

impl<T: DenseScalar + ComplexScalar> ComplexJudge<'_, T> {
    fn row(&self, row: usize, found: &ArrayView2<'_, T>) -> Verification {
        let n = found.ncols();
        let mut verdict = Verification::default();
        for start in (0..n).step_by(PANEL) {
            let panel = Slice::from(start..n.min(start + PANEL));
            let b = self.b.slice_axis(Axis(1), panel);
            let (mut re, mut im) = (Sums::none(), Sums::none());
            let (cols, values) = self.a.row(row);
            let entries = cols.iter().zip(values).filter(|_| !self.alpha.is_zero());
            for (&col, a) in entries {
                let a = a.to_c64();
                let b = b.row(col as usize);
                let (mut x, mut y) = ([0.0; PANEL], [0.0; PANEL]);
                for ((x, y), b) in x.iter_mut().zip(&mut y).zip(b) {
                    (*x, *y) = (b.to_c64().re, b.to_c64().im);
                }
                let (x, y) = (&x[..b.len()], &y[..b.len()]);
                let add = |sums: &mut Sums, a: f64, x: &[f64]| match T::DTYPE.part() {
                    DType::F64 => sums.add_compensated(a, x),
                    _ => sums.add(a, x),
                };
                add(&mut re, a.re, x);
                add(&mut re, -a.im, y);
                add(&mut im, a.re, y);
                add(&mut im, a.im, x);
            }
            for (i, col) in (start..n.min(start + PANEL)).enumerate() {
                let element = self.element(row, col, [re.at(i), im.at(i)], found[[row, col]]);
                verdict = verdict.merge(element);
            }
        }
        verdict
    }

    /// Both parts; the element counts as one.
    fn element(&self, row: usize, col: usize, [re, im]: [Sum; 2], found: T) -> Verification {
        let found = found.to_c64();
        let alpha = self.alpha;
        let (beta, c) = self
            .before
            .as_ref()
            .map_or((Complex::ZERO, Complex::ZERO), |(beta, c)| (*beta, c[[row, col]].to_c64()));
        let exact = |x: f64| Sum { high: x, low: 0.0, magnitude: x.abs(), aligned: x.abs() };
        let of_re =
            [(alpha.re, re), (-alpha.im, im), (beta.re, exact(c.re)), (-beta.im, exact(c.im))];
        let of_im =
            [(alpha.re, im), (alpha.im, re), (beta.re, exact(c.im)), (beta.im, exact(c.re))];
        let [re, im] = [(found.re, of_re, false), (found.im, of_im, true)]
            .map(|(found, terms, is_imaginary)| self.part(row, col, is_imaginary, &terms, found));
        let non_finite = re.non_finite.max(im.non_finite);
        let non_finite_expected = re.non_finite_expected.max(im.non_finite_expected);
        let unjudged = re.unjudged.max(im.unjudged);
        Verification { elements: 1, unjudged, non_finite, non_finite_expected, ..re.merge(im) }
    }

    /// One part, which is the sum of `terms`; those with a factor of 0 do not count.
    fn part(
        &self,
        row: usize,
        col: usize,
        is_imaginary: bool,
        terms: &[Term; 4],
        found: f64,
    ) -> Verification {
        let non_finite = u64::from(!found.is_finite());
        let one = Verification { elements: 1, non_finite, ..Verification::default() };
        let wrong = |expected, bound, ratio| Verification {
            max_error_over_bound: ratio,
            worst: Some(Worst { row, col, is_imaginary, found, expected, bound }),
            ..one
        };
        let terms = || terms.iter().filter(|(factor, _)| *factor != 0.0);
        let magnitude: f64 = terms().map(|(factor, sum)| factor.abs() * sum.magnitude).sum();
        if !magnitude.is_finite() {
            let Some(class) = self.class(row, col, is_imaginary) else {
                return Verification { unjudged: 1, ..one };
            };
            let right = found == class
                || found.is_nan() && (class.is_nan() || self.fill_in_leaks(row, col));
            let verdict = if right { one } else { wrong(class, 0.0, f64::INFINITY) };
            return Verification { non_finite_expected: non_finite, ..verdict };
        }
        // Half the range is left for the roundings on the way.
        let largest = terms().map(|(_, sum)| sum.magnitude).fold(magnitude, f64::max);
        if largest > self.range.1 / 2.0 {
            return Verification { unjudged: 1, ..one };
        }
        let (expected, low) = terms().fold((0.0, 0.0), |(total, low), (factor, sum)| {
            let (product, lost) = two_prod(*factor, sum.high);
            let (total, lost_by_sum) = two_sum(total, product);
            (total, low + lost + lost_by_sum + factor * sum.low)
        });
        if !found.is_finite() {
            let right = found.is_nan() && self.fill_in_leaks(row, col);
            return if right { one } else { wrong(expected, 0.0, f64::INFINITY) };
        }
        // Exact: the two are close, or the error is large anyway.
        let error = ((found - expected) - low).abs();
        if error == 0.0 {
            return one;
        }
        let of_product: f64 = match self.alpha.is_zero() {
            true => 0.0,
            false => terms().take(2).map(|(factor, sum)| factor.abs() * sum.magnitude).sum(),
        };
        let bound = self.bound(row, of_product, magnitude);
        wrong(expected + low, bound, error / bound)
    }

    /// How far from the exact value a part may lie.
    fn bound(&self, row: usize, of_product: f64, magnitude: f64) -> f64 {
        if magnitude == 0.0 {
            return 0.0;
        }
        let u = self.rounding.input_unit;
        let roundings = 2 * self.a.row_range(row).len() as u64 + self.scaling_roundings;
        let gamma = self.rounding.gamma(roundings);
        // The magnitudes were summed in f64 and may be too small by as many of its roundings.
        let oracle = 1.0 + Rounding::exact_inputs(DType::F64).gamma(roundings + 8);
        let inputs = (2.0 * u + u * u) * of_product;
        let sums = gamma * (1.0 + u) * (1.0 + u) * magnitude;
        let alpha = self.alpha.re.abs() + self.alpha.im.abs();
        let underflow = roundings as f64 * alpha.max(1.0) * self.range.0;
        (inputs + sums) * oracle + underflow
    }

    /// NaN, +Inf or −Inf as non-finite inputs make a part; `None` if it is not they alone that decide.
    fn class(&self, row: usize, col: usize, is_imaginary: bool) -> Option<f64> {
        let (mut class, mut finite_magnitude) = (0.0, 0.0);
        let mut add = |factor: f64, terms: &[(f64, f64)]| {
            for (a, b) in terms.iter().filter(|_| factor != 0.0) {
                if a.is_finite() && b.is_finite() {
                    finite_magnitude += (factor * (a * b)).abs().max((a * b).abs());
                } else {
                    class += factor * (a * b);
                }
            }
        };
        let mut scaled = |factor: Complex<f64>, a: Complex<f64>, b: Complex<f64>| {
            let (re, im) = ([(a.re, b.re), (-a.im, b.im)], [(a.re, b.im), (a.im, b.re)]);
            match is_imaginary {
                false => (add(factor.re, &re), add(-factor.im, &im)),
                true => (add(factor.re, &im), add(factor.im, &re)),
            }
        };
        let (cols, values) = self.a.row(row);
        for (&j, a) in cols.iter().zip(values) {
            scaled(self.alpha, a.to_c64(), self.b[[j as usize, col]].to_c64());
        }
        if let Some((beta, c)) = &self.before {
            // C is not multiplied by an entry: 1 has no imaginary part that could meet an infinite one.
            let c = c[[row, col]].to_c64();
            match is_imaginary {
                false => (add(beta.re, &[(1.0, c.re)]), add(-beta.im, &[(1.0, c.im)])),
                true => (add(beta.re, &[(1.0, c.im)]), add(beta.im, &[(1.0, c.re)])),
            };
        }
        let factors_are_finite =
            self.alpha.is_finite() && self.before.as_ref().is_none_or(|(beta, _)| beta.is_finite());
        let in_range = factors_are_finite && finite_magnitude <= self.range.1 / 2.0;
        (in_range && !class.is_finite()).then_some(class)
    }

    /// Whether a zero that the row's tiles store multiplies a non-finite value of B's column.
    fn fill_in_leaks(&self, row: usize, col: usize) -> bool {
        if self.alpha.is_zero() {
            return false;
        }
        let slot = self.slot_of.as_ref().map_or(row, |slot_of| slot_of[row]);
        let mut leaks = false;
        for_any_tiling!(self.plan.tiling(), tiling => tiling.visit_stored(slot, |j, a| {
            let j = self.row_of_b.as_ref().map_or(j, |rows| rows[j] as usize);
            leaks |= a.is_zero() && !self.b[[j, col]].is_finite();
        }));
        leaks
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::{FormatSpec, RowLayout, Tiling};
    use ndarray::{Array2, array};

    use super::*;

    type C = Complex<f32>;

    fn judged(alpha: Complex<f64>, found: &Array2<C>) -> Verification {
        let c = C::new;
        let a = Csr::from_triplets(1, 2, [(0, 0, c(1.0, 2.0)), (0, 1, c(0.5, -1.0))]).unwrap();
        let layout = RowLayout::natural(1, 1).unwrap();
        let plan = Plan::from_tiling(Tiling::from_csr(&a, FormatSpec::Csr, layout).unwrap());
        let b = array![[c(1.0, 1.0)], [c(0.0, 4.0)]];
        let before = array![[c(0.0, 1.0)]];
        let added = Some((Complex::new(0.0, 2.0), before.view().into()));
        let product = ComplexProduct { alpha, b: b.view().into(), added };
        let rounding = Rounding::exact_inputs(DType::C32);
        verify_complex(&a, &plan, &product, &found.view().into(), rounding).unwrap()
    }

    /// (1 + 2i)(1 + i) + (0.5 − i)·4i = 3 + 5i; 2i·i = −2.
    #[test]
    fn a_product_worked_out_by_hand_is_right_and_its_neighbours_are_not() {
        let c = C::new;
        let one = Complex::new(1.0, 0.0);
        assert!(judged(one, &array![[c(1.0, 5.0)]]).passed());
        // Times i: −5 + 3i.
        assert!(judged(Complex::i(), &array![[c(-7.0, 3.0)]]).passed());
        for wrong in [c(1.0, -5.0), c(1.0, 0.0), c(1.0001, 5.0), c(1.0, 5.0001), c(5.0, 1.0)] {
            let verdict = judged(one, &array![[wrong]]);
            assert!(!verdict.passed() && verdict.elements == 1, "{wrong}");
        }
        let worst = judged(one, &array![[c(1.0, 5.0001)]]).worst.unwrap();
        assert!(worst.is_imaginary && worst.expected == 5.0);
    }

    #[test]
    fn what_is_not_finite_has_the_class_of_its_parts() {
        let c = C::new;
        let a = Csr::from_triplets(1, 1, [(0, 0, c(1.0, 0.0))]).unwrap();
        let layout = RowLayout::natural(1, 1).unwrap();
        let plan = Plan::from_tiling(Tiling::from_csr(&a, FormatSpec::Csr, layout).unwrap());
        let b = array![[c(f32::INFINITY, 2.0)]];
        let product = ComplexProduct { alpha: 1.0.into(), b: b.view().into(), added: None };
        let verdict = |found: C| {
            let (found, rounding) = (array![[found]], Rounding::exact_inputs(DType::C32));
            verify_complex(&a, &plan, &product, &found.view().into(), rounding).unwrap()
        };
        // The imaginary part has the term 0 · ∞.
        assert!(verdict(c(f32::INFINITY, f32::NAN)).passed());
        assert!(!verdict(c(f32::INFINITY, 2.0)).passed());
        assert!(!verdict(c(f32::NEG_INFINITY, f32::NAN)).passed());
    }
}
