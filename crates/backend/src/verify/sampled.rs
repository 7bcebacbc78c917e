//! The verdict on a sampled product: each entry is an element of a product, judged as one.

use girih_formats::{Csr, CsrPattern, Real, RealNumber, RowCsr, RowLayout, Tiling};
use girih_parallel::prelude::*;
use girih_planner::Plan;
use ndarray::ArrayView2;

use super::judge::Judge;
use super::oracle::Sums;
use super::problem::{Before, Problem};
use super::rounding::Rounding;
use super::verification::Verification;
use crate::dense::{DenseScalar, DenseView};
use crate::epilogue::Epilogue;
use crate::error::BackendError;
use crate::shape::check;

/// What was computed: `α·(X·Yᵀ)` at the entries of a pattern, or that and `β·S` of the S there was before.
#[derive(Clone, Debug)]
pub struct SampledProduct<'a> {
    /// α.
    pub alpha: f64,
    /// X, m×d.
    pub x: DenseView<'a>,
    /// Y, k×d, of the same value type.
    pub y: DenseView<'a>,
    /// β and S as it was before, one column, in the accumulation type; `None` for β = 0.
    pub added: Option<(f64, DenseView<'a>)>,
}

/// Compares the entries `found`, one column in the order of the pattern, with the
/// [sampled product](crate::SddmmBackend). [`Verification`] names places by row and column of S.
///
/// An entry is the element of a product whose A is X, with all of its elements as entries, and whose B
/// is Yᵀ, so the oracle and the bound are those of [`verify`](super::verify), with d entries in a row.
/// O(nnz·d) time, spread over rows on rayon, and the memory of X.
///
/// # Errors
/// If a shape or a value type does not fit, or memory is short.
pub fn verify_sddmm<T: DenseScalar + Real>(
    pattern: CsrPattern<'_>,
    product: &SampledProduct<'_>,
    found: &DenseView<'_>,
    rounding: Rounding,
) -> Result<Verification, BackendError> {
    let (d, acc) = (product.x.dim().1, T::DTYPE.accumulator());
    check("X", product.x.dim(), (pattern.nrows(), d), product.x.dtype(), T::DTYPE)?;
    check("Y", product.y.dim(), (pattern.ncols(), d), product.y.dtype(), T::DTYPE)?;
    let dim = (pattern.nnz(), 1);
    if let Some((_, before)) = &product.added {
        check("S before", before.dim(), dim, before.dtype(), acc)?;
    }
    check("S", found.dim(), dim, found.dtype(), acc)?;
    let views = (
        T::view(product.x.reborrow()),
        T::view(product.y.reborrow()),
        T::acc_view(found.reborrow()),
        product.added.as_ref().map(|(beta, s)| (*beta, T::acc_view(s.reborrow()))),
    );
    let (Some(x), Some(y), Some(found), before) = views else {
        unreachable!("the types were checked")
    };
    let before = before.and_then(|(beta, s)| Some((beta, s?))).filter(|&(beta, _)| beta != 0.0);
    let before = before.map(|(beta, s)| (beta, Before::Entries(pattern, T::erase_acc(s))));
    let matrix = as_matrix(&x).map_err(no_memory)?;
    let layout = RowLayout::natural(matrix.nrows(), 1).map_err(no_memory)?;
    let rows = RowCsr::from_csr(&matrix, layout).map_err(no_memory)?;
    let plan = Plan::from_tiling(Tiling::Csr(rows));
    let (a, alpha, b) = (&matrix, product.alpha, y.reversed_axes());
    let (epilogue, scales) = (Epilogue::new(), super::Scales::default());
    let least_operand = rounding.least_operand;
    let problem = Problem { a, alpha, b, before, epilogue, scales, least_operand };
    let judge = Judge::new(&problem, &plan, rounding, T::DTYPE.accumulator());
    let row = |i: usize| {
        pattern.row_range(i).fold(Verification::default(), |verdict, at| {
            let j = pattern.col_idx()[at] as usize;
            let sum = Sums::of(&problem, i, j..j + 1).at(0);
            verdict.merge(judge.element(i, j, sum, found[[at, 0]].to_f64()))
        })
    };
    let rows = (0..pattern.nrows()).into_par_iter();
    Ok(rows.map(row).reduce(Verification::default, Verification::merge))
}

/// A dense matrix with every element an entry.
fn as_matrix<T: DenseScalar + Real>(
    x: &ArrayView2<'_, T>,
) -> Result<Csr<T>, girih_formats::FormatError> {
    let (m, d) = x.dim();
    Csr::from_rows(
        m,
        d,
        |_| d,
        |i, cols, values| {
            for (j, ((col, value), &x)) in cols.iter_mut().zip(values).zip(x.row(i)).enumerate() {
                (*col, *value) = (j as u32, x);
            }
        },
    )
}

fn no_memory(source: girih_formats::FormatError) -> BackendError {
    BackendError::Failed {
        backend: "verify".to_owned(),
        operation: "hold X as a sparse matrix".to_owned(),
        source: Box::new(source),
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::{ReferenceBackend, SddmmBackend};

    #[test]
    fn an_entry_off_by_more_than_its_roundings_is_found() {
        let a = Csr::from_triplets(2, 3, [(0, 1, 0.0f32), (1, 0, 0.0), (1, 2, 0.0)]).unwrap();
        let x = ndarray::array![[1.0f32, 2.0], [3.0, 4.0]];
        let y = ndarray::array![[1.0f32, 1.0], [0.5, 0.25], [2.0, 2.0]];
        let mut s = ndarray::array![[10.0f32], [20.0], [f32::NAN]];
        let before = s.clone();
        let sampled = ReferenceBackend.sddmm(
            a.pattern(),
            2.0,
            (&x).into(),
            (&y).into(),
            0.5,
            (&mut s).into(),
        );
        sampled.unwrap();
        assert_eq!((s[[0, 0]], s[[1, 0]]), (7.0, 24.0));
        let product = SampledProduct {
            alpha: 2.0,
            x: (&x).into(),
            y: (&y).into(),
            added: Some((0.5, (&before).into())),
        };
        let rounding = Rounding::exact_inputs(girih_formats::DType::F32);
        let verdict = |s: &Array2<f32>| {
            verify_sddmm::<f32>(a.pattern(), &product, &s.into(), rounding).unwrap()
        };
        let right = verdict(&s);
        assert!(right.passed() && right.elements == 3 && right.non_finite_expected == 1);
        s[[1, 0]] += 1e-4;
        let wrong = verdict(&s);
        assert!(!wrong.passed());
        assert_eq!(wrong.worst.map(|worst| (worst.row, worst.col)), Some((1, 0)));
    }
}
