//! `girih calibrate`: a device file whose estimates are those of measurements.

use std::fs;
use std::time::Duration;

use girih::CudaOptions;
use girih::planner::device::{Quality, Terms};
use girih_measure::calibrate::{
    CalibrateBackend, CalibrateConfig, CalibrationReport, FitReport, calibrate,
};
use girih_measure::units;
use serde::Serialize;

use crate::args::CalibrateArgs;
use crate::error::CliError;
use crate::input::{cuda, device};
use crate::output::progress::Progress;
use crate::output::report::Report;
use crate::output::{file, table};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct CalibrateReport {
    /// The device file.
    output: String,
    #[serde(flatten)]
    calibration: CalibrationReport,
}

pub(crate) fn run(args: &CalibrateArgs, progress: &Progress) -> Result<Report, CliError> {
    let path = &args.output;
    file::check(path)?;
    let config = CalibrateConfig {
        backend: args.backend,
        device: args.device.as_deref().map(device::find).transpose()?,
        dtypes: args.dtype.clone(),
        precision: args.precision,
        n: args.n.iter().map(|&n| n as usize).collect(),
        seconds: args.seconds,
        passes: args.passes,
        quick: args.quick,
        cuda: match args.backend {
            CalibrateBackend::Cpu => CudaOptions::default(),
            CalibrateBackend::Cuda => cuda::options()?,
        },
    };
    let (device, calibration) = calibrate(&config, progress)?;
    let heading = heading(&device.name, calibration.problems, calibration.other_load);
    let contents = heading + &device.to_toml();
    file::create(path, |temporary| {
        fs::write(temporary, &contents)
            .map_err(|e| CliError::failed(format!("cannot write {}", path.display())).because(e))
    })?;
    let report = CalibrateReport { output: path.display().to_string(), calibration };
    Report::new(text(&report), &report)
}

/// The comment at the head of a device file.
fn heading(name: &str, problems: usize, other_load: Option<f64>) -> String {
    let load = match other_load {
        Some(load) => format!("; other programs used {:.0} % of the processors", 100.0 * load),
        None => String::new(),
    };
    format!(
        "# {name}: written by girih {} calibrate, on {problems} generated matrices{load}.\n\
         # [[fits]] hold coefficients in seconds per row, value, byte and so on, and how well they predict\n\
         # products that they were not fitted to. They override the rates above.\n",
        env!("CARGO_PKG_VERSION")
    )
}

fn text(report: &CalibrateReport) -> String {
    let CalibrateReport { output, calibration } = report;
    let row = |spec: &str, dtype: &str, quality: &Quality, terms: String| {
        vec![
            spec.to_owned(),
            dtype.to_owned(),
            quality.held_out.to_string(),
            format!("{:.4}", quality.r2),
            format!("{:.1} %", 100.0 * quality.mean_relative_error),
            format!("{:.1} %", 100.0 * quality.max_relative_error),
            terms,
        ]
    };
    let fits = calibration.fits.iter().map(|FitReport { spec, dtype, seconds, quality }| {
        let terms = seconds.to_array();
        let of_most = (0..Terms::COUNT).filter(|&i| terms[i] > 0.0).map(|i| Terms::NAMES[i]);
        row(spec, dtype, quality, of_most.collect::<Vec<_>>().join(" "))
    });
    let all =
        (!calibration.fits.is_empty()).then(|| row("all", "", &calibration.quality, String::new()));
    let rows = fits.chain(all);
    let header = ["format", "dtype", ">products", ">R²", ">error", ">at most", "terms"];
    let table = table::with_header(header, rows);
    let left_out: String = calibration
        .left_out
        .iter()
        .map(|left| format!("\n{} {}: {}", left.spec, left.dtype, left.reason))
        .collect();
    let load = calibration.other_load.map_or(String::new(), |load| {
        format!(", while other programs used {:.0} % of the processors", 100.0 * load)
    });
    format!(
        "{}\n\n{table}{left_out}\n\n{} products of {} matrices in {}{load}\nwritten to {}",
        calibration.device,
        units::count(calibration.products as u64),
        calibration.problems,
        units::time(Duration::from_secs_f64(calibration.seconds)),
        output
    )
}
