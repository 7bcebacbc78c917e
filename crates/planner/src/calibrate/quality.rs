//! How well coefficients predict.

use super::Prediction;
use crate::device::Quality;

/// How good predictions are, of one format's products or of several formats' together.
#[must_use]
pub fn quality(predictions: &[Prediction]) -> Quality {
    let count = predictions.len().max(1) as f64;
    let mean = predictions.iter().map(|p| p.measured).sum::<f64>() / count;
    let (mut residual, mut total) = (0.0, 0.0);
    let (mut errors, mut largest) = (0.0, 0.0f64);
    for Prediction { predicted, measured } in predictions {
        let error = predicted - measured;
        residual += error * error;
        total += (measured - mean).powi(2);
        errors += error.abs() / measured;
        largest = largest.max(error.abs() / measured);
    }
    Quality {
        held_out: predictions.len() as u32,
        r2: if total > 0.0 { 1.0 - residual / total } else { 0.0 },
        mean_relative_error: errors / count,
        max_relative_error: largest,
    }
}
