//! Two graph convolutions (Kipf & Welling, ICLR 2017) over a citation graph: `Â·relu(Â·X·W₁ + b)·W₂`.
//!
//! `cargo run --release -p girih --example graph_convolution [papers] [words]`
//!
//! `Â = D^(-1/2)·(A + I)·D^(-1/2)`. Bias and activation are applied in the kernels' store. The check: the same layers
//! with a dense Â. The example `gcn` trains such a network.

#![expect(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::time::Instant;

use girih::formats::normalize;
use girih::ndarray::{Array1, Array2};
use girih::prelude::*;
use girih_generate::{SplitMix64, planted_partition};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let (papers, words) = (args.next().unwrap_or(Ok(1000))?, args.next().unwrap_or(Ok(64))?);
    let a = normalize::symmetric(&planted_partition::<f32>(papers, 4, 5, 0.2, 1)?.0)?;
    let mut rng = SplitMix64::new(2, 0);
    let mut random = |m: usize, n: usize| Array2::from_shape_fn((m, n), |_| rng.normal() as f32);
    let (x, w1, w2) = (random(papers, words), random(words, 16), random(16, 4));
    let bias = Array1::from_iter(random(1, 16));

    let relu = Epilogue::new().bias_per_column(&bias).activation(Activation::Relu);
    let prepared = a.plan(16)?.prepare_with(&relu)?;
    let start = Instant::now();
    let hidden = prepared.multiply_with(&x.dot(&w1), &relu)?;
    let scores = prepared.multiply(&hidden.dot(&w2))?;
    let ours = start.elapsed().as_secs_f64();

    let mut dense = Array2::<f32>::zeros((papers, papers));
    a.iter().for_each(|(i, j, value)| dense[[i, j]] = value);
    let start = Instant::now();
    let hidden = (dense.dot(&x.dot(&w1)) + &bias).mapv_into(|x| x.max(0.0));
    let expected = dense.dot(&hidden.dot(&w2));
    let plain = start.elapsed().as_secs_f64();
    let error = (&scores - &expected).iter().fold(0.0f32, |most, x| most.max(x.abs()));
    println!("{papers} papers on {}: {ours:.1e} s, dense {plain:.1e} s", prepared.backend());
    assert!(error < 1e-3, "off by {error}");
    Ok(())
}
