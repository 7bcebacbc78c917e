//! What examples need of dense linear algebra, in few lines. A program would take it from LAPACK. And the plain way to
//! a product, to stand beside.

#![allow(dead_code, reason = "each example uses a part of it")]

use std::f64::consts::PI;

use girih::ndarray::{Array1, Array2, Axis, LinalgScalar, Zip, stack};
use girih::{Csr, Scalar};

/// A·B, a row of A after another.
pub(crate) fn by_rows<T: Scalar + LinalgScalar>(a: &Csr<T>, b: &Array2<T>) -> Array2<T> {
    let mut c = Array2::zeros((a.nrows(), b.ncols()));
    for (mut c, (cols, values)) in c.rows_mut().into_iter().zip(a.rows()) {
        cols.iter().zip(values).for_each(|(&j, &value)| c.scaled_add(value, &b.row(j as usize)));
    }
    c
}

/// The eigenvalues of −Δ on `side³` points, ascending: sums of `2 − 2·cos(πk/(side + 1))`.
pub(crate) fn laplacian_eigenvalues(side: usize) -> Vec<f64> {
    let one = |k: usize| 2.0 - 2.0 * (PI * (k + 1) as f64 / (side + 1) as f64).cos();
    let points = (0..side * side * side).map(|i| [i % side, i / side % side, i / side / side]);
    let mut all: Vec<f64> = points.map(|p| p.into_iter().map(one).sum()).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Orthonormal columns that span those of `s`; the first ones span the first ones. Columns that depend on those
/// before them are left out. Gram–Schmidt, twice.
pub(crate) fn orthonormal(s: &Array2<f64>) -> Array2<f64> {
    let mut basis: Vec<Array1<f64>> = Vec::new();
    for column in s.columns() {
        let (mut v, before) = (column.to_owned(), column.dot(&column).sqrt());
        for q in basis.iter().chain(&basis) {
            let along = q.dot(&v);
            v.scaled_add(-along, q);
        }
        let norm = v.dot(&v).sqrt();
        if norm > 1e-10 * before {
            basis.push(v / norm);
        }
    }
    let views: Vec<_> = basis.iter().map(|q| q.view()).collect();
    stack(Axis(1), &views).unwrap_or_else(|_| Array2::zeros((s.nrows(), 0)))
}

/// Eigenvalues of a small symmetric matrix, ascending, and their eigenvectors as columns. Jacobi's method.
pub(crate) fn eigen(mut g: Array2<f64>) -> (Vec<f64>, Array2<f64>) {
    let n = g.nrows();
    let mut vectors = Array2::<f64>::eye(n);
    let rotate = |m: &mut Array2<f64>, axis: Axis, [p, q]: [usize; 2], (c, s): (f64, f64)| {
        let (mut low, mut high) = m.view_mut().split_at(axis, q);
        let pair = Zip::from(low.index_axis_mut(axis, p)).and(high.index_axis_mut(axis, 0));
        pair.for_each(|x, y| (*x, *y) = (c * *x - s * *y, s * *x + c * *y));
    };
    for _ in 0..50 {
        let off = g.indexed_iter().filter(|((i, j), _)| i < j).map(|(_, x)| x * x).sum::<f64>();
        if off <= 1e-32 * g.iter().map(|x| x * x).sum::<f64>() {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if g[[p, q]] != 0.0 {
                    let angle = 0.5 * (2.0 * g[[p, q]] / (g[[q, q]] - g[[p, p]])).atan();
                    let (sin, cos) = angle.sin_cos();
                    rotate(&mut g, Axis(0), [p, q], (cos, sin));
                    rotate(&mut g, Axis(1), [p, q], (cos, sin));
                    rotate(&mut vectors, Axis(1), [p, q], (cos, sin));
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| g[[i, i]].total_cmp(&g[[j, j]]));
    (order.iter().map(|&i| g[[i, i]]).collect(), vectors.select(Axis(1), &order))
}
