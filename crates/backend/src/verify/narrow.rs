//! Products of a matrix in e4m3, as what is judged: codes on both sides, and scales.

use girih_formats::{
    AnyTiling, Csr, E4m3, E4m3Scales, Real, Scalar, Tiling, TwoFour, for_any_tiling,
};
use ndarray::{Array2, ArrayView2, Axis};

use super::rounding::E4m3Sums;
use crate::dense::DenseScalar;

/// `A = diag(rows)·Q` and `B = P·diag(columns)`: Q and P are what is multiplied, exact in T.
pub(super) struct Narrow<T: DenseScalar + Real> {
    /// Q: the codes of A, as numbers.
    pub(super) a: Csr<T>,
    /// P, if B is in e4m3 too.
    pub(super) b: Option<Array2<T>>,
    pub(super) scales: Scales,
}

/// By what the product of Q and P is to be multiplied.
#[derive(Clone, Debug, Default)]
pub(super) struct Scales {
    /// Of each row of A; empty where that is 1.
    rows: Vec<f64>,
    /// Of each column of B; empty where that is 1.
    columns: Vec<f64>,
    /// How P·Q is summed, if not as other products are.
    pub(super) sums: Option<E4m3Sums>,
}

impl Scales {
    /// The scale of an element of C.
    #[inline]
    pub(super) fn at(&self, row: usize, col: usize) -> f64 {
        self.rows.get(row).map_or(1.0, |x| *x) * self.columns.get(col).map_or(1.0, |x| *x)
    }

    /// Roundings that multiplying by them costs.
    pub(super) fn roundings(&self) -> u64 {
        2 * u64::from(!self.rows.is_empty()) + 2 * u64::from(!self.columns.is_empty())
    }
}

impl<T: DenseScalar + Real> Narrow<T> {
    /// The original matrix and B, narrowed by the scales that the tiling has; `None` if it is not in e4m3. Values
    /// are narrowed anew here, so that wrong codes in the tiling show.
    pub(super) fn of(
        a: &Csr<T>,
        tiling: &AnyTiling,
        b: &ArrayView2<'_, T>,
        sums: Option<E4m3Sums>,
    ) -> Option<Self> {
        let rows = for_any_tiling!(tiling, tiling => match tiling {
            Tiling::TwoFour(tiling) => scales_of_rows(tiling),
            _ => None,
        })?;
        let mut values = Vec::with_capacity(a.nnz());
        for (row, scale) in rows.iter().enumerate() {
            let narrowed = a.row(row).1.iter().map(|a| {
                let code = match a.to_f64() {
                    a if a.is_nan() => f64::NAN,
                    a => E4m3::from_f64(a / scale).to_f64(),
                };
                T::from_f64(code)
            });
            values.extend(narrowed);
        }
        let mut scales = Scales { rows, columns: Vec::new(), sums };
        let b = sums.map(|_| {
            let (p, columns) = narrowed(b);
            scales.columns = columns;
            p
        });
        let a =
            a.with_values(values).unwrap_or_else(|error| unreachable!("the pattern's: {error}"));
        Some(Self { a, b, scales })
    }
}

/// The scale of each row, in the order of the matrix; `None` if values are not in e4m3.
fn scales_of_rows<T: Scalar>(tiling: &TwoFour<T>) -> Option<Vec<f64>> {
    let narrow = tiling.e4m3()?;
    let mut rows = vec![1.0; tiling.nrows()];
    let layout = tiling.layout();
    for slot in 0..layout.n_slots() {
        if let Some(row) = layout.row(slot) {
            rows[row] = f64::from(narrow.scale(slot));
        }
    }
    Some(rows)
}

/// B as kernels narrow it: P, and the scale of each column.
fn narrowed<T: DenseScalar + Real>(b: &ArrayView2<'_, T>) -> (Array2<T>, Vec<f64>) {
    let mut p = Array2::from_elem(b.dim(), T::ZERO);
    let mut scales = Vec::with_capacity(b.ncols());
    for (from, mut to) in b.axis_iter(Axis(1)).zip(p.axis_iter_mut(Axis(1))) {
        let scale = E4m3Scales::of_column(from.iter().map(|x| x.to_f64() as f32));
        for (from, to) in from.iter().zip(&mut to) {
            *to = T::from_f64(E4m3Scales::narrow_dense(from.to_f64() as f32, scale).to_f64());
        }
        scales.push(f64::from(scale));
    }
    (p, scales)
}
