//! Whether a product is right: an oracle and a rigorous bound on every element's error.
//!
//! A fixed tolerance is not a test: too loose for short rows, too tight for long ones. [`verify`]
//! computes `A·B` and `|A|·|B|` from the original CSR matrix, more exactly than any backend, and
//! compares every element `ĉ` found with
//!
//! ```text
//! |c − ĉ| ≤ (2u + u² + γ·(1+u)²)·|α|·M + γ·|β·C| + underflow,   γ = t·ε/(1 − t·ε),   M = |A|·|B|
//! ```
//!
//! where `u` is the rounding unit of the inputs and `ε` that of the sums (see [`Rounding`]), and `t`
//! the number of roundings a term can go through: the row's entries, and as many as α and β add.
//! The bound is the classical one (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd
//! ed., §3.1 and §3.5) and holds for any order of summation. `underflow` is `t` times the least
//! subnormal of the accumulation type. An element that no rounding can touch — an empty row with
//! β = 0, say — must be exact.
//!
//! Tensor cores align products by their operands' exponents before they add them up. A subnormal operand has the exponent
//! of the least normal number, so it counts in `M` as [that number](Rounding::least_operand): the error of a subnormal
//! f16 times 1 is relative to 2⁻¹⁴. Zeros count as zeros.
//!
//! # Complex values
//! The real and the imaginary part of an element are judged apart, each as the real inner product that it is:
//!
//! ```text
//! Re(A·B) = Σ Re(a)·Re(b) − Im(a)·Im(b)      Im(A·B) = Σ Re(a)·Im(b) + Im(a)·Re(b)
//! ```
//!
//! Each has twice as many terms as the row has entries, and `|A|·|B|` becomes the sum of these terms' magnitudes.
//! With `M` and `N` for the two sums of magnitudes, `α·A·B` has in its real part the terms of `Re(α)·Re(A·B)` and of
//! `Im(α)·Im(A·B)`, so `|Re(α)|·M + |Im(α)|·N` of magnitude; in its imaginary part with `M` and `N` exchanged. `β·C`
//! has two terms likewise. A factor that is complex costs three roundings: of itself, of its products and of their
//! sum. The bound above then holds for each part.
//!
//! # Values in e4m3
//! Of a plan [in e4m3](girih_formats::TwoFour::from_csr_e4m3) the product that counts is that of what is multiplied:
//! of the codes of A, and, if the backend [narrows](Rounding::e4m3) B too, of B's, each times the scale of its row or
//! column. A and B are narrowed anew for that. How far narrowed values are from what they were before is another
//! question, which [`E4m3Scales::narrowing`](girih_formats::E4m3Scales::narrowing) answers.
//!
//! Tensor cores sum e4m3 with fewer bits than the accumulation type has: the bound grows by `κ·(1 + γ)·|α|·M`. The
//! scales cost two roundings each.
//!
//! # Epilogues
//! With an [`Epilogue`], `s = α·A·B + β·C + bias` and `c = act(s)`. Let `E` be the bound above on the error
//! of `s` without the bias. Adding the bias rounds once, unless there was nothing to round before: `E`
//! becomes `E' = E + ε·(|s| + E)`. The activation cannot make that larger than `L·E'`, where `L` is its
//! [Lipschitz constant](Activation::lipschitz), and computing it costs a number of [units](Activation::units)
//! `t'` of its argument:
//!
//! ```text
//! |c − ĉ| ≤ L·E' + t'·ε·(|s| + E') + the oracle's own units of f64 + t' times the least normal number
//! ```
//!
//! # C in 16 bits
//! A C that was [rounded](crate::SpmmBackend::supports_output) to f16 or bf16 may be off by its own rounding too. With
//! `E` for the bound so far and `u₁₆`, `η₁₆` for the type's rounding unit and least subnormal:
//!
//! ```text
//! |c − ĉ| ≤ E + u₁₆·(|c| + E) + η₁₆/2
//! ```
//!
//! Where `E` is 0, `ĉ` must be the exact `c`, rounded to nearest even. An infinite `ĉ` is right if `|c| + E` reaches half
//! a unit beyond the type's largest number.
//!
//! # Non-finite values
//! Where NaN or Inf reaches an element through A, B or C, its class — NaN, +Inf, −Inf — must be that
//! of the sum over the entries of the CSR matrix. If the plan's tiles store zeros of their own that
//! touch a non-finite value (see [`PreparedSpmm`](crate::PreparedSpmm)), NaN is right too. An element
//! whose finite terms may exceed the accumulation type's range on the way can't be judged and is
//! counted in [`Verification::unjudged`].
//!
//! Such elements have a class and no error. A product of nothing else is right and says nothing about
//! rounding, so [`Verification::non_finite`] counts the elements of C that are not finite, and
//! [`Verification::non_finite_expected`] those of them where the oracle is not finite either.
//! The values of A and B count as they were rounded to the value type: what overflows there is Inf for
//! the oracle too, and is counted by [`Narrowing`](girih_formats::Narrowing).

mod aggregated;
mod complex;
mod judge;
mod narrow;
mod oracle;
mod problem;
mod rounding;
mod sampled;
mod verification;

use girih_formats::{AnyCsr, Csr, Real};
use girih_parallel::prelude::*;
use girih_planner::Plan;

use crate::dense::{DenseScalar, DenseView};
#[cfg(doc)]
use crate::epilogue::Activation;
use crate::epilogue::Epilogue;
use crate::error::BackendError;
use crate::shape::{ProductShape, check};
use judge::Judge;
use narrow::{Narrow, Scales};
use oracle::{PANEL, Sums};
use problem::{Before, Problem, ones, real_at};

