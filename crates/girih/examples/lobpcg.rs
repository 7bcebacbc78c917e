//! The smallest eigenvalues of a 3-D Laplacian and of a stiffness matrix by LOBPCG (Knyazev, SIAM J. Sci. Comput. 2001),
//! in the plan's own order of rows.
//!
//! `cargo run --release -p girih --example lobpcg [points per side] [eigenvalues]`
//!
//! A plan in [`Space::Permuted`] multiplies vectors in the order that it chose, so blocks of vectors stay in that
//! order until the end. The checks: the Laplacian's eigenvalues, which are known, and residuals by the matrix as it was.

#![expect(clippy::print_stdout, reason = "an example")]

mod dense;

use std::time::Instant;

use dense::{by_rows, eigen, laplacian_eigenvalues, orthonormal};
use girih::ndarray::{Array2, Axis, concatenate, s};
use girih::prelude::*;
use girih::reorder::Method;
use girih_generate::{SplitMix64, fem_3d, laplacian_7pt};

/// The largest norm of a column of `A·X − X·diag(values)`, of the first `wanted`.
fn residual(ax: &Array2<f64>, x: &Array2<f64>, values: &[f64], wanted: usize) -> f64 {
    let norm = |j: usize| {
        let mut r = ax.column(j).to_owned();
        r.scaled_add(-values[j], &x.column(j));
        r.dot(&r).sqrt()
    };
    (0..wanted).map(norm).fold(0.0, f64::max)
}

/// The `wanted` smallest eigenvalues of a symmetric matrix, and some more that converged less.
fn smallest(a: &Csr<f64>, wanted: usize) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    // Some more than wanted: the last ones converge slowly.
    let n = wanted + 4;
    let options = PlanOptions::new(3 * n).reorder(Method::Rcm).space(Space::Permuted);
    let plan = a.plan(options)?;
    assert!(!plan.row_permutation().is_identity());
    let prepared = plan.prepare()?;

    let (start, mut rng) = (Instant::now(), SplitMix64::new(1, 0));
    let mut x = orthonormal(&Array2::from_shape_fn((a.nrows(), n), |_| rng.normal()));
    let mut ax = prepared.multiply(&x)?;
    let (mut values, vectors) = eigen(x.t().dot(&ax));
    (x, ax) = (x.dot(&vectors), ax.dot(&vectors));
    let (mut directions, mut steps) = (Array2::zeros((a.nrows(), 0)), 0);
    while residual(&ax, &x, &values, wanted) > 1e-7 && steps < 500 {
        let residuals = &ax - &(&x * &Array2::from_shape_fn((1, n), |(_, j)| values[j]));
        let all = concatenate(Axis(1), &[x.view(), residuals.view(), directions.view()])?;
        let basis = orthonormal(&all);
        let product = prepared.multiply(&basis)?;
        let (all_values, vectors) = eigen(basis.t().dot(&product));
        let vectors = vectors.slice(s![.., ..n]);
        (x, ax) = (basis.dot(&vectors), product.dot(&vectors));
        // What of the step does not lie in the block before it.
        directions = basis.slice(s![.., n..]).dot(&vectors.slice(s![n.., ..]));
        (values, steps) = (all_values[..n].to_vec(), steps + 1);
    }
    let seconds = start.elapsed().as_secs_f64();

    // Back to the order of the matrix, once.
    let x = plan.row_permutation().inverse().apply_dense_rows(x.view())?;
    let ax = girih::spmm(a, &x)?;
    let residual = residual(&ax, &x, &values, wanted);
    println!("{} unknowns, {} on {}", a.nrows(), prepared.spec(), prepared.backend());
    println!("{steps} steps in {seconds:.3} s: residual {residual:.1e}");
    assert!(residual < 1e-6, "LOBPCG did not converge");

    // The plain way: a row of A after another.
    let start = Instant::now();
    let plain = by_rows(a, &x);
    let plainly = start.elapsed().as_secs_f64();
    let (start, mut c) = (Instant::now(), Array2::<f64>::zeros(x.dim()));
    prepared.multiply_into(1.0, &x, 0.0, &mut c)?;
    println!("a product in {:.1e} s, row by row in {plainly:.1e} s", start.elapsed().as_secs_f64());
    assert!((&plain - &ax).iter().all(|x| x.abs() < 1e-12));
    Ok(values)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let (side, wanted) = (args.next().unwrap_or(Ok(12))?, args.next().unwrap_or(Ok(7))?);
    let values = smallest(&laplacian_7pt(side, side, side)?, wanted)?;
    let pairs = values.iter().zip(laplacian_eigenvalues(side)).take(wanted);
    let error = pairs.map(|(found, known)| (found - known).abs()).fold(0.0, f64::max);
    println!("error of the eigenvalues {error:.1e}");
    assert!(error < 1e-9, "these are not the Laplacian's eigenvalues");

    let values = smallest(&fem_3d(side / 2, side / 2, side / 2, 3, 1)?, wanted)?;
    assert!(values.is_sorted() && values[0] > 0.0, "the matrix is positive definite");
    println!("smallest eigenvalues of the stiffness matrix: {:.3?}", &values[..wanted]);
    Ok(())
}
