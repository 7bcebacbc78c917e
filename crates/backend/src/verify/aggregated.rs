//! The verdict on an aggregation: a mean by a bound as a sum has one, a maximum to the bit.

use girih_formats::{Csr, DType, Real, RealNumber};
use girih_parallel::prelude::*;
use girih_planner::Plan;
use ndarray::ArrayView2;

use super::oracle::{PANEL, Sums};
use super::problem::{Problem, ones};
use super::rounding::Rounding;
use super::verification::{Verification, Worst};
use crate::aggregation::Aggregation;
use crate::dense::{DenseScalar, DenseView};
use crate::epilogue::Epilogue;
use crate::error::BackendError;
use crate::shape::{ProductShape, check};

/// Compares `found` with an [aggregation](crate::PreparedSpmm::aggregate) of `a`, as
/// [`verify`](super::verify()) does with a product.
///
/// A maximum or minimum is one product, rounded to the accumulation type, so it must be equal; NaN if any
/// product is. A mean over `t` entries may be off by `γ·(|A|·|B|)/t` with `γ` for `t + 2` roundings. A mean
/// whose terms may exceed the accumulation type's range is counted in [`Verification::unjudged`].
///
/// O(nnz·n) time, spread over rows on rayon.
///
/// # Errors
/// If a shape or a value type does not fit the plan.
pub fn verify_aggregation<T: DenseScalar + Real>(
    a: &Csr<T>,
    plan: &Plan,
    aggregation: Aggregation,
    b: &DenseView<'_>,
    found: &DenseView<'_>,
    rounding: Rounding,
) -> Result<Verification, BackendError> {
    let shape = ProductShape::of(plan);
    check("A", (a.nrows(), a.ncols()), (shape.m, shape.k), T::DTYPE, shape.dtype)?;
    shape.check_b(b)?;
    check("C", found.dim(), (shape.m, b.dim().1), found.dtype(), shape.dtype.accumulator())?;
    let views = (T::view(b.reborrow()), T::acc_view(found.reborrow()));
    let (Some(b), Some(found)) = views else { unreachable!("the types were checked") };
    let ones = ones(a, plan);
    let a = ones.as_ref().unwrap_or(a);
    let problem = Problem {
        a,
        alpha: 1.0,
        b,
        before: None,
        epilogue: Epilogue::new(),
        scales: super::Scales::default(),
        least_operand: rounding.least_operand,
    };
    let judge = |row| match aggregation {
        Aggregation::Mean => means(&problem, row, &found, rounding),
        Aggregation::Max | Aggregation::Min => extremes(&problem, aggregation, row, &found),
    };
    let rows = (0..shape.m).into_par_iter();
    Ok(rows.map(judge).reduce(Verification::default, Verification::merge))
}

/// One element against what is expected, which may be non-finite.
fn judged((row, col): (usize, usize), found: f64, expected: f64, bound: f64) -> Verification {
    let non_finite = u64::from(!found.is_finite());
    let one = Verification {
        elements: 1,
        non_finite,
        non_finite_expected: if expected.is_finite() { 0 } else { non_finite },
        ..Verification::default()
    };
    if found == expected || found.is_nan() && expected.is_nan() {
        return one;
    }
    let error = (found - expected).abs();
    let ratio = if error.is_finite() { error / bound } else { f64::INFINITY };
    let worst = Some(Worst { row, col, is_imaginary: false, found, expected, bound });
    Verification { max_error_over_bound: ratio, worst, ..one }
}

fn extremes<T: DenseScalar + Real>(
    problem: &Problem<'_, T>,
    aggregation: Aggregation,
    row: usize,
    found: &ArrayView2<'_, T::Acc>,
) -> Verification {
    let (cols, values) = problem.a.row(row);
    let mut verdict = Verification::default();
    for (j, found) in found.row(row).iter().enumerate() {
        // Products of narrow values are exact in f64, and rounding keeps their order.
        let products = cols.iter().zip(values);
        let products = products.map(|(&k, a)| a.to_f64() * problem.b[[k as usize, j]].to_f64());
        let total = products.fold(None, |before, x| Some(aggregation.add(before, x)));
        let expected = T::Acc::from_f64(aggregation.finish(total, cols.len())).to_f64();
        verdict = verdict.merge(judged((row, j), found.to_f64(), expected, 0.0));
    }
    verdict
}