pub use aggregated::verify_aggregation;
pub use complex::{ComplexProduct, verify_complex};
pub use rounding::{E4m3Sums, Rounding};
pub use sampled::{SampledProduct, verify_sddmm};
pub use verification::{Verification, Worst};

/// What was computed: `α·A·B`, or `α·A·B + β·C` of the C there was before.
#[derive(Clone, Debug)]
pub struct Product<'a> {
    /// α.
    pub alpha: f64,
    /// B, k×n, in the plan's value type.
    pub b: DenseView<'a>,
    /// β and C as it was before, m×n, in the value type that C has; `None` for β = 0.
    pub added: Option<(f64, DenseView<'a>)>,
}

/// Compares `found` with the product of the matrix `a` that `plan` was made from; in the permuted
/// space, of the matrix that it [holds](Plan::hold).
///
/// Needs O(nnz·n) time, spread over rows on rayon, and no memory to speak of. The result does not
/// depend on the number of threads. Of a plan that stores the pattern only, `a` counts as ones.
/// Where the matrix is not at hand, the [`to_csr`](girih_formats::Tiling::to_csr) of the plan's tiling
/// will do, [released](Plan::release) if the plan permutes rows of B; that judges the product alone, not how the tiles were filled.
///
/// # Errors
/// If a shape or a value type does not fit the plan.
pub fn verify<T: DenseScalar>(
    a: &Csr<T>,
    plan: &Plan,
    product: &Product<'_>,
    found: &DenseView<'_>,
    rounding: Rounding,
) -> Result<Verification, BackendError> {
    verify_with(a, plan, product, &Epilogue::new(), found, rounding)
}

/// [`verify`] of a product that went through an epilogue.
///
/// # Errors
/// As [`verify`], for the bias too. [`Unsupported::Epilogue`](crate::Unsupported::Epilogue) if values are complex.
pub fn verify_with<T: DenseScalar>(
    a: &Csr<T>,
    plan: &Plan,
    product: &Product<'_>,
    epilogue: &Epilogue<'_>,
    found: &DenseView<'_>,
    rounding: Rounding,
) -> Result<Verification, BackendError> {
    match AnyCsr::from(a) {
        AnyCsr::F16(a) => verify_real(a, plan, product, epilogue, found, rounding),
        AnyCsr::Bf16(a) => verify_real(a, plan, product, epilogue, found, rounding),
        AnyCsr::F32(a) => verify_real(a, plan, product, epilogue, found, rounding),
        AnyCsr::F64(a) => verify_real(a, plan, product, epilogue, found, rounding),
        AnyCsr::C32(a) => complex::verify_scaled(a, plan, product, epilogue, found, rounding),
        AnyCsr::C64(a) => complex::verify_scaled(a, plan, product, epilogue, found, rounding),
    }
}

/// [`verify_with`] of real values.
fn verify_real<T: DenseScalar + Real>(
    a: &Csr<T>,
    plan: &Plan,
    product: &Product<'_>,
    epilogue: &Epilogue<'_>,
    found: &DenseView<'_>,
    rounding: Rounding,
) -> Result<Verification, BackendError> {
    let shape = ProductShape::of(plan);
    let of_c = found.dtype();
    let of_c = if shape.rounds_to(of_c) { of_c } else { shape.dtype.accumulator() };
    check("A", (a.nrows(), a.ncols()), (shape.m, shape.k), T::DTYPE, shape.dtype)?;
    shape.check_b(&product.b)?;
    let dim = (shape.m, product.b.dim().1);
    if let Some((_, before)) = &product.added {
        check("C before", before.dim(), dim, before.dtype(), of_c)?;
    }
    check("C", found.dim(), dim, found.dtype(), of_c)?;
    epilogue.check(&shape, dim.1)?;

    let Some(b) = T::view(product.b.reborrow()) else { unreachable!("B's type was checked") };
    let before = product.added.as_ref().map(|(beta, c)| (*beta, c.reborrow()));
    let before = before.filter(|&(beta, _)| beta != 0.0);
    let before = before.map(|(beta, c)| (beta, Before::Dense(c)));
    let ones = ones(a, plan);
    let (a, alpha) = (ones.as_ref().unwrap_or(a), product.alpha);
    let narrow = Narrow::of(a, plan.tiling(), &b, rounding.e4m3);
    let (a, b, scales) = match &narrow {
        None => (a, b, Scales::default()),
        Some(narrow) => {
            let b = narrow.b.as_ref().map_or(b, |b| b.view());
            (&narrow.a, b, narrow.scales.clone())
        }
    };
    let (epilogue, least_operand) = (epilogue.reborrow(), rounding.least_operand);
    let problem = Problem { a, alpha, b, before, epilogue, scales, least_operand };
    let judge = Judge::new(&problem, plan, rounding, of_c);
    Ok((0..dim.0)
        .into_par_iter()
        .map(|row| judge_row(&problem, &judge, row, found))
        .reduce(Verification::default, Verification::merge))
}

fn judge_row<T: DenseScalar + Real>(
    problem: &Problem<'_, T>,
    judge: &Judge<'_, '_, T>,
    row: usize,
    found: &DenseView<'_>,
) -> Verification {
    let n = found.dim().1;
    let mut verdict = Verification::default();
    for start in (0..n).step_by(PANEL) {
        let panel = start..n.min(start + PANEL);
        let sums = Sums::of(problem, row, panel.clone());
        for (i, col) in panel.enumerate() {
            verdict = verdict.merge(judge.element(row, col, sums.at(i), real_at(found, row, col)));
        }
    }
    verdict
}

#[cfg(test)]
mod tests;
