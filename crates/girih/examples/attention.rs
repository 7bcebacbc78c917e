//! A block of sparse attention, as on the edges of a graph (Veličković et al., "Graph Attention Networks", ICLR
//! 2018; with the dot products of Vaswani et al., 2017): forward and backward.
//!
//! `cargo run --release -p girih --example attention [vertices] [features]`
//!
//! `P = softmax(Q·Kᵀ/√d ⊙ edges)` row by row, `O = P·V`. Scores are a sampled product (SDDMM), and one prepared
//! plan takes the weights P of every step as new values. The checks: dense attention with a mask, and the
//! gradients against finite differences.

#![expect(clippy::print_stdout, reason = "an example")]

use std::time::Instant;

use girih::ndarray::{Array2, Axis};
use girih::prelude::*;
use girih_generate::{SplitMix64, rmat};

type Matrix = Array2<f64>;

/// Plans of the edges: for `P·V`, and for products with `Pᵀ`.
struct Attention {
    edges: Csr<f64>,
    plain: Prepared,
    transposed: Prepared,
}

impl Attention {
    fn new(edges: Csr<f64>, d: usize) -> Result<Self, Box<dyn std::error::Error>> {
        let plain = edges.plan(d)?.prepare()?;
        let transposed = edges.plan(PlanOptions::new(d).op(Op::Transpose))?;
        let transposed = transposed.prepare()?;
        Ok(Self { edges, plain, transposed })
    }

    /// P and O.
    fn forward(&mut self, [q, k, v]: [&Matrix; 3]) -> Result<(Csr<f64>, Matrix), girih::SpmmError> {
        let mut p = girih::sddmm(&self.edges, q, k)?;
        p.scale(1.0 / (q.ncols() as f64).sqrt());
        p.row_softmax();
        self.plain.refresh(p.values())?;
        let o = self.plain.multiply(v)?;
        Ok((p, o))
    }

    /// Gradients by Q, K and V, of the gradient by O.
    fn backward(
        &mut self,
        p: &Csr<f64>,
        [q, k, v]: [&Matrix; 3],
        by_o: &Matrix,
    ) -> Result<[Matrix; 3], girih::SpmmError> {
        self.transposed.refresh(p.values())?;
        let by_v = self.transposed.multiply(by_o)?;
        // The gradient by P along the edges, then through the softmax.
        let mut by_scores = girih::sddmm(&self.edges, by_o, v)?;
        by_scores.row_softmax_gradient(p)?;
        by_scores.scale(1.0 / (q.ncols() as f64).sqrt());
        self.plain.refresh(by_scores.values())?;
        self.transposed.refresh(by_scores.values())?;
        Ok([self.plain.multiply(k)?, self.transposed.multiply(q)?, by_v])
    }
}

/// The plain way: all scores, a mask.
fn dense([q, k, v]: [&Matrix; 3], mask: &Matrix) -> Matrix {
    let mut p = q.dot(&k.t()) / (q.ncols() as f64).sqrt();
    p.zip_mut_with(mask, |score, &edge| *score = if edge == 0.0 { 0.0 } else { score.exp() });
    let sums = p.sum_axis(Axis(1)).insert_axis(Axis(1));
    p.dot(v) / sums.mapv(|sum| if sum == 0.0 { 1.0 } else { sum })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let (m, d) = (args.next().unwrap_or(Ok(512usize))?, args.next().unwrap_or(Ok(16))?);
    let edges = rmat::<f64>(m.next_power_of_two().ilog2(), 8, 1)?;
    let (m, mut rng) = (edges.nrows(), SplitMix64::new(1, 0));
    let inputs = [0; 3].map(|_| Matrix::from_shape_fn((m, d), |_| rng.normal()));
    let mut attention = Attention::new(edges, d)?;

    let start = Instant::now();
    let (p, o) = attention.forward(inputs.each_ref())?;
    let ours = start.elapsed().as_secs_f64();
    let mut mask = Matrix::zeros((m, m));
    attention.edges.iter().for_each(|(i, j, _)| mask[[i, j]] = 1.0);
    let start = Instant::now();
    let expected = dense(inputs.each_ref(), &mask);
    let plain = start.elapsed().as_secs_f64();
    let error = (&o - &expected).iter().fold(0.0f64, |most, x| most.max(x.abs()));
    println!(
        "{m} vertices, {} edges, d = {d}: forward in {ours:.4} s, dense {plain:.4} s",
        p.nnz()
    );
    assert!(error < 1e-10, "off by {error}");

    // The loss is the sum of w ⊙ O.
    let w = Matrix::from_shape_fn((m, d), |_| rng.normal());
    let gradients = attention.backward(&p, inputs.each_ref(), &w)?;
    let busy = (0..m).max_by_key(|&i| p.row_range(i).len()).unwrap_or(0);
    let cited = p.row(busy).0[0] as usize;
    for (which, place) in [(0, [busy, 3]), (1, [cited, 5]), (2, [cited, 0])] {
        let mut loss = |by: f64| -> Result<f64, girih::SpmmError> {
            let mut moved = inputs.clone();
            moved[which][place] += by;
            Ok((attention.forward(moved.each_ref())?.1 * &w).sum())
        };
        let (found, expected) = (gradients[which][place], (loss(1e-5)? - loss(-1e-5)?) / 2e-5);
        assert!((found - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{found}, {expected}");
    }
    Ok(())
}
