//! Personalized `PageRank` for many sources, as the example of `girih` of that name computes it.

use girih::formats::normalize;
use girih::ndarray::Array2;
use girih::prelude::*;

use super::{Job, Multiply, array};
use crate::{Failure, problem};

const DAMPING: f64 = 0.85;

pub(super) fn job(name: &str, n: usize) -> Result<Option<Job<f64>>, Failure> {
    let Some(mut graph) = problem::matrix::<f64>(name)? else { return Ok(None) };
    graph.values_mut().fill(1.0);
    let p = normalize::row_stochastic(&graph);
    let m = p.nrows();
    let sources = Array2::from_shape_fn((n, 1), |(j, _)| (j * (m / n)) as f64);
    let mut x = Array2::zeros((m, n));
    (0..n).for_each(|j| x[[j * (m / n), j]] = 1.0);
    let dangling =
        Array2::from_shape_fn((m, 1), |(i, _)| f64::from(u8::from(p.row_range(i).is_empty())));
    let mut a = p.t();
    a.scale(DAMPING);
    let arrays = vec![("x", x), ("sources", sources), ("dangling", dangling)];
    let matrix = name.to_owned();
    Ok(Some(Job { name: "pagerank", matrix, a, n, steps: 20, arrays, run, tolerance: 1e-12 }))
}

fn run(
    a: &dyn Multiply<f64>,
    steps: usize,
    arrays: &[(&str, Array2<f64>)],
) -> Result<Array2<f64>, BackendError> {
    let (mut x, sources) = (array(arrays, "x").clone(), array(arrays, "sources"));
    let dangling: Vec<usize> =
        (0..x.nrows()).filter(|&i| array(arrays, "dangling")[[i, 0]] != 0.0).collect();
    let mut next = Array2::zeros(x.dim());
    for _ in 0..steps {
        a.multiply(&x, 0.0, &mut next)?;
        let mut lost = vec![0.0; x.ncols()];
        for &i in &dangling {
            lost.iter_mut().zip(x.row(i)).for_each(|(sum, x)| *sum += x);
        }
        for (j, lost) in lost.into_iter().enumerate() {
            next[[sources[[j, 0]] as usize, j]] += 1.0 - DAMPING + DAMPING * lost;
        }
        std::mem::swap(&mut x, &mut next);
    }
    Ok(x)
}
