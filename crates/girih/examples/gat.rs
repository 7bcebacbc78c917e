//! A graph attention network (Veličković et al., ICLR 2018), one head a layer: forward, backward and Adam, on a
//! generated citation graph.
//!
//! `cargo run --release -p girih --example gat [papers] [epochs]`
//!
//! A layer is `P·H` with `H = X·W` and `P = softmax(leaky_relu(s_i + t_j))` along edges, s and t products of H with two
//! vectors. The scores are a sampled product of `[s 1]` and `[1 t]`; P is new values on the pattern of the edges,
//! prepared for products with P and Pᵀ as a pair. The checks: the layer edge by edge, gradients against finite
//! differences, and the accuracy on papers whose labels were not shown.

#![expect(clippy::print_stdout, reason = "an example")]

mod training;

use std::time::Instant;

use girih::ndarray::{Array2, ArrayView1, Zip};
use girih::prelude::*;
use girih::{PlanPair, PreparedPair, SpmmError};
use girih_generate::{SplitMix64, planted_partition};
use training::{Adam, Labels, Matrix, check_gradients};

const FIELDS: usize = 4;
const WORDS: usize = 32;
const HIDDEN: usize = 16;

/// Edges, and where a layer keeps its weights P.
struct Layer<'a> {
    edges: &'a Csr<f32>,
    pair: PreparedPair,
}

/// What a layer computed on the way forward.
struct Forward {
    x: Matrix,
    h: Matrix,
    scores: Csr<f32>,
    p: Csr<f32>,
    out: Matrix,
}

/// A column of scores and one of ones, which comes first if `ones_first`.
fn with_ones(scores: &ArrayView1<'_, f32>, ones_first: bool) -> Matrix {
    let element = |(i, j)| if (j == 0) == ones_first { 1.0 } else { scores[i] };
    Matrix::from_shape_fn((scores.len(), 2), element)
}

const fn leaky(x: f32) -> f32 {
    if x > 0.0 { x } else { 0.2 * x }
}

impl Layer<'_> {
    /// Of features and the weights W and `[s t]`.
    fn forward(&mut self, x: Matrix, [w, heads]: [&Matrix; 2]) -> Result<Forward, SpmmError> {
        let h = x.dot(w);
        let st = h.dot(heads);
        let (left, right) = (with_ones(&st.column(0), false), with_ones(&st.column(1), true));
        let scores = girih::sddmm(self.edges, &left, &right)?;
        let mut p = scores.clone();
        p.values_mut().iter_mut().for_each(|x| *x = leaky(*x));
        p.row_softmax();
        self.pair.refresh(p.values())?;
        let out = self.pair.multiply(&h)?;
        Ok(Forward { x, h, scores, p, out })
    }

    /// Gradients by X, W and `[s t]`, of the gradient by what came out.
    fn backward(
        &self,
        done: &Forward,
        [w, heads]: [&Matrix; 2],
        by_out: &Matrix,
    ) -> Result<[Matrix; 3], SpmmError> {
        let mut by_scores = girih::sddmm(self.edges, by_out, &done.h)?;
        by_scores.row_softmax_gradient(&done.p)?;
        let pairs = by_scores.values_mut().iter_mut().zip(done.scores.values().iter());
        pairs.for_each(|(g, &score)| *g *= if score > 0.0 { 1.0 } else { 0.2 });
        let by_st = [by_scores.row_sums(), by_scores.col_sums()];
        let by_st = Array2::from_shape_fn((done.h.nrows(), 2), |(i, j)| by_st[j][i]);
        let by_h = self.pair.multiply_transposed(by_out)? + by_st.dot(&heads.t());
        Ok([by_h.dot(&w.t()), done.x.t().dot(&by_h), done.h.t().dot(&by_st)])
    }
}

/// Two layers, with `relu` between.
struct Network<'a>([Layer<'a>; 2]);

