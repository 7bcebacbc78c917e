//! A Helmholtz operator with absorption, applied to many plane waves at once.
//!
//! `cargo run --release -p girih --example helmholtz [points on a side] [waves]`
//!
//! The five-point discretization of `−Δu − k²·(1 + iε)·u` on a square grid is a complex matrix, symmetric and not
//! hermitian. The check: at points with four neighbours, a plane wave is multiplied by the symbol of the stencil, and
//! the adjoint by its conjugate.

#![expect(clippy::print_stdout, reason = "an example")]

mod dense;

use std::f64::consts::TAU;
use std::time::Instant;

use dense::by_rows;
use girih::ndarray::Array2;
use girih::prelude::*;

/// Points of a wave, and the absorption.
const POINTS_PER_WAVE: f64 = 12.0;
const ABSORPTION: f64 = 0.1;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let (side, n) = (args.next().unwrap_or(Ok(60))?, args.next().unwrap_or(Ok(24))?);

    // The squared wave number, in units of the grid.
    let k2 = Complex::new(1.0, ABSORPTION) * (TAU / POINTS_PER_WAVE).powi(2);
    let at = |x: usize, y: usize| y * side + x;
    let mut entries = Vec::new();
    for (x, y) in (0..side).flat_map(|y| (0..side).map(move |x| (x, y))) {
        entries.push((at(x, y), at(x, y), Complex::new(4.0, 0.0) - k2));
        let right = (x + 1 < side).then(|| at(x + 1, y));
        let below = (y + 1 < side).then(|| at(x, y + 1));
        for other in [right, below].into_iter().flatten() {
            entries.push((at(x, y), other, Complex::new(-1.0, 0.0)));
            entries.push((other, at(x, y), Complex::new(-1.0, 0.0)));
        }
    }
    let a = Csr::from_triplets(side * side, side * side, entries)?;
    assert!(a.is_symmetric() && a.conj() != a);

    // Wave j travels in direction j of n.
    let phase = |j: usize| {
        let (sin, cos) = (TAU * j as f64 / n as f64).sin_cos();
        (cos * TAU / POINTS_PER_WAVE, sin * TAU / POINTS_PER_WAVE)
    };
    let waves = Array2::from_shape_fn((side * side, n), |(i, j)| {
        let (kx, ky) = phase(j);
        Complex::cis(kx * (i % side) as f64 + ky * (i / side) as f64)
    });

    let prepared = a.plan(n)?.prepare()?;
    let adjoint = a.conj().plan(PlanOptions::new(n).op(Op::Transpose))?.prepare()?;
    let start = Instant::now();
    let product = prepared.multiply(&waves)?;
    let seconds = start.elapsed().as_secs_f64();
    let by_adjoint = adjoint.multiply(&waves)?;

    let start = Instant::now();
    let plain = by_rows(&a, &waves);
    let plainly = start.elapsed().as_secs_f64();
    assert!((&product - &plain).iter().all(|x| x.norm() < 1e-12));
    println!("{} points, {n} waves on {}", side * side, prepared.backend());
    println!("a product in {seconds:.1e} s, row by row in {plainly:.1e} s");
    let mut worst = 0.0f64;
    for j in 0..n {
        let (kx, ky) = phase(j);
        let symbol = Complex::new(4.0 - 2.0 * kx.cos() - 2.0 * ky.cos(), 0.0) - k2;
        for (x, y) in (1..side - 1).flat_map(|y| (1..side - 1).map(move |x| (x, y))) {
            let place = [at(x, y), j];
            worst = worst.max((product[place] - symbol * waves[place]).norm());
            worst = worst.max((by_adjoint[place] - symbol.conj() * waves[place]).norm());
        }
    }
    println!("farthest from the symbol of the stencil: {worst:.1e}");
    assert!(worst < 1e-12);
    Ok(())
}
