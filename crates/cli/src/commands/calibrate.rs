//! `girih calibrate`: a device file whose estimates are those of measurements.

mod design;
mod measure;
mod options;

use std::time::Instant;

use girih::planner::calibrate::{self, Observation};
use girih::planner::{Fit, Quality, Terms};
use serde::Serialize;

use crate::error::CliError;
use crate::machine::Ticks;
use crate::progress::Progress;
use crate::report::Report;
use crate::{output, table, units};
use measure::Measured;

pub(crate) use options::Options;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Facts {
    device: String,
    output: String,
    problems: usize,
    products: usize,
    seconds: f64,
    /// The share of all processors that other programs had meanwhile.
    other_load: Option<f64>,
    fits: Vec<FitFacts>,
    /// How well the products of all fitted formats together are predicted.
    quality: Quality,
    /// Formats that could not be fitted, and why.
    left_out: Vec<LeftOut>,
    /// Every product that was timed.
    observations: Vec<ObservationFacts>,
}

#[derive(Debug, Serialize)]
struct ObservationFacts {
    spec: String,
    dtype: &'static str,
    matrix: &'static str,
    n: usize,
    /// Quantities that the time should be linear in.
    terms: Terms,
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct FitFacts {
    spec: String,
    dtype: &'static str,
    /// Per unit of each term.
    seconds: Terms,
    quality: Quality,
}

#[derive(Debug, Serialize)]
struct LeftOut {
    spec: String,
    dtype: &'static str,
    reason: String,
}

pub(crate) fn run(options: &Options, progress: &Progress) -> Result<Report, CliError> {
    output::check(&options.output)?;
    let (start, before) = (Instant::now(), Ticks::now());
    let Measured { mut device, problems, groups } = measure::measure(options, progress)?;
    let other_load = Ticks::others_between(before, Ticks::now());
    let products = groups.iter().map(|group| group.observations.len()).sum();
    let (mut fits, mut left_out, mut observations) = (Vec::new(), Vec::new(), Vec::new());
    let mut predictions = Vec::new();
    for group in groups {
        observations.extend(group.products.iter().zip(&group.observations).map(
            |(&(matrix, n), &Observation { terms, seconds })| ObservationFacts {
                spec: group.spec.to_string(),
                dtype: group.dtype.name(),
                matrix,
                n,
                terms,
                seconds,
            },
        ));
        let held_out = calibrate::held_out(&group.observations);
        predictions.extend(held_out.into_iter().flatten());
        match calibrate::fit(group.spec, group.dtype, &group.observations) {
            Ok(fit) => fits.push(fit),
            Err(error) => left_out.push(LeftOut {
                spec: group.spec.to_string(),
                dtype: group.dtype.name(),
                reason: error.to_string(),
            }),
        }
    }
    device.fits.clone_from(&fits);
    let text = heading(&device.name, problems, other_load) + &device.to_toml();
    output::create(&options.output, |path| {
        std::fs::write(path, &text).map_err(|e| {
            CliError::failed(format!("cannot write {}", options.output.display())).because(e)
        })
    })?;
    let facts = Facts {
        device: device.name.clone(),
        output: options.output.display().to_string(),
        problems,
        products,
        seconds: start.elapsed().as_secs_f64(),
        other_load,
        fits: fits
            .into_iter()
            .map(|Fit { spec, dtype, seconds, quality }| FitFacts {
                spec: spec.to_string(),
                dtype: dtype.name(),
                seconds,
                quality,
            })
            .collect(),
        quality: calibrate::quality(&predictions),
        left_out,
        observations,
    };
    Report::new(shown(&facts), &facts)
}

/// What a reader of the file should know.
fn heading(name: &str, problems: usize, other_load: Option<f64>) -> String {
    let load = match other_load {
        Some(load) => format!("; other programs used {:.0} % of the processors", 100.0 * load),
        None => String::new(),
    };
    format!(
        "# {name}: written by girih {} calibrate, on {problems} generated matrices{load}.\n\
         # [[fits]] hold seconds per unit of what products are made of, and how well those predict\n\
         # products that they were not fitted on; they go before the rates above them.\n",
        env!("CARGO_PKG_VERSION")
    )
}

fn shown(facts: &Facts) -> String {
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
    let fits = facts.fits.iter().map(|FitFacts { spec, dtype, seconds, quality }| {
        let terms = seconds.to_array();
        let of_most = (0..Terms::COUNT).filter(|&i| terms[i] > 0.0).map(|i| Terms::NAMES[i]);
        row(spec, dtype, quality, of_most.collect::<Vec<_>>().join(" "))
    });
    let all = (!facts.fits.is_empty()).then(|| row("all", "", &facts.quality, String::new()));
    let rows = fits.chain(all);
    let header = ["format", "dtype", ">products", ">R²", ">error", ">at most", "terms"];
    let table = table::with_header(header, rows);
    let left_out: String = facts
        .left_out
        .iter()
        .map(|left| format!("\n{} {}: {}", left.spec, left.dtype, left.reason))
        .collect();
    let load = facts.other_load.map_or(String::new(), |load| {
        format!(", while other programs used {:.0} % of the processors", 100.0 * load)
    });
    format!(
        "{}\n\n{table}{left_out}\n\n{} products of {} matrices in {}{load}\nwritten to {}",
        facts.device,
        units::count(facts.products as u64),
        facts.problems,
        units::time(std::time::Duration::from_secs_f64(facts.seconds)),
        facts.output
    )
}