impl Network<'_> {
    fn forward(&mut self, x: &Matrix, w: &[Matrix]) -> Result<[Forward; 2], SpmmError> {
        let first = self.0[0].forward(x.clone(), [&w[0], &w[1]])?;
        let hidden = first.out.mapv(|x| x.max(0.0));
        Ok([first, self.0[1].forward(hidden, [&w[2], &w[3]])?])
    }

    /// The loss, and its gradient by the four weights.
    fn backward(
        &mut self,
        x: &Matrix,
        w: &[Matrix],
        labels: &Labels,
    ) -> Result<(f32, [Matrix; 4]), SpmmError> {
        let [first, second] = self.forward(x, w)?;
        let (loss, by_scores) = labels.cross_entropy(&second.out);
        let [mut by_hidden, w2, heads2] =
            self.0[1].backward(&second, [&w[2], &w[3]], &by_scores)?;
        Zip::from(&mut by_hidden).and(&first.out).for_each(|g, &x| {
            *g *= f32::from(u8::from(x > 0.0));
        });
        let [_, w1, heads1] = self.0[0].backward(&first, [&w[0], &w[1]], &by_hidden)?;
        Ok((loss, [w1, heads1, w2, heads2]))
    }
}

/// The plain way to a layer: edge by edge.
fn by_edges(edges: &Csr<f32>, h: &Matrix, heads: &Matrix) -> Matrix {
    let (st, mut out) = (h.dot(heads), Matrix::zeros(h.dim()));
    for (i, (cited, _)) in edges.rows().enumerate() {
        let weight = |j: u32| leaky(st[[i, 0]] + st[[j as usize, 1]]).exp();
        let sum: f32 = cited.iter().map(|&j| weight(j)).sum();
        for &j in cited {
            out.row_mut(i).scaled_add(weight(j) / sum, &h.row(j as usize));
        }
    }
    out
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let (papers, epochs) = (args.next().unwrap_or(Ok(600))?, args.next().unwrap_or(Ok(60))?);
    let (graph, of) = planted_partition::<f32>(papers, FIELDS, 5, 0.2, 1)?;
    // Papers attend to themselves, too.
    let edges = graph.add(&Csr::identity(papers)?)?;
    let labels = Labels { of, classes: FIELDS, shown: papers / 10 };
    let mut rng = SplitMix64::new(2, 0);
    let mut random = |m: usize, n: usize, scale: f64| {
        Array2::from_shape_fn((m, n), |_| (scale * rng.normal()) as f32)
    };
    let mut words = random(papers, WORDS, 1.0);
    words.indexed_iter_mut().for_each(|((i, j), x)| {
        *x += if j % FIELDS == labels.of[i] { 0.3 } else { 0.0 };
    });
    let mut w = [(WORDS, HIDDEN), (HIDDEN, 2), (HIDDEN, FIELDS), (FIELDS, 2)]
        .map(|(m, n)| random(m, n, 0.3));

    let layer = |n| -> Result<_, Box<dyn std::error::Error>> {
        Ok(Layer { edges: &edges, pair: PlanPair::for_any_values(&edges, n)?.prepare()? })
    };
    let mut network = Network([layer(HIDDEN)?, layer(FIELDS)?]);
    let start = Instant::now();
    let [first, _] = network.forward(&words, &w)?;
    let ours = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let plainly = by_edges(&edges, &first.h, &w[1]);
    let plain = start.elapsed().as_secs_f64();
    assert!((&first.out - &plainly).iter().all(|x| x.abs() < 1e-4), "a layer is off");
    println!("{papers} papers, {} edges: both layers {ours:.1e} s", edges.nnz());
    println!("one layer edge by edge: {plain:.1e} s");

    let gradients = network.backward(&words, &w, &labels)?.1;
    check_gradients(&w, &gradients, |w| {
        network.backward(&words, w, &labels).map(|(loss, _)| loss)
    })?;
    let (start, mut adam, mut loss) = (Instant::now(), Adam::new(&w), f32::NAN);
    for _ in 0..epochs {
        let gradients;
        (loss, gradients) = network.backward(&words, &w, &labels)?;
        adam.update(&mut w, &gradients);
    }
    let seconds = start.elapsed().as_secs_f64();
    let accuracy = labels.accuracy(&network.forward(&words, &w)?[1].out);
    println!(
        "{epochs} epochs in {seconds:.3} s: loss {loss:.3}, accuracy {:.1} %",
        100.0 * accuracy
    );
    assert!(accuracy > 0.8, "the network did not learn");
    Ok(())
}