fn means<T: DenseScalar + Real>(
    problem: &Problem<'_, T>,
    row: usize,
    found: &ArrayView2<'_, T::Acc>,
    rounding: Rounding,
) -> Verification {
    let (n, entries) = (found.ncols(), problem.a.row_range(row).len());
    let (least, most) = match T::DTYPE.accumulator() {
        DType::F64 => (f64::from_bits(1), f64::MAX),
        _ => (f64::from(f32::from_bits(1)), f64::from(f32::MAX)),
    };
    // One of each product, one of each addition but the first, two of the division by way of the reciprocal.
    let roundings = entries as u64 + 2;
    // The oracle's own, as in the bound of a sum.
    let oracle = 1.0 + Rounding::exact_inputs(DType::F64).gamma(roundings + 4);
    let mut verdict = Verification::default();
    for start in (0..n).step_by(PANEL) {
        let panel = start..n.min(start + PANEL);
        let sums = Sums::of(problem, row, panel.clone());
        for (i, col) in panel.enumerate() {
            let (sum, found) = (sums.at(i), found[[row, col]].to_f64());
            let count = entries.max(1) as f64;
            let is_huge = sum.magnitude > most / 2.0 && sum.magnitude.is_finite();
            verdict = verdict.merge(if is_huge {
                Verification { elements: 1, unjudged: 1, ..Verification::default() }
            } else if sum.magnitude.is_finite() {
                let bound = rounding.gamma(roundings) * sum.aligned / count * oracle;
                let bound = if entries == 0 { 0.0 } else { bound + roundings as f64 * least };
                judged((row, col), found, (sum.high + sum.low) / count, bound)
            } else {
                judged((row, col), found, sum.high, 0.0)
            });
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use girih_formats::{RowCsr, RowLayout, Tiling};
    use ndarray::{Array2, array};

    use super::*;
    use crate::backend::SpmmBackend;
    use crate::reference::ReferenceBackend;

    #[test]
    fn aggregations_worked_out_by_hand_pass_and_wrong_ones_do_not() {
        // [ 2 · -1 ]   [  3 NaN ]
        // [ · ·  · ] · [  1   1 ]
        // [ · 0  5 ]   [ -4   2 ]
        let entries = [(0, 0, 2.0f32), (0, 2, -1.0), (2, 1, 0.0), (2, 2, 5.0)];
        let a = Csr::from_triplets(3, 3, entries).unwrap();
        let b = array![[3.0f32, f32::NAN], [1.0, 1.0], [-4.0, 2.0]];
        let layout = RowLayout::natural(3, 1).unwrap();
        let plan = Plan::from_tiling(Tiling::Csr(RowCsr::from_csr(&a, layout).unwrap()));
        let prepared = ReferenceBackend.prepare(&plan).unwrap();
        for (aggregation, expected) in [
            (Aggregation::Max, array![[6.0f32, f32::NAN], [0.0, 0.0], [0.0, 10.0]]),
            (Aggregation::Min, array![[4.0, f32::NAN], [0.0, 0.0], [-20.0, 0.0]]),
            (Aggregation::Mean, array![[5.0, f32::NAN], [0.0, 0.0], [-10.0, 5.0]]),
        ] {
            let mut c = Array2::from_elem((3, 2), f32::NAN);
            prepared.aggregate(aggregation, (&b).into(), (&mut c).into()).unwrap();
            let same = |(x, y): (&f32, &f32)| x == y || x.is_nan() && y.is_nan();
            assert!(c.iter().zip(&expected).all(same), "{aggregation:?}: {c}");
            let verdict = |c: &Array2<f32>| {
                let rounding = Rounding::exact_inputs(DType::F32);
                let (b, c) = ((&b).into(), c.into());
                verify_aggregation(&a, &plan, aggregation, &b, &c, rounding).unwrap()
            };
            assert!(verdict(&c).passed() && verdict(&c).non_finite_expected == 1);
            for (place, by) in [([0, 0], 1e-4), ([1, 0], 1e-30), ([0, 1], f32::INFINITY)] {
                let mut wrong = c.clone();
                wrong[place] = if by.is_finite() { c[place] + by } else { by };
                let worst = verdict(&wrong).worst.map(|worst| [worst.row, worst.col]);
                assert_eq!(worst, Some(place), "{aggregation:?}");
            }
        }
    }
}
