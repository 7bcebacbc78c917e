//! How well coefficients predict.

use crate::device::Quality;

/// The quality of predictions of times, each by coefficients that were found without it: pairs of what
/// was predicted and what was measured.
pub(super) fn quality(pairs: &[(f64, f64)]) -> Quality {
    let count = pairs.len().max(1) as f64;
    let mean = pairs.iter().map(|(_, measured)| measured).sum::<f64>() / count;
    let (mut residual, mut total) = (0.0, 0.0);
    let (mut errors, mut largest) = (0.0, 0.0f64);
    for (predicted, measured) in pairs {
        let error = predicted - measured;
        residual += error * error;
        total += (measured - mean).powi(2);
        errors += error.abs() / measured;
        largest = largest.max(error.abs() / measured);
    }
    Quality {
        held_out: pairs.len() as u32,
        r2: if total > 0.0 { 1.0 - residual / total } else { 0.0 },
        mean_relative_error: errors / count,
        max_relative_error: largest,
    }
}
