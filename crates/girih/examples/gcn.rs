//! A graph convolutional network (Kipf & Welling, ICLR 2017): forward, backward and Adam, on a generated
//! citation graph.
//!
//! `cargo run --release -p girih --example gcn [papers] [epochs]`
//!
//! `Â = D^(-1/2)·(A + I)·D^(-1/2)` is symmetric, so one prepared plan serves both directions. The checks:
//! the gradient against finite differences, and the accuracy on papers whose labels were not shown.

#![expect(clippy::print_stdout, reason = "an example")]

use std::time::Instant;

use girih::formats::normalize;
use girih::ndarray::{Array2, Zip};
use girih::prelude::*;
use girih_generate::SplitMix64;

const FIELDS: usize = 4;
const FEATURES: usize = 32;
const HIDDEN: usize = 16;

/// Who cites whom, words, and fields.
type Papers = (Csr<f32>, Array2<f32>, Vec<usize>);

/// Papers of several fields, which mostly cite their own, with noisy words that hint at the field.
fn citations(papers: usize) -> Result<Papers, girih::FormatError> {
    let mut rng = SplitMix64::new(1, 0);
    let field: Vec<usize> = (0..papers).map(|_| rng.below(FIELDS as u64) as usize).collect();
    let mut edges = Vec::new();
    for i in 0..papers {
        for _ in 0..5 {
            let strays = rng.unit() < 0.2;
            let cited = loop {
                let j = rng.below(papers as u64) as usize;
                if j != i && (strays || field[j] == field[i]) {
                    break j;
                }
            };
            edges.extend([(i, cited, 1.0), (cited, i, 1.0)]);
        }
    }
    let mut graph = Csr::from_triplets(papers, papers, edges)?;
    graph.values_mut().fill(1.0);
    let hint = |i: usize, j: usize| if j % FIELDS == field[i] { 0.3 } else { 0.0 };
    let words =
        Array2::from_shape_fn((papers, FEATURES), |(i, j)| hint(i, j) + rng.normal() as f32);
    Ok((graph, words, field))
}

/// Softmax of each row, minus 1 at the label, for the papers that are shown; zero for others. And the loss.
fn cross_entropy(scores: &Array2<f32>, field: &[usize], shown: usize) -> (Array2<f32>, f32) {
    let (mut gradient, mut loss) = (Array2::zeros(scores.dim()), 0.0);
    for i in 0..shown {
        let row = scores.row(i);
        let most = row.fold(f32::NEG_INFINITY, |most, &x| most.max(x));
        let sum: f32 = row.iter().map(|x| (x - most).exp()).sum();
        for j in 0..FIELDS {
            let share = (row[j] - most).exp() / sum;
            let label = f32::from(u8::from(j == field[i]));
            gradient[[i, j]] = (share - label) / shown as f32;
            loss -= label * share.ln() / shown as f32;
        }
    }
    (gradient, loss)
}

/// The two layers: `Â·relu(Â·X·W₁)·W₂`, with `Â·X` computed once.
struct Network<'a> {
    a: &'a Prepared,
    ax: Array2<f32>,
}

