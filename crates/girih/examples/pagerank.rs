//! Personalized `PageRank` for many sources at once: one column of B for each.
//!
//! `cargo run --release -p girih --example pagerank [scale of the graph] [sources]`
//!
//! Each step is `X ← d·Pᵀ·X + (restart)`, P the row-stochastic adjacency matrix. The planner transposes it
//! (`Op::Transpose`), and the product with α = d is added in place. The check: every column is a
//! distribution and a fixed point, and a source that no edge leaves keeps all of its rank.

#![expect(clippy::print_stdout, reason = "an example")]

mod dense;

use std::time::Instant;

use dense::by_rows;
use girih::formats::normalize;
use girih::ndarray::{Array2, Axis, Zip};
use girih::prelude::*;
use girih_generate::rmat;

const DAMPING: f64 = 0.85;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse());
    let (scale, n) = (args.next().unwrap_or(Ok(10))?, args.next().unwrap_or(Ok(32))?);

    let mut graph = rmat::<f64>(scale as u32, 8, 1)?;
    graph.values_mut().fill(1.0);
    let p = normalize::row_stochastic(&graph);
    let dangling: Vec<usize> = (0..p.nrows()).filter(|&i| p.row_range(i).is_empty()).collect();
    let prepared = p.plan(PlanOptions::new(n).op(Op::Transpose))?.prepare()?;

    // Source j restarts at vertex j·stride; what vertices without edges hold goes back there too.
    let source = |j: usize| j * (p.nrows() / n);
    let step = |x: &Array2<f64>, next: &mut Array2<f64>| -> Result<(), BackendError> {
        next.fill(0.0);
        for j in 0..n {
            let lost: f64 = dangling.iter().map(|&i| x[[i, j]]).sum();
            next[[source(j), j]] = 1.0 - DAMPING + DAMPING * lost;
        }
        prepared.multiply_into(DAMPING, x, 1.0, next)
    };
    let change = |x: &Array2<f64>, y: &Array2<f64>| {
        Zip::from(x).and(y).fold(0.0f64, |most, x, y| most.max((x - y).abs()))
    };

    let start = Instant::now();
    let mut x = Array2::<f64>::zeros((p.nrows(), n));
    (0..n).for_each(|j| x[[source(j), j]] = 1.0);
    let (mut next, mut steps) = (x.clone(), 0);
    loop {
        step(&x, &mut next)?;
        std::mem::swap(&mut x, &mut next);
        steps += 1;
        if change(&x, &next) < 1e-12 {
            break;
        }
    }
    let seconds = start.elapsed().as_secs_f64();

    println!("{} vertices, {} edges, {n} sources on {}", p.nrows(), p.nnz(), prepared.backend());
    println!("{steps} steps in {seconds:.3} s, {} vertices without edges", dangling.len());
    // The plain way to a step's product.
    let pt = p.t();
    let start = Instant::now();
    let plain = by_rows(&pt, &x);
    let (plainly, start) = (start.elapsed().as_secs_f64(), Instant::now());
    let product = prepared.multiply(&x)?;
    let ours = start.elapsed().as_secs_f64();
    println!("a product in {ours:.1e} s, row by row in {plainly:.1e} s");
    assert!(change(&product, &plain) < 1e-12);
    for sum in x.sum_axis(Axis(0)) {
        assert!((sum - 1.0).abs() < 1e-9, "ranks sum to {sum}");
    }
    step(&x, &mut next)?;
    assert!(change(&x, &next) < 1e-12 && x.iter().all(|&rank| rank >= 0.0));
    for j in (0..n).filter(|&j| dangling.contains(&source(j))) {
        assert!((x[[source(j), j]] - 1.0).abs() < 1e-9, "nothing leads away from source {j}");
    }
    Ok(())
}
