//! Block conjugate gradients (O'Leary 1980), as the example of `girih` of that name computes them.

use girih::ndarray::{Array2, Axis};
use girih::prelude::*;

use super::{Job, Multiply, array};
use crate::value::random;
use crate::{Failure, problem};

pub(super) fn job(name: &str, n: usize) -> Result<Option<Job<f64>>, Failure> {
    let Some(a) = problem::matrix::<f64>(name)? else { return Ok(None) };
    let arrays = vec![("b", random(a.nrows(), n, 1))];
    let matrix = name.to_owned();
    Ok(Some(Job { name: "block_cg", matrix, a, n, steps: 10, arrays, run, tolerance: 1e-9 }))
}

/// Solves a small system by Gauss and Jordan; the matrix is positive definite.
fn solve(mut g: Array2<f64>, mut f: Array2<f64>) -> Array2<f64> {
    for j in 0..g.nrows() {
        let (row, right) = (g.row(j).to_owned(), f.row(j).to_owned());
        for i in (0..g.nrows()).filter(|&i| i != j) {
            let factor = -g[[i, j]] / row[j];
            g.row_mut(i).scaled_add(factor, &row);
            f.row_mut(i).scaled_add(factor, &right);
        }
    }
    f / g.diag().insert_axis(Axis(1))
}

fn run(
    a: &dyn Multiply<f64>,
    steps: usize,
    arrays: &[(&str, Array2<f64>)],
) -> Result<Array2<f64>, BackendError> {
    let b = array(arrays, "b");
    let (mut x, mut r, mut p) = (Array2::zeros(b.dim()), b.clone(), b.clone());
    let (mut q, mut rr) = (Array2::zeros(b.dim()), r.t().dot(&r));
    for _ in 0..steps {
        a.multiply(&p, 0.0, &mut q)?;
        let step = solve(p.t().dot(&q), rr.clone());
        x += &p.dot(&step);
        r -= &q.dot(&step);
        let rr_next = r.t().dot(&r);
        p = &r + &p.dot(&solve(rr, rr_next.clone()));
        rr = rr_next;
    }
    Ok(x)
}
