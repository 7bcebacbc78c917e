//! `girih bench`: products timed beside what the machine could reach.

use std::fs;
use std::path::{Path, PathBuf};

use girih::formats::Complex;
use girih::{CudaOptions, DType, DenseScalar};
use girih_measure::bench::{Bench, BenchConfig, BenchReport, SuiteReport};
use half::{bf16, f16};

use crate::args::{BenchArgs, DEFAULT_MEMORY_LIMIT, FileType, Limit};
use crate::error::{Class, CliError};
use crate::input::problem::Problem;
use crate::input::{cuda, device, suite};
use crate::output::bench::{Style, text};
use crate::output::file;
use crate::output::progress::Progress;
use crate::output::report::Report;

pub(crate) fn run(args: &BenchArgs, progress: &Progress) -> Result<Report, CliError> {
    match &args.suite {
        None => run_suite(args, None, progress),
        Some(path) => {
            let (suite, report) = suite::read(path)?;
            run_suite(&args.clone().or_of(suite), Some(report), progress)
        }
    }
}

fn run_suite(
    args: &BenchArgs,
    suite: Option<SuiteReport>,
    progress: &Progress,
) -> Result<Report, CliError> {
    // Everything that can be wrong with the flags is found before anything takes time.
    let dtypes = if args.dtype.is_empty() { vec![DType::F32] } else { distinct(&args.dtype) };
    let mut config = BenchConfig { suite, ..config(args) };
    config.check(&dtypes)?;
    let file_type = args.output.as_deref().map(FileType::from_path).transpose()?;
    args.output.as_deref().map_or(Ok(()), file::check)?;
    let problems = problems(args, &dtypes)?;
    let on_device = config.backends.iter().any(|backend| backend.is_device());
    config.cuda = if on_device { cuda::options()? } else { CudaOptions::default() };
    config.device = args.device.as_deref().map(device::find).transpose()?;

    let mut bench = Bench::new(config, progress)?;
    for problem in &problems {
        for dtype in &dtypes {
            match dtype {
                DType::F16 => measure::<f16>(&mut bench, problem, args, progress)?,
                DType::Bf16 => measure::<bf16>(&mut bench, problem, args, progress)?,
                DType::F32 => measure::<f32>(&mut bench, problem, args, progress)?,
                DType::F64 => measure::<f64>(&mut bench, problem, args, progress)?,
                DType::C32 => measure::<Complex<f32>>(&mut bench, problem, args, progress)?,
                DType::C64 => measure::<Complex<f64>>(&mut bench, problem, args, progress)?,
            }
        }
    }
    report(&bench.into_report(), args.output.as_deref().zip(file_type))
}

fn config(args: &BenchArgs) -> BenchConfig {
    let default = if args.quick { BenchConfig::quick() } else { BenchConfig::default() };
    BenchConfig {
        formats: given_or(&args.format, default.formats),
        orders: given_or(&args.reorder, default.orders),
        widths: given_or(&args.n, default.widths),
        backends: given_or(&args.backend, default.backends),
        threads: given_or(&args.threads, default.threads),
        isas: given_or(&args.isa, default.isas),
        seconds: args.seconds.unwrap_or(default.seconds),
        roofline: args.roofline.unwrap_or(default.roofline),
        memory_limit: args.memory_limit.map_or(Some(DEFAULT_MEMORY_LIMIT), |Limit(most)| most),
        seed: args.seed,
        precision: args.precision.unwrap_or_default(),
        ..default
    }
}

fn measure<T: DenseScalar>(
    bench: &mut Bench<'_>,
    problem: &Problem,
    args: &BenchArgs,
    progress: &Progress,
) -> Result<(), CliError> {
    let a = problem.load::<T>(&args.read, progress)?;
    Ok(bench.measure(&problem.name(), &problem.source(), &a)?)
}

fn problems(args: &BenchArgs, dtypes: &[DType]) -> Result<Vec<Problem>, CliError> {
    let generated = girih_generate::Problem::ALL.map(|problem| PathBuf::from(problem.name()));
    let named = if args.matrices.is_empty() { &generated[..] } else { &args.matrices };
    let problems = named.iter().map(|path| Problem::find(path)).collect::<Result<Vec<_>, _>>()?;
    let problems = distinct(&problems);
    if let Some(stream) = problems.iter().find(|problem| problem.is_stream() && dtypes.len() > 1) {
        return Err(CliError::usage(format!(
            "{} can be read only once, and is needed in {} value types; give one --dtype or a file",
            stream.source(),
            dtypes.len()
        )));
    }
    Ok(problems)
}

fn report(bench: &BenchReport, file: Option<(&Path, FileType)>) -> Result<Report, CliError> {
    let mut report = Report::new(text(bench, Style::Plain), bench)?;
    if bench.cases.is_empty() {
        let reason = bench.skipped.first().map_or("", |skipped| &skipped.reason);
        let failure = CliError::new(Class::Unsupported, format!("no case could be run: {reason}"));
        report = report.with_failure(Some(failure));
    }
    if let Some((path, file_type)) = file {
        let contents = match file_type {
            FileType::Json => format!("{:#}\n", report.json),
            FileType::Markdown => format!("{}\n", text(bench, Style::Markdown)),
        };
        file::create(path, |temporary| {
            fs::write(temporary, contents).map_err(|e| {
                CliError::failed(format!("cannot write {}", path.display())).because(e)
            })
        })?;
    }
    Ok(report)
}

/// The values that were given, each once, or else the default.
fn given_or<T: Clone + PartialEq>(given: &[T], default: Vec<T>) -> Vec<T> {
    if given.is_empty() { default } else { distinct(given) }
}

/// Each value where it comes first.
fn distinct<T: Clone + PartialEq>(values: &[T]) -> Vec<T> {
    values.iter().fold(Vec::new(), |mut kept, value| {
        if !kept.contains(value) {
            kept.push(value.clone());
        }
        kept
    })
}
