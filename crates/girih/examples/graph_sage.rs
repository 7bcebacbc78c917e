//! `GraphSAGE` (Hamilton, Ying and Leskovec, 2017): layers that take the mean or the maximum over a
//! vertex's neighbours.
//!
//! `cargo run --release -p girih --example graph_sage [scale of the graph] [features]`
//!
//! `H' = relu(H·W₁ + aggregate(H)·W₂)`, rows scaled to length 1 (algorithm 1 of the paper). The checks: the same
//! layers vertex by vertex, and that a maximum tells whether some neighbour is marked, however many there are,
//! where a mean fades.

#![expect(clippy::print_stdout, reason = "an example")]

use std::time::Instant;

use girih::ndarray::{Array1, Array2};
use girih::prelude::*;
use girih_generate::{SplitMix64, rmat};

const LAYERS: usize = 2;

type Features = Array2<f32>;

/// One layer, of features and what was aggregated of them.
fn layer(h: &Features, neighbours: &Features, [own, others]: &[Features; 2]) -> Features {
    let mut next = (h.dot(own) + neighbours.dot(others)).mapv_into(|x| x.max(0.0));
    for mut row in next.rows_mut() {
        let length = row.dot(&row).sqrt();
        if length > 0.0 {
            row /= length;
        }
    }
    next
}

/// The plain way: neighbour by neighbour.
fn by_hand(graph: &Csr<f32>, aggregation: Aggregation, h: &Features) -> Features {
    let mut out = Features::zeros(h.dim());
    for (mut out, (neighbours, _)) in out.rows_mut().into_iter().zip(graph.rows()) {
        let rows = neighbours.iter().map(|&j| h.row(j as usize).to_owned());
        let combine = |x: Array1<f32>, y: Array1<f32>| match aggregation {
            Aggregation::Mean => x + y,
            _ => x.iter().zip(&y).map(|(&x, &y)| x.max(y)).collect(),
        };
        if let Some(all) = rows.reduce(combine) {
            out.assign(&all);
        }
        if aggregation == Aggregation::Mean {
            out /= neighbours.len().max(1) as f32;
        }
    }
    out
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let (scale, n) = (args.next().unwrap_or(Ok(11))?, args.next().unwrap_or(Ok(32))?);
    let mut graph = rmat::<f32>(scale as u32, 8, 1)?;
    graph.values_mut().fill(1.0);
    let m = graph.nrows();
    // Rows are aggregated entry by entry, which is what CSR holds.
    let plan = graph.plan(PlanOptions::new(n).format(FormatSpec::Csr))?;
    let mut rng = SplitMix64::new(1, 0);
    let mut random = |rows| Features::from_shape_fn((rows, n), |_| rng.normal() as f32);
    let (features, weights) = (random(m), [0; LAYERS].map(|_| [random(n), random(n)]));
    println!("{m} vertices, {} edges, {n} features, {LAYERS} layers", graph.nnz());

    for aggregation in [Aggregation::Mean, Aggregation::Max] {
        let prepared = plan.prepare_aggregating(aggregation)?;
        let (mut found, mut expected) = (features.clone(), features.clone());
        let (mut ours, mut plain) = (0.0, 0.0);
        for weights in &weights {
            let start = Instant::now();
            let neighbours = prepared.aggregate(aggregation, &found)?;
            ours += start.elapsed().as_secs_f64();
            found = layer(&found, &neighbours, weights);
            let start = Instant::now();
            let neighbours = by_hand(&graph, aggregation, &expected);
            plain += start.elapsed().as_secs_f64();
            expected = layer(&expected, &neighbours, weights);
        }
        let error = (&found - &expected).iter().fold(0.0f32, |most, x| most.max(x.abs()));
        println!("{aggregation:?} on {}: {ours:.1e} s, by hand {plain:.1e} s", prepared.backend());
        assert!(error < 1e-4, "{aggregation:?} is off by {error}");
    }

    // One feature: 1 where a vertex is marked. Of those beside it the maximum says so alike.
    let prepared = plan.prepare_aggregating(Aggregation::Max)?;
    let marked: Vec<f32> = (0..m).map(|i| f32::from(u8::from(i % 97 == 0))).collect();
    let [most, mean] =
        [Aggregation::Max, Aggregation::Mean].map(|how| prepared.aggregate(how, &marked));
    for ((most, mean), (neighbours, _)) in most?.iter().zip(mean?).zip(graph.rows()) {
        let count = neighbours.iter().filter(|&&j| j % 97 == 0).count();
        let share = count as f32 / neighbours.len().max(1) as f32;
        assert!(*most == f32::from(u8::from(count > 0)) && (mean - share).abs() < 1e-6);
    }
    Ok(())
}
