//! Block conjugate gradients (O'Leary 1980): a 3-D Laplacian with many right-hand sides at once.
//!
//! `cargo run --release -p girih --example block_cg [points per side] [right-hand sides]`
//!
//! The check: the true residual of every column, computed anew from A, and the solution that was put in.

#![expect(clippy::print_stdout, reason = "an example")]

use std::time::Instant;

use girih::ndarray::{Array2, ArrayView1};
use girih::prelude::*;
use girih_generate::SplitMix64;

/// −Δ on `s³` points, zero outside of them: 6 on the diagonal and −1 for each neighbour.
fn laplacian_3d(s: usize) -> Result<Csr<f64>, girih::FormatError> {
    let at = |x: usize, y: usize, z: usize| (x * s + y) * s + z;
    let points = (0..s * s * s).map(|i| (i / (s * s), i / s % s, i % s));
    let entries = points.flat_map(|(x, y, z)| {
        let next = [(x + 1, y, z), (x, y + 1, z), (x, y, z + 1)];
        let inside = next.into_iter().filter(move |&(x, y, z)| x.max(y).max(z) < s);
        let edges = inside.flat_map(move |(u, v, w)| {
            [(at(x, y, z), at(u, v, w), -1.0), (at(u, v, w), at(x, y, z), -1.0)]
        });
        edges.chain([(at(x, y, z), at(x, y, z), 6.0)])
    });
    Csr::from_triplets(s * s * s, s * s * s, entries)
}

/// Solves the small system `G·X = F` by Cholesky; G is symmetric and positive definite.
fn solve_spd(mut g: Array2<f64>, mut f: Array2<f64>) -> Array2<f64> {
    let n = g.nrows();
    for j in 0..n {
        for k in 0..j {
            for i in j..n {
                g[[i, j]] -= g[[i, k]] * g[[j, k]];
            }
        }
        let root = g[[j, j]].sqrt();
        (j..n).for_each(|i| g[[i, j]] /= root);
    }
    for mut x in f.columns_mut() {
        for i in 0..n {
            x[i] = (x[i] - (0..i).map(|k| g[[i, k]] * x[k]).sum::<f64>()) / g[[i, i]];
        }
        for i in (0..n).rev() {
            x[i] = (x[i] - (i + 1..n).map(|k| g[[k, i]] * x[k]).sum::<f64>()) / g[[i, i]];
        }
    }
    f
}

/// The largest norm of a column of `x`, relative to that column of `y`; NaN if there is one.
fn relative(x: &Array2<f64>, y: &Array2<f64>) -> f64 {
    let norm = |column: ArrayView1<'_, f64>| column.dot(&column).sqrt();
    let ratios = x.columns().into_iter().zip(y.columns()).map(|(x, y)| norm(x) / norm(y));
    ratios.fold(0.0, |most, ratio| if ratio > most || ratio.is_nan() { ratio } else { most })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let (s, n) = (args.next().unwrap_or(Ok(12))?, args.next().unwrap_or(Ok(8))?);

    let a = laplacian_3d(s)?;
    let prepared = a.plan(n)?.prepare()?;
    let mut rng = SplitMix64::new(1, 0);
    let known = Array2::from_shape_fn((a.nrows(), n), |_| rng.normal());
    let b = prepared.multiply(&known)?;

    let start = Instant::now();
    let mut x = Array2::<f64>::zeros(b.dim());
    let (mut r, mut p, mut q) = (b.clone(), b.clone(), b.clone());
    let mut rr = r.t().dot(&r);
    let mut steps = 0;
    while relative(&r, &b) > 1e-10 && steps < 10 * s {
        prepared.multiply_into(1.0, &p, 0.0, &mut q)?;
        let step = solve_spd(p.t().dot(&q), rr.clone());
        x += &p.dot(&step);
        r -= &q.dot(&step);
        let rr_next = r.t().dot(&r);
        p = &r + &p.dot(&solve_spd(rr, rr_next.clone()));
        (rr, steps) = (rr_next, steps + 1);
    }
    let seconds = start.elapsed().as_secs_f64();

    // R = B − A·X, by A itself and not by the recurrence.
    let mut residual = b.clone();
    prepared.multiply_into(-1.0, &x, 1.0, &mut residual)?;
    let (residual, error) = (relative(&residual, &b), relative(&(&x - &known), &known));
    println!("{} unknowns, n = {n}, {} on {}", a.nrows(), prepared.spec(), prepared.backend());
    println!("{steps} steps in {seconds:.3} s: residual {residual:.1e}, error {error:.1e}");
    assert!(residual < 1e-9 && error < 1e-8, "block CG did not converge");
    Ok(())
}
