//! The smallest eigenvalues by subspace iteration with a Chebyshev filter (Zhou, Saad, Tiago and Chelikowsky, J.
//! Comput. Phys. 2006).
//!
//! `cargo run --release -p girih --example chebyshev [points per side] [eigenvalues]`
//!
//! The unwanted part of the spectrum is mapped to [−1, 1], where Chebyshev polynomials stay small: new values on the
//! pattern of A for each filter. Then `X ← 2·A·Y − X` is one product in place. The check: eigenvalues, which are known.

#![expect(clippy::print_stdout, reason = "an example")]

mod dense;

use std::time::Instant;

use dense::{by_rows, eigen, laplacian_eigenvalues, orthonormal};
use girih::ndarray::{Array2, s};
use girih::prelude::*;
use girih_generate::{SplitMix64, laplacian_7pt};

const DEGREE: usize = 12;

/// `2·A·Y − X` into X: what a step of the filter is made of.
type Step<'a> = dyn Fn(&Array2<f64>, &mut Array2<f64>) -> Result<(), BackendError> + 'a;

/// `T(A)·X`, the Chebyshev polynomial of a degree.
fn filtered(x: Array2<f64>, step: &Step<'_>) -> Result<Array2<f64>, BackendError> {
    // T₁ is half a step from zero.
    let mut next = Array2::zeros(x.dim());
    step(&x, &mut next)?;
    next /= 2.0;
    let (mut before, mut now) = (x, next);
    for _ in 1..DEGREE {
        step(&now, &mut before)?;
        std::mem::swap(&mut before, &mut now);
    }
    Ok(now)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let (side, wanted) = (args.next().unwrap_or(Ok(12))?, args.next().unwrap_or(Ok(7))?);
    let a = laplacian_7pt::<f64>(side, side, side)?;
    // By Gershgorin no eigenvalue is above the largest sum of absolute values in a row.
    let most = a.rows().map(|(_, values)| values.iter().map(|v| v.abs()).sum()).fold(0.0, f64::max);
    let n = 2 * wanted + 2;
    let plain = a.plan(n)?.prepare()?;
    let mut mapped = a.plan(n)?.prepare()?;

    let (mut rng, mut times) = (SplitMix64::new(1, 0), [0.0; 2]);
    let random = Array2::from_shape_fn((a.nrows(), n), |_| rng.normal());
    let (mut x, mut steps) = (orthonormal(&random), 0);
    let (values, residual) = loop {
        let ax = plain.multiply(&x)?;
        let (values, vectors) = eigen(x.t().dot(&ax));
        let ritz = x.dot(&vectors);
        let scaled = &ritz * &Array2::from_shape_fn((1, n), |(_, j)| values[j]);
        let residuals = (ax.dot(&vectors) - scaled).slice_move(s![.., ..wanted]);
        let residual = residuals.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        if residual < 1e-8 || steps == 60 {
            break (values, residual);
        }
        // (A − center) / radius maps what lies above the block to [−1, 1].
        let (center, radius) = ((most + values[n - 1]) / 2.0, (most - values[n - 1]) / 2.0);
        let mut shifted = a.add_scaled(-center, &Csr::identity(a.nrows())?)?;
        shifted.scale(1.0 / radius);
        mapped.refresh(shifted.values())?;
        let start = Instant::now();
        let found = filtered(ritz.clone(), &|y, x| mapped.multiply_into(2.0, y, -1.0, x))?;
        times[0] += start.elapsed().as_secs_f64();
        if steps == 0 {
            let start = Instant::now();
            let expected = filtered(ritz, &|y, x| {
                *x = by_rows(&shifted, y) * 2.0 - &*x;
                Ok(())
            })?;
            times[1] = start.elapsed().as_secs_f64();
            let largest = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            assert!((&found - &expected).iter().all(|x| x.abs() < 1e-10 * largest));
        }
        (x, steps) = (orthonormal(&found), steps + 1);
    };

    let errors = values.iter().zip(laplacian_eigenvalues(side)).take(wanted);
    let error = errors.map(|(found, known)| (found - known).abs()).fold(0.0, f64::max);
    let filter = times[0] / f64::from(steps);
    println!("{} unknowns, {} on {}", a.nrows(), plain.spec(), plain.backend());
    println!("{steps} filters of degree {DEGREE}: residual {residual:.1e}, error {error:.1e}");
    println!("a filter in {filter:.1e} s, row by row in {:.1e} s", times[1]);
    assert!(residual < 1e-8 && error < 1e-9, "the iteration did not converge");
    Ok(())
}
