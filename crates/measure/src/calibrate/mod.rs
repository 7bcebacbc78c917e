//! Estimates fitted to measurements.
//!
//! [`calibrate`] times generated products in every format that the planner considers, and fits seconds per
//! row, value, byte and so on to them. The result is a device whose estimates are those of this machine.

mod device;
mod problems;
mod products;

use std::time::Instant;

use girih::planner::calibrate as fitting;
use girih::planner::device::{Fit, Quality, Terms};
use girih::{CudaOptions, DType, DeviceSpec, Precision};
use serde::Serialize;

use crate::machine::Ticks;
use crate::{MeasureError, Observer};
use products::Measurements;

pub use device::measured_cpu;

/// What is calibrated, and how.
#[derive(Clone, Debug)]
pub struct CalibrateConfig {
    /// Where products run.
    pub backend: CalibrateBackend,
    /// The rates that are not fitted. `None` is this CPU, measured, or the CUDA device as it is built in.
    pub device: Option<DeviceSpec>,
    /// Value types.
    pub dtypes: Vec<DType>,
    /// How far products in f32 may round their operands. Fits of the device in other precisions are kept.
    pub precision: Precision,
    /// Columns of B.
    pub n: Vec<usize>,
    /// Seconds to spend on each product.
    pub seconds: f64,
    /// How often all products are timed. The least time of each counts.
    pub passes: u32,
    /// Fewer and smaller matrices.
    pub quick: bool,
    /// How the CUDA backend is set up.
    pub cuda: CudaOptions,
}

/// The backends that can be calibrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalibrateBackend {
    /// The CPU backend, on all threads.
    Cpu,
    /// The CUDA backend.
    Cuda,
}

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

/// Times products and fits estimates to them. Returns the device with its fits, and the report.
///
/// # Errors
/// If this machine lacks the backend, or if a product can't be computed.
pub fn calibrate(
    config: &CalibrateConfig,
    observer: &dyn Observer,
) -> Result<(DeviceSpec, CalibrationReport), MeasureError> {
    let (start, before) = (Instant::now(), Ticks::now());
    let Measurements { mut device, problems, groups } = products::measure(config, observer)?;
    let other_load = Ticks::others_between(before, Ticks::now());
    let products = groups.iter().map(|group| group.products.len()).sum();
    let (mut fits, mut left_out, mut observations) = (Vec::new(), Vec::new(), Vec::new());
    let mut predictions = Vec::new();
    for group in groups {
        let observed = group.observations();
        observations.extend(group.products.iter().map(|product| ObservationReport {
            spec: group.spec.to_string(),
            dtype: group.dtype.name(),
            matrix: product.matrix,
            n: product.n,
            imbalance: product.imbalance,
            terms: product.terms,
            seconds: product.seconds,
        }));
        let held_out = fitting::held_out(&observed);
        predictions.extend(held_out.into_iter().flatten());
        match fitting::fit(group.spec, group.dtype, &observed) {
            Ok(fit) => fits.push(Fit { precision: stored(&device, &fit, config.precision), ..fit }),
            Err(error) => left_out.push(UnfittedReport {
                spec: group.spec.to_string(),
                dtype: group.dtype.name(),
                reason: error.to_string(),
            }),
        }
    }
    // What was not fitted anew is kept beside a precision of its own.
    let kept = config.device.iter().filter(|_| config.precision != Precision::Tf32);
    let kept = kept
        .flat_map(|device| &device.fits)
        .filter(|old| !fits.iter().any(|fit| is_for_same(fit, old)));
    device.fits = kept.chain(&fits).cloned().collect();
    let fits = fits.into_iter().map(|Fit { spec, dtype, seconds, quality, .. }| FitReport {
        spec: spec.to_string(),
        dtype: dtype.name(),
        seconds,
        quality,
    });
    let report = CalibrationReport {
        device: device.name.clone(),
        problems,
        products,
        seconds: start.elapsed().as_secs_f64(),
        other_load,
        fits: fits.collect(),
        quality: fitting::quality(&predictions),
        left_out,
        observations,
    };
    Ok((device, report))
}

/// The precision that a fit is stored with: none where kernels are the same in every one.
fn stored(device: &DeviceSpec, fit: &Fit, precision: Precision) -> Option<Precision> {
    let differs = device.has_precisions(fit.spec.kind(), fit.dtype);
    (differs && precision != Precision::Tf32).then_some(precision)
}

/// Whether two fits are of the same kernels.
fn is_for_same(fit: &Fit, other: &Fit) -> bool {
    (fit.spec, fit.dtype, fit.precision) == (other.spec, other.dtype, other.precision)
}
