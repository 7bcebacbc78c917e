//! What was multiplied, typed and checked.

use girih_formats::{Csr, CsrPattern, FormatSpec, Real};
use girih_planner::Plan;
use ndarray::ArrayView2;

use super::narrow::Scales;
#[cfg(doc)]
use super::rounding::Rounding;
use crate::dense::{DenseScalar, DenseView};
use crate::epilogue::Epilogue;

/// The operands, typed and checked.
pub(super) struct Problem<'a, T: DenseScalar + Real> {
    pub(super) a: &'a Csr<T>,
    pub(super) alpha: f64,
    pub(super) b: ArrayView2<'a, T>,
    /// β, never 0, and C before.
    pub(super) before: Option<(f64, Before<'a>)>,
    pub(super) epilogue: Epilogue<'a>,
    pub(super) scales: Scales,
    /// `η` of the [rounding](Rounding::least_operand).
    pub(super) least_operand: f64,
}

impl<T: DenseScalar + Real> Problem<'_, T> {
    /// By what an element of the product of `a` and `b` is multiplied.
    pub(super) fn alpha_at(&self, row: usize, col: usize) -> f64 {
        self.alpha * self.scales.at(row, col)
    }
}

/// Elements of C before a product.
pub(super) enum Before<'a> {
    /// All of them.
    Dense(DenseView<'a>),
    /// Those at the entries of a pattern, as one column.
    Entries(CsrPattern<'a>, DenseView<'a>),
}

impl Before<'_> {
    pub(super) fn at(&self, row: usize, col: usize) -> f64 {
        match self {
            Self::Dense(c) => real_at(c, row, col),
            Self::Entries(pattern, s) => {
                let found = pattern.row(row).binary_search(&(col as u32));
                found.map_or(0.0, |at| real_at(s, pattern.row_range(row).start + at, 0))
            }
        }
    }
}

/// An element of a view of real numbers, exactly.
pub(super) fn real_at(view: &DenseView<'_>, row: usize, col: usize) -> f64 {
    match view {
        DenseView::F16(v) => v[[row, col]].to_f64(),
        DenseView::Bf16(v) => v[[row, col]].to_f64(),
        DenseView::F32(v) => v[[row, col]].into(),
        DenseView::F64(v) => v[[row, col]],
        DenseView::C32(_) | DenseView::C64(_) => {
            unreachable!("the views of real products are real")
        }
    }
}

/// The matrix that counts instead of `a` where the plan stores the pattern alone: it has ones.
pub(super) fn ones<T: DenseScalar>(a: &Csr<T>, plan: &Plan) -> Option<Csr<T>> {
    let is_pattern = plan.tiling().spec() == (FormatSpec::BMat { pattern_only: true });
    // The pattern is shared; only the values are new.
    is_pattern.then(|| a.with_values(vec![T::ONE; a.nnz()]).ok()).flatten()
}
