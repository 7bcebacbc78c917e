//! Estimates fitted to measurements.
//!
//! [`calibrate`] times generated products in every format that the planner considers, and fits seconds per
//! row, value, byte and so on to them. The result is a device whose estimates are those of this machine.

mod config;
mod device;
mod problems;
mod products;
mod report;

use std::time::Instant;

use girih::planner::calibrate as fitting;
use girih::planner::device::Fit;
use girih::{DeviceSpec, Precision};

use crate::machine::Ticks;
use crate::{MeasureError, Observer};
use products::Measurements;

pub use config::{CalibrateBackend, CalibrateConfig};
pub use device::measured_cpu;
pub use report::{CalibrationReport, FitReport, ObservationReport, UnfittedReport};

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
