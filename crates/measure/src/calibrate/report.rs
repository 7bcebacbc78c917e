//! What a calibration found.

use girih::planner::device::{Quality, Terms};
use serde::Serialize;

/// What a calibration found.
#[derive(Debug, Serialize)]
pub struct CalibrationReport {
    /// The name of the device.
    pub device: String,
    /// The number of matrices.
    pub problems: usize,
    /// The number of products that count.
    pub products: usize,
    /// The time of the whole calibration.
    pub seconds: f64,
    /// The share of all processors that other programs had meanwhile.
    pub other_load: Option<f64>,
    /// The fits that succeeded.
    pub fits: Vec<FitReport>,
    /// How well the products of all fitted formats together are predicted.
    pub quality: Quality,
    /// Formats that could not be fitted.
    pub left_out: Vec<UnfittedReport>,
    /// Every product that counts.
    pub observations: Vec<ObservationReport>,
}

/// A product that was timed.
#[derive(Debug, Serialize)]
pub struct ObservationReport {
    /// The format with its sizes.
    pub spec: String,
    /// The value type.
    pub dtype: &'static str,
    /// The name of the generated matrix.
    pub matrix: &'static str,
    /// Columns of B.
    pub n: usize,
    /// How many times its share the busiest worker has, by the schedule's replay.
    pub imbalance: f64,
    /// Quantities that the time should be linear in, as the imbalance lengthens them.
    pub terms: Terms,
    /// The least time.
    pub seconds: f64,
}

/// The coefficients of one format and value type.
#[derive(Debug, Serialize)]
pub struct FitReport {
    /// The format with its sizes.
    pub spec: String,
    /// The value type.
    pub dtype: &'static str,
    /// Seconds per unit of each term.
    pub seconds: Terms,
    /// How well products are predicted that were not fitted on.
    pub quality: Quality,
}

/// A format that could not be fitted.
#[derive(Debug, Serialize)]
pub struct UnfittedReport {
    /// The format with its sizes.
    pub spec: String,
    /// The value type.
    pub dtype: &'static str,
    /// Why not.
    pub reason: String,
}
