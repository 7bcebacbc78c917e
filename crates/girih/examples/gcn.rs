//! A graph convolutional network (Kipf & Welling, ICLR 2017): forward, backward and Adam, on a generated
//! citation graph.
//!
//! `cargo run --release -p girih --example gcn [papers] [epochs]`
//!
//! `Â = D^(-1/2)·(A + I)·D^(-1/2)` is symmetric, so one prepared plan serves both directions. The checks:
//! the gradient against finite differences, and the accuracy on papers whose labels were not shown.

#![expect(clippy::print_stdout, reason = "an example")]

mod dense;
mod training;

use std::time::Instant;

use dense::by_rows;
use girih::formats::normalize;
use girih::ndarray::{Array2, Zip};
use girih::prelude::*;
use girih_generate::{SplitMix64, planted_partition};
use training::{Adam, Labels, Matrix, check_gradients};

const FIELDS: usize = 4;
const WORDS: usize = 32;
const HIDDEN: usize = 16;

/// The two layers: `Â·relu(Â·X·W₁)·W₂`, with `Â·X` computed once.
struct Network<'a> {
    multiply: &'a dyn Fn(&Matrix) -> Result<Matrix, BackendError>,
    ax: Matrix,
}

impl Network<'_> {
    /// Scores, and the hidden layer and its product with Â.
    fn forward(&self, w: &[Matrix]) -> Result<[Matrix; 3], BackendError> {
        let hidden = self.ax.dot(&w[0]).mapv_into(|x| x.max(0.0));
        let spread = (self.multiply)(&hidden)?;
        Ok([spread.dot(&w[1]), hidden, spread])
    }

    /// The loss, and its gradient by both weights.
    fn backward(&self, w: &[Matrix], labels: &Labels) -> Result<(f32, [Matrix; 2]), BackendError> {
        let [scores, hidden, spread] = self.forward(w)?;
        let (loss, by_scores) = labels.cross_entropy(&scores);
        // Â is its own transpose.
        let mut by_hidden = (self.multiply)(&by_scores.dot(&w[1].t()))?;
        Zip::from(&mut by_hidden).and(&hidden).for_each(|g, &h| *g *= f32::from(u8::from(h > 0.0)));
        Ok((loss, [self.ax.t().dot(&by_hidden), spread.t().dot(&by_scores)]))
    }

    /// Trains, and gives the loss.
    fn train(&self, w: &mut [Matrix], labels: &Labels, epochs: usize) -> Result<f32, BackendError> {
        let (mut adam, mut loss) = (Adam::new(w), f32::NAN);
        for _ in 0..epochs {
            let gradients;
            (loss, gradients) = self.backward(w, labels)?;
            adam.update(w, &gradients);
        }
        Ok(loss)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let (papers, epochs) = (args.next().unwrap_or(Ok(600))?, args.next().unwrap_or(Ok(60))?);
    let (graph, of) = planted_partition::<f32>(papers, FIELDS, 5, 0.2, 1)?;
    let labels = Labels { of, classes: FIELDS, shown: papers / 10 };
    let mut rng = SplitMix64::new(2, 0);
    let mut random = |m: usize, n: usize, scale: f64| {
        Array2::from_shape_fn((m, n), |_| (scale * rng.normal()) as f32)
    };
    let mut words = random(papers, WORDS, 1.0);
    words.indexed_iter_mut().for_each(|((i, j), x)| {
        *x += if j % FIELDS == labels.of[i] { 0.3 } else { 0.0 };
    });
    let w = [random(WORDS, HIDDEN, 0.2), random(HIDDEN, FIELDS, 0.3)];

    let a = normalize::symmetric(&graph)?;
    assert!(a.is_symmetric());
    let prepared = a.plan(HIDDEN)?.prepare()?;
    let ax = prepared.multiply(&words)?;
    let network = Network { multiply: &|b| prepared.multiply(b), ax: ax.clone() };
    let gradients = network.backward(&w, &labels)?.1;
    check_gradients(&w, &gradients, |w| network.backward(w, &labels).map(|(loss, _)| loss))?;

    let (mut trained, mut again) = (w.clone(), w);
    let start = Instant::now();
    let loss = network.train(&mut trained, &labels, epochs)?;
    let ours = start.elapsed().as_secs_f64();
    let start = Instant::now();
    Network { multiply: &|b| Ok(by_rows(&a, b)), ax }.train(&mut again, &labels, epochs)?;
    let plain = start.elapsed().as_secs_f64();

    let accuracy = labels.accuracy(&network.forward(&trained)?[0]);
    println!("{papers} papers, {} entries, on {}", a.nnz(), prepared.backend());
    println!("{epochs} epochs: {ours:.3} s, row by row {plain:.3} s");
    println!("loss {loss:.3}, accuracy {:.1} %", 100.0 * accuracy);
    assert!(accuracy > 0.8, "the network did not learn");
    Ok(())
}
