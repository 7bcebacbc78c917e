//! A randomized singular value decomposition of a rectangular matrix (Halko, Martinsson and Tropp, SIAM Review
//! 2011, algorithms 4.4 and 5.1).
//!
//! `cargo run --release -p girih --example randomized_svd [rows] [columns] [rank]`
//!
//! Products with A and with Aᵀ alternate, so there is a plan for each. The matrix has blocks of known singular
//! values, and noise E. The check is Weyl's: no singular value moves by more than ‖E‖.

#![expect(clippy::print_stdout, reason = "an example")]

mod dense;

use std::time::Instant;

use dense::{by_rows, eigen, orthonormal};
use girih::ndarray::{Array2, s};
use girih::prelude::*;
use girih_generate::{SplitMix64, uniform};

/// Viewers and films: group `g` of `rank` has its own of both, and likes all of them alike. Gives the singular
/// values, descending.
fn tastes(m: usize, k: usize, rank: usize) -> Result<(Csr<f64>, Vec<f64>), girih::FormatError> {
    let strength = |g: usize| 1.0 + (rank - g) as f64 / 2.0;
    let (rows, cols) = (m / rank, k / rank / 4);
    let block =
        |g: usize| (0..rows * cols).map(move |e| (g * rows + e / cols, g * 4 * cols + e % cols));
    let entries = (0..rank).flat_map(|g| block(g).map(move |(i, j)| (i, j, strength(g))));
    let size = ((rows * cols) as f64).sqrt();
    Ok((Csr::from_triplets(m, k, entries)?, (0..rank).map(|g| size * strength(g)).collect()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let m = args.next().unwrap_or(Ok(3000))?;
    let (k, rank) = (args.next().unwrap_or(Ok(800))?, args.next().unwrap_or(Ok(8))?);
    let (clean, known) = tastes(m, k, rank)?;
    let mut noise = uniform::<f64>(m, k, 5, 1)?;
    noise.scale(0.02);
    let a = clean.add(&noise)?;
    // The Frobenius norm is at least the other.
    let moved = noise.values().iter().map(|x| x * x).sum::<f64>().sqrt();

    // Some more columns than wanted make the range found nearly the best.
    let n = rank + 8;
    let plain = a.plan(n)?.prepare()?;
    let transposed = a.plan(PlanOptions::new(n).op(Op::Transpose))?.prepare()?;

    let (start, mut rng) = (Instant::now(), SplitMix64::new(1, 0));
    let random = Array2::from_shape_fn((k, n), |_| rng.normal());
    let mut q = orthonormal(&plain.multiply(&random)?);
    for _ in 0..3 {
        let z = orthonormal(&transposed.multiply(&q)?);
        q = orthonormal(&plain.multiply(&z)?);
    }
    // A ≈ Q·(Qᵀ·A), and Bᵀ = Aᵀ·Q is as narrow as Q: its Gram matrix has the squares of singular values.
    let bt = transposed.multiply(&q)?;
    let (squares, w) = eigen(bt.t().dot(&bt));
    let sigma: Vec<f64> = squares.iter().rev().take(rank).map(|x| x.sqrt()).collect();
    let w = w.slice(s![.., ..;-1]);
    let u = q.dot(&w.slice(s![.., ..rank]));
    let v = bt.dot(&w.slice(s![.., ..rank])) / Array2::from_shape_fn((1, rank), |(_, j)| sigma[j]);
    let seconds = start.elapsed().as_secs_f64();

    println!("{m}×{k}, {} entries, {} and {}", a.nnz(), plain.spec(), transposed.spec());
    println!("{rank} of the singular values in {seconds:.3} s: {sigma:.3?}");
    for (found, known) in sigma.iter().zip(&known) {
        assert!((found - known).abs() <= moved, "{found} is not within {moved} of {known}");
    }
    // Vectors belong to them: A·V = U·Σ.
    let start = Instant::now();
    let av = plain.multiply(&v)?;
    let product = start.elapsed().as_secs_f64();
    let us = &u * &Array2::from_shape_fn((1, rank), |(_, j)| sigma[j]);
    let error = (&av - &us).iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!(error < moved, "residual {error}");
    assert!((u.t().dot(&u) - Array2::<f64>::eye(rank)).iter().all(|x| x.abs() < 1e-10));

    // The plain way: a row of A after another.
    let start = Instant::now();
    let plain = by_rows(&a, &v);
    let plainly = start.elapsed().as_secs_f64();
    println!("a product in {product:.1e} s, row by row in {plainly:.1e} s");
    assert!((&plain - &av).iter().all(|x| x.abs() < 1e-9));
    Ok(())
}
