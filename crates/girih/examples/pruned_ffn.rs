//! A feed-forward layer of a language model (Shazeer, "GLU Variants Improve Transformer", 2020) with 90 % of its
//! 64×64 blocks pruned: `down · (gelu(gate·X) ⊙ up·X)`.
//!
//! `cargo run --release -p girih --example pruned_ffn [model width] [hidden width] [tokens]`
//!
//! Tokens are columns. The gate's GELU is applied in the kernel's store. The check: the same layer with dense
//! weights.

#![expect(clippy::print_stdout, reason = "an example")]

use std::time::Instant;

use girih::ndarray::Array2;
use girih::prelude::*;
use girih_generate::{SplitMix64, block_sparse};

const BLOCK: usize = 64;

/// Three pruned matrices, and gate, up and down prepared.
struct Layer {
    gate: Prepared,
    up: Prepared,
    down: Prepared,
}

impl Layer {
    fn new(
        [gate, up, down]: [&Csr<f32>; 3],
        tokens: usize,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let spec = FormatSpec::Bcsr { block_rows: BLOCK, block_cols: BLOCK };
        let options = PlanOptions::new(tokens).format(spec);
        Ok(Self {
            gate: gate.plan(options.clone())?.prepare_with(&Activation::Gelu.into())?,
            up: up.plan(options.clone())?.prepare()?,
            down: down.plan(options)?.prepare()?,
        })
    }

    fn forward(&self, x: &Array2<f32>) -> Result<Array2<f32>, BackendError> {
        let gate = self.gate.multiply_with(x, &Activation::Gelu.into())?;
        let hidden = gate * self.up.multiply(x)?;
        self.down.multiply(&hidden)
    }
}

/// The plain way: dense products, then a pass for the activation.
fn dense([gate, up, down]: &[Array2<f32>; 3], x: &Array2<f32>) -> Array2<f32> {
    let mut hidden = gate.dot(x);
    hidden.mapv_inplace(|x| Activation::Gelu.apply(f64::from(x)) as f32);
    down.dot(&(hidden * up.dot(x)))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let mut next = |or| args.next().unwrap_or(Ok(or));
    let (model, hidden, tokens) = (next(512)?, next(1408)?, next(64)?);

    // A block keeps its weights or loses all of them.
    let pruned = |rows, cols, seed| -> Result<Csr<f32>, girih::FormatError> {
        let mut weights = block_sparse::<f32>(rows, cols, BLOCK, 0.1, seed)?;
        weights.scale((10.0 / cols as f32).sqrt());
        Ok(weights)
    };
    let weights = [pruned(hidden, model, 1)?, pruned(hidden, model, 2)?, pruned(model, hidden, 3)?];
    let layer = Layer::new(weights.each_ref(), tokens)?;
    let mut rng = SplitMix64::new(1, 0);
    let x = Array2::from_shape_fn((model, tokens), |_| rng.normal() as f32);
    let full = weights.each_ref().map(|a| {
        let mut dense = Array2::zeros((a.nrows(), a.ncols()));
        a.iter().for_each(|(i, j, weight)| dense[[i, j]] = weight);
        dense
    });

    // The best of a few runs of each: the first one pays for cold caches.
    let best = |run: &mut dyn FnMut() -> Result<Array2<f32>, BackendError>| {
        let mut y = run()?;
        let mut seconds = f64::INFINITY;
        for _ in 0..5 {
            let start = Instant::now();
            y = run()?;
            seconds = seconds.min(start.elapsed().as_secs_f64());
        }
        Ok::<_, BackendError>((y, seconds))
    };
    let (found, ours) = best(&mut || layer.forward(&x))?;
    let (expected, plain) = best(&mut || Ok(dense(&full, &x)))?;

    let norm = |y: &Array2<f32>| y.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let error = norm(&(&found - &expected)) / norm(&expected);
    let kept: usize = weights.iter().map(Csr::nnz).sum();
    println!(
        "{model} → {hidden} → {model}, {tokens} tokens, {kept} weights kept, {}",
        layer.gate.spec()
    );
    println!("{ours:.2e} s, dense {plain:.2e} s: {:.1} times; error {error:.1e}", plain / ours);
    assert!(error < 1e-5, "the pruned layer is not the dense one with zeros");
    Ok(())
}
