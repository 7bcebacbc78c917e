//! How well coefficients predict.

use super::Observation;
use crate::device::{Quality, Terms};

/// The quality of coefficients on observations that they were not fitted on.
pub(super) fn quality(seconds: Terms, fitted_on: usize, held_out: &[Observation]) -> Quality {
    let count = held_out.len().max(1) as f64;
    let mean = held_out.iter().map(|o| o.seconds).sum::<f64>() / count;
    let (mut residual, mut total) = (0.0, 0.0);
    let (mut errors, mut largest) = (0.0, 0.0f64);
    for observation in held_out {
        let predicted = seconds.times(observation.terms).sum();
        let error = predicted - observation.seconds;
        residual += error * error;
        total += (observation.seconds - mean).powi(2);
        errors += error.abs() / observation.seconds;
        largest = largest.max(error.abs() / observation.seconds);
    }
    Quality {
        fitted_on: fitted_on as u32,
        held_out: held_out.len() as u32,
        r2: if total > 0.0 { 1.0 - residual / total } else { 0.0 },
        mean_relative_error: errors / count,
        max_relative_error: largest,
    }
}