impl Network<'_> {
    /// Scores, and the hidden layer and its product with Â.
    fn forward(&self, w: &[Array2<f32>; 2]) -> Result<[Array2<f32>; 3], BackendError> {
        let hidden = self.ax.dot(&w[0]).mapv_into(|x| x.max(0.0));
        let spread = self.a.multiply(&hidden)?;
        Ok([spread.dot(&w[1]), hidden, spread])
    }

    /// Gradients of both weights, by the gradient of the scores.
    fn backward(
        &self,
        w: &[Array2<f32>; 2],
        [_, hidden, spread]: &[Array2<f32>; 3],
        by_scores: &Array2<f32>,
    ) -> Result<[Array2<f32>; 2], BackendError> {
        // Â is its own transpose.
        let mut by_hidden = self.a.multiply(&by_scores.dot(&w[1].t()))?;
        Zip::from(&mut by_hidden).and(hidden).for_each(|g, &h| *g *= f32::from(u8::from(h > 0.0)));
        Ok([self.ax.t().dot(&by_hidden), spread.t().dot(by_scores)])
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let (papers, epochs) = (args.next().unwrap_or(Ok(600))?, args.next().unwrap_or(Ok(60))?);

    let (graph, words, field) = citations(papers)?;
    let shown = papers / 10;
    let a = normalize::symmetric(&graph)?;
    assert!(a.is_symmetric());
    let prepared = a.plan(HIDDEN)?.prepare()?;
    let network = Network { a: &prepared, ax: prepared.multiply(&words)? };

    let mut rng = SplitMix64::new(2, 0);
    let mut random = |m: usize, n: usize| {
        let scale = (2.0 / (m + n) as f64).sqrt();
        Array2::from_shape_fn((m, n), |_| (scale * rng.normal()) as f32)
    };
    let mut w = [random(FEATURES, HIDDEN), random(HIDDEN, FIELDS)];
    check_gradient(&network, &w, &field, shown)?;

    let start = Instant::now();
    let mut moments = w.clone().map(|w| [Array2::<f32>::zeros(w.dim()), Array2::zeros(w.dim())]);
    let mut loss = f32::NAN;
    for epoch in 1..=epochs as i32 {
        let layers = network.forward(&w)?;
        let by_scores;
        (by_scores, loss) = cross_entropy(&layers[0], &field, shown);
        let gradients = network.backward(&w, &layers, &by_scores)?;
        let (b1, b2) = (0.9f32, 0.999f32);
        for ((w, gradient), [first, second]) in w.iter_mut().zip(&gradients).zip(&mut moments) {
            Zip::from(w).and(gradient).and(first).and(second).for_each(|w, &g, m, v| {
                *m = b1 * *m + (1.0 - b1) * g;
                *v = b2 * *v + (1.0 - b2) * g * g;
                let (m, v) = (*m / (1.0 - b1.powi(epoch)), *v / (1.0 - b2.powi(epoch)));
                *w -= 0.02 * m / (v.sqrt() + 1e-8);
            });
        }
    }
    let seconds = start.elapsed().as_secs_f64();

    let [scores, ..] = network.forward(&w)?;
    let guess = |i: usize| (0..FIELDS).max_by(|&j, &k| scores[[i, j]].total_cmp(&scores[[i, k]]));
    let right = (shown..papers).filter(|&i| guess(i) == Some(field[i])).count();
    let accuracy = right as f64 / (papers - shown) as f64;
    println!("{papers} papers, {} entries, on {}", a.nnz(), prepared.backend());
    println!(
        "{epochs} epochs in {seconds:.3} s: loss {loss:.3}, accuracy {:.1} %",
        100.0 * accuracy
    );
    assert!(accuracy > 0.8, "the network did not learn");
    Ok(())
}

/// Compares some derivatives with central differences.
fn check_gradient(
    network: &Network<'_>,
    w: &[Array2<f32>; 2],
    field: &[usize],
    shown: usize,
) -> Result<(), BackendError> {
    let layers = network.forward(w)?;
    let (by_scores, _) = cross_entropy(&layers[0], field, shown);
    let gradients = network.backward(w, &layers, &by_scores)?;
    for (layer, place) in [(0, [3, 5]), (0, [20, 11]), (1, [7, 2])] {
        let loss = |by: f32| -> Result<f32, BackendError> {
            let mut w = w.clone();
            w[layer][place] += by;
            Ok(cross_entropy(&network.forward(&w)?[0], field, shown).1)
        };
        let (found, expected) = (gradients[layer][place], (loss(0.02)? - loss(-0.02)?) / 0.04);
        assert!((found - expected).abs() < 2e-3, "{found} where {expected} is expected");
    }
    Ok(())
}
