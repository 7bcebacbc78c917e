//! `girih tune`: a plan chosen by what its candidates take on this machine.

use girih::CudaOptions;
use girih::planner::explanation::Measurement;
use girih_measure::tune::{TuneBackend, TuneConfig, Tuned, tune};
use serde::Serialize;

use crate::args::TuneArgs;
use crate::error::{CliError, shown};
use crate::input::cuda;
use crate::input::matrix::{Matrix, for_matrix};
use crate::input::source::Source;
use crate::output::progress::Progress;
use crate::output::report::Report;
use crate::output::{file, plan_file, table};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct TuneReport {
    /// The format of the plan that was read, and of the one that was written.
    before: String,
    after: String,
    output: String,
    file_bytes: u64,
    #[serde(flatten)]
    measurement: Measurement,
    skipped: Vec<SkippedReport>,
}

/// A candidate that was not timed.
#[derive(Debug, Serialize)]
struct SkippedReport {
    candidate: String,
    reason: String,
}

pub(crate) fn run(args: &TuneArgs, progress: &Progress) -> Result<Report, CliError> {
    let from_stream = args.source.as_os_str() == "-";
    let output = match &args.output {
        Some(output) => output,
        None if from_stream => {
            return Err(CliError::usage("a plan from standard input needs --output"));
        }
        None => &args.source,
    };
    file::check(output)?;
    let source = Source::plan(&args.source)?;
    let name = shown(source.path());
    progress.stage(format!("reading {name}"));
    let plan = source.read()?;
    let matrix = Matrix::from_plan(&plan).map_err(|e| {
        CliError::failed(format!("cannot read the entries of {name} back")).because(e)
    })?;
    let config = TuneConfig {
        backend: args.backend,
        n: args.n.map(|n| n as usize),
        top: args.top as usize,
        seconds: args.seconds,
        memory_limit: None,
        seed: 0,
        cuda: match args.backend {
            TuneBackend::Cpu => CudaOptions::default(),
            TuneBackend::Cuda => cuda::options()?,
        },
    };
    let Tuned { plan: tuned, measurement, skipped } =
        for_matrix!(&matrix, a => tune(&plan, a, &config, progress))?;

    progress.stage(format!("writing {}", output.display()));
    let mut file_bytes = 0;
    file::create(output, |path| {
        file_bytes = plan_file::save(&tuned, path).map_err(|e| {
            CliError::failed(format!("cannot write {}", output.display())).because(e)
        })?;
        Ok(())
    })?;
    let skipped = skipped.into_iter();
    let report = TuneReport {
        before: plan.spec().to_string(),
        after: tuned.spec().to_string(),
        output: output.display().to_string(),
        file_bytes,
        measurement,
        skipped: skipped.map(|(candidate, reason)| SkippedReport { candidate, reason }).collect(),
    };
    let mut rows = vec![
        ("measured on", report.measurement.machine.clone()),
        ("tuned for", format!("n = {}", report.measurement.n)),
        ("format", format!("{}, before {}", report.after, report.before)),
        ("written to", report.output.clone()),
    ];
    rows.extend(
        report.skipped.iter().map(|s| ("not timed", format!("{}: {}", s.candidate, s.reason))),
    );
    let why = &tuned.explanation().reason;
    Report::new(format!("{}\n\n{}{why}", table::pairs(rows), report.measurement), &report)
}
