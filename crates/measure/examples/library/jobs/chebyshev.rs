//! A Chebyshev filter: `X ← 2·A·Y − X` again and again, with a spectrum between −1 and 1.

use girih::ndarray::Array2;
use girih::prelude::*;

use super::{Job, Multiply, array};
use crate::value::random;
use crate::{Failure, problem};

pub(super) fn job(name: &str, n: usize) -> Result<Option<Job<f64>>, Failure> {
    let Some(a) = problem::matrix::<f64>(name)? else { return Ok(None) };
    // By Gershgorin the spectrum of a positive definite A ends at the largest sum of absolute values in a row.
    let sums = a.rows().map(|(_, values)| values.iter().map(|v| v.abs()).sum());
    let half = sums.fold(0.0, f64::max) / 2.0;
    let mut a = a.add_scaled(-half, &Csr::identity(a.nrows())?)?;
    a.scale(2.0 / half);
    let arrays = vec![("x", random(a.nrows(), n, 1))];
    let matrix = name.to_owned();
    Ok(Some(Job { name: "chebyshev", matrix, a, n, steps: 20, arrays, run, tolerance: 1e-10 }))
}

/// A is twice the matrix of the filter.
fn run(
    a: &dyn Multiply<f64>,
    steps: usize,
    arrays: &[(&str, Array2<f64>)],
) -> Result<Array2<f64>, BackendError> {
    let mut before = array(arrays, "x").clone();
    let mut now = Array2::zeros(before.dim());
    a.multiply(&before, 0.0, &mut now)?;
    now /= 2.0;
    for _ in 1..steps {
        a.multiply(&now, -1.0, &mut before)?;
        std::mem::swap(&mut before, &mut now);
    }
    Ok(now)
}
