//! Steps in time, with new values on one pattern at each: heat in a plate whose conductivity changes.
//!
//! `cargo run --release -p girih --example time_steps`
//!
//! `U ← U − ½·A(t)·U`, for many plates at once. The check: a plan made anew at each step gives the same bits.

#![expect(clippy::print_stdout, reason = "an example")]

use std::time::Instant;

use girih::ndarray::Array2;
use girih::prelude::*;
use girih_generate::laplacian_5pt;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plate = laplacian_5pt::<f64>(80, 60)?;
    let mut prepared = plate.plan(16)?.prepare()?;
    let mut a = plate.clone();
    let mut u = Array2::from_shape_fn((a.nrows(), 16), |(i, j)| ((i * 7 + j) % 10) as f64);
    let (mut anew, [mut ours, mut plain]) = (u.clone(), [0.0; 2]);
    for step in 0..30 {
        a.values_mut().copy_from_slice(&plate.values()[..]);
        a.scale(0.2 + 0.1 * f64::from(step % 3));
        let start = Instant::now();
        prepared.refresh(a.values())?;
        let before = u.clone();
        prepared.multiply_into(-0.5, &before, 1.0, &mut u)?;
        ours += start.elapsed().as_secs_f64();
        let (start, before) = (Instant::now(), anew.clone());
        a.plan(16)?.prepare()?.multiply_into(-0.5, &before, 1.0, &mut anew)?;
        plain += start.elapsed().as_secs_f64();
        assert_eq!(u, anew);
    }
    println!("30 steps on {}: {ours:.4} s, planned anew {plain:.4} s", prepared.backend());
    Ok(())
}
