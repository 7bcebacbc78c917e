//! Block conjugate gradients (O'Leary 1980): a 3-D Laplacian and finite elements, with many right-hand sides at once.
//!
//! `cargo run --release -p girih --example block_cg [points per side] [right-hand sides]`
//!
//! Vectors stay in the plan's own order of rows ([`Space::Permuted`]) from the first step to the last. The check: the
//! true residual of every column, computed anew from A, and the solution that was put in.

#![expect(clippy::print_stdout, reason = "an example")]

mod dense;

use std::time::Instant;

use girih::ndarray::{Array2, Axis};
use girih::prelude::*;
use girih::reorder::Method;
use girih_generate::{fem_3d, laplacian_7pt};

/// Solves the small system `G·X = F` by Gauss and Jordan; a G that is positive definite needs no pivots.
fn solve(mut g: Array2<f64>, mut f: Array2<f64>) -> Array2<f64> {
    for j in 0..g.nrows() {
        let (row, right) = (g.row(j).to_owned(), f.row(j).to_owned());
        for i in (0..g.nrows()).filter(|&i| i != j) {
            let factor = -g[[i, j]] / row[j];
            g.row_mut(i).scaled_add(factor, &row);
            f.row_mut(i).scaled_add(factor, &right);
        }
    }
    f / g.diag().insert_axis(Axis(1))
}

/// The largest norm of a column of `x`, relative to that column of `y`; NaN if there is one.
fn relative(x: &Array2<f64>, y: &Array2<f64>) -> f64 {
    let [x, y] = [x, y].map(|x| (x * x).sum_axis(Axis(0)));
    (x / y).fold(0.0, |most: f64, &x| if x > most || x.is_nan() { x } else { most }).sqrt()
}

/// X of A·X = B, and the steps to it; `multiply` is a product with A.
fn block_cg(
    b: &Array2<f64>,
    multiply: impl Fn(&Array2<f64>) -> Result<Array2<f64>, BackendError>,
) -> Result<(Array2<f64>, usize), BackendError> {
    let (mut x, mut r, mut p) = (Array2::zeros(b.dim()), b.clone(), b.clone());
    let (mut rr, mut steps) = (r.t().dot(&r), 0);
    while relative(&r, b) > 1e-10 && steps < 1000 {
        let q = multiply(&p)?;
        let step = solve(p.t().dot(&q), rr.clone());
        x += &p.dot(&step);
        r -= &q.dot(&step);
        let rr_next = r.t().dot(&r);
        p = &r + &p.dot(&solve(rr, rr_next.clone()));
        (rr, steps) = (rr_next, steps + 1);
    }
    Ok((x, steps))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let (s, n) = (args.next().unwrap_or(Ok(12))?, args.next().unwrap_or(Ok(8))?);
    for a in [laplacian_7pt::<f64>(s, s, s)?, fem_3d(s / 2, s / 2, s, 3, 1)?] {
        let plan = a.plan(PlanOptions::new(n).reorder(Method::Rcm).space(Space::Permuted))?;
        let (prepared, order) = (plan.prepare()?, plan.row_permutation());
        let known = Array2::from_shape_fn((a.nrows(), n), |(i, j)| ((i * (j + 2)) as f64).sin());
        let b = girih::spmm(&a, &known)?;

        let start = Instant::now();
        let permuted = order.apply_dense_rows(b.view())?;
        let (x, steps) = block_cg(&permuted, |p| prepared.multiply(p))?;
        let x = order.inverse().apply_dense_rows(x.view())?;
        let (ours, start) = (start.elapsed().as_secs_f64(), Instant::now());
        block_cg(&b, |p| Ok(dense::by_rows(&a, p)))?;
        let plain = start.elapsed().as_secs_f64();

        let residual = relative(&(&b - &girih::spmm(&a, &x)?), &b);
        let error = relative(&(&x - &known), &known);
        println!("{} unknowns, {steps} steps: {ours:.3} s, row by row {plain:.3} s", a.nrows());
        assert!(residual < 1e-9 && error < 1e-8, "off by {residual:.1e}, {error:.1e}");
    }
    Ok(())
}
