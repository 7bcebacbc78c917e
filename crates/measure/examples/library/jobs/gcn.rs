//! Gradient descent for two graph convolutions: `Â·relu(Â·X·W₁)·W₂`, least squares.

use girih::formats::normalize;
use girih::ndarray::{Array2, Zip};
use girih::prelude::*;

use super::{Job, Multiply, array};
use crate::value::random;
use crate::{Failure, problem};

const CLASSES: usize = 8;

/// `n` columns of words and of the hidden layer.
pub(super) fn job(name: &str, n: usize) -> Result<Option<Job<f32>>, Failure> {
    let Some(graph) = problem::matrix::<f32>(name)? else { return Ok(None) };
    let mut graph = graph.add(&graph.t())?;
    graph.values_mut().fill(1.0);
    let a = normalize::symmetric(&graph)?;
    let m = a.nrows();
    let (x, wanted) = (random(m, n, 1), random(m, CLASSES, 2));
    let [w1, w2] = [random::<f32>(n, n, 3), random(n, CLASSES, 4)].map(|w| w * 0.1);
    let arrays = vec![("x", x), ("w1", w1), ("w2", w2), ("wanted", wanted)];
    let matrix = name.to_owned();
    Ok(Some(Job { name: "gcn", matrix, a, n, steps: 5, arrays, run, tolerance: 1e-3 }))
}

fn run(
    a: &dyn Multiply<f32>,
    steps: usize,
    arrays: &[(&str, Array2<f32>)],
) -> Result<Array2<f32>, BackendError> {
    let [x, wanted] = ["x", "wanted"].map(|name| array(arrays, name));
    let [mut w1, mut w2] = ["w1", "w2"].map(|name| array(arrays, name).clone());
    let mut ax = Array2::zeros(x.dim());
    let [mut spread, mut by_hidden] = [0; 2].map(|_| Array2::zeros((x.nrows(), w1.ncols())));
    a.multiply(x, 0.0, &mut ax)?;
    let rate = 1.0 / x.nrows() as f32;
    for _ in 0..steps {
        let hidden = ax.dot(&w1).mapv_into(|x| x.max(0.0));
        a.multiply(&hidden, 0.0, &mut spread)?;
        let by_scores = spread.dot(&w2) - wanted;
        a.multiply(&by_scores.dot(&w2.t()), 0.0, &mut by_hidden)?;
        Zip::from(&mut by_hidden).and(&hidden).for_each(|g, &h| {
            *g *= f32::from(u8::from(h > 0.0));
        });
        w2.scaled_add(-rate, &spread.t().dot(&by_scores));
        w1.scaled_add(-rate, &ax.t().dot(&by_hidden));
    }
    Ok(spread.dot(&w2))
}
