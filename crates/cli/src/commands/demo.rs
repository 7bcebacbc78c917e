//! `girih demo`: the main job, from a matrix file to a verified product.

use std::fs;
use std::time::{Duration, Instant};

use girih::backend::{Product, verify};
use girih::formats::io::{self as matrix_io, ReadOptions};
use girih::formats::{Csr, DType};
use girih::planner::{Plan, PlanOptions, Planner};
use girih_measure::units;
use serde::Serialize;

use crate::args::DemoArgs;
use crate::error::{Class, CliError};
use crate::input::cuda;
use crate::input::dense::Dense;
use crate::output::file::TemporaryFolder;
use crate::output::progress::Progress;
use crate::output::report::Report;
use crate::output::{format_sizes, table};

/// Nodes along each edge of the body, and unknowns at each.
const EDGE: usize = 24;
const DOF: usize = 3;
/// Columns of B.
const N: usize = 64;
/// Timed products.
const REPEAT: usize = 5;
const SEED: u64 = 20_250_701;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct DemoReport {
    nrows: usize,
    ncols: usize,
    nnz: usize,
    n: usize,
    format: String,
    backend: String,
    gflops: f64,
    max_error_over_bound: f64,
    stages: Vec<Stage>,
}

#[derive(Debug, Serialize)]
struct Stage {
    stage: &'static str,
    what: String,
    seconds: f64,
    rate: String,
}

/// The stages so far.
struct DemoStages<'a> {
    progress: &'a Progress,
    done: Vec<Stage>,
}

impl DemoStages<'_> {
    /// Runs and times one stage, then says what it did and at what rate.
    fn run<T>(
        &mut self,
        stage: &'static str,
        work: impl FnOnce() -> Result<T, CliError>,
        say: impl FnOnce(&T) -> (String, Work),
    ) -> Result<T, CliError> {
        self.progress.stage(stage);
        let start = Instant::now();
        let result = work()?;
        let (what, work) = say(&result);
        self.push(stage, what, start.elapsed(), work);
        Ok(result)
    }

    fn push(&mut self, stage: &'static str, what: String, time: Duration, work: Work) {
        let seconds = time.as_secs_f64();
        let rate = match work {
            Work::Bytes(n) => units::rate(n as f64 / seconds, "B"),
            Work::Nonzeros(n) => units::rate(n as f64 / seconds, "nnz"),
            Work::Elements(n) => units::rate(n as f64 / seconds, "elements"),
            Work::Flops(flops) => units::rate(flops / seconds, "FLOP"),
        };
        self.done.push(Stage { stage, what, seconds, rate });
    }
}

/// What a rate is counted in.
#[derive(Clone, Copy)]
enum Work {
    Bytes(u64),
    Nonzeros(usize),
    Elements(u64),
    Flops(f64),
}

pub(crate) fn run(_: &DemoArgs, progress: &Progress) -> Result<Report, CliError> {
    let scratch = TemporaryFolder::new(&std::env::temp_dir())
        .map_err(|e| CliError::failed("cannot make a temporary directory").because(e))?;
    let (mtx, girih) = (scratch.join("body.mtx"), scratch.join("body.girih"));
    let mut stages = DemoStages { progress, done: Vec::new() };

    let generated: Csr<f32> = stages.run(
        "generate",
        || girih_generate::fem_3d(EDGE, EDGE, EDGE, DOF, SEED).map_err(bug),
        |a| {
            let what = format!(
                "stiffness matrix of an elastic body, {} rows, {} nonzeros",
                units::count(a.nrows() as u64),
                units::count(a.nnz() as u64)
            );
            (what, Work::Nonzeros(a.nnz()))
        },
    )?;
    let nnz = generated.nnz();
    let mtx_bytes = stages.run(
        "write",
        || {
            matrix_io::write(&mtx, &generated)
                .map_err(|e| CliError::failed("cannot write body.mtx").because(e))?;
            Ok(fs::metadata(&mtx).map_or(0, |m| m.len()))
        },
        |&bytes| (format!("body.mtx, Matrix Market, {}", units::bytes(bytes)), Work::Bytes(bytes)),
    )?;
    let a: Csr<f32> = stages.run(
        "read",
        || {
            matrix_io::read(&mtx, &ReadOptions::default())
                .map_err(|e| CliError::input_from(&mtx, e))
        },
        |_| ("body.mtx into CSR".to_owned(), Work::Bytes(mtx_bytes)),
    )?;
    if a != generated {
        return Err(CliError::failed("the matrix that was read is not the one that was written"));
    }
    drop(generated);
    stages.run(
        "inspect",
        || Ok(format_sizes::overview(&a)),
        |overview| (overview.clone(), Work::Nonzeros(nnz)),
    )?;
    let planned = stages.run(
        "plan",
        || {
            let options = PlanOptions::new(N);
            Planner::new(options)
                .observe(&progress.planning("plan".to_owned()))
                .plan(&a)
                .map_err(bug)
        },
        |plan| {
            (
                format!("{} was cheapest of the formats for n = {N}", plan.spec()),
                Work::Nonzeros(nnz),
            )
        },
    )?;
    let plan_bytes = stages.run(
        "save",
        || planned.save(&girih).map_err(|e| CliError::failed("cannot write body.girih").because(e)),
        |&bytes| (format!("body.girih, {}", units::bytes(bytes)), Work::Bytes(bytes)),
    )?;
    let plan = stages.run(
        "load",
        || Plan::read(&girih).map_err(|e| CliError::input_from(&girih, e)),
        |_| ("every hash and every index checked".to_owned(), Work::Bytes(plan_bytes)),
    )?;
    if plan != planned {
        return Err(CliError::failed("the plan that was loaded is not the one that was saved"));
    }
    drop(planned);
    multiply(&mut stages, &a, &plan)
}

/// Multiplies, verifies and reports.
fn multiply(stages: &mut DemoStages<'_>, a: &Csr<f32>, plan: &Plan) -> Result<Report, CliError> {
    let (m, k) = (plan.nrows(), plan.ncols());
    let registry = girih::backends_with(cuda::options()?);
    let backend = registry.best_for(plan)?.backend;
    let b = Dense::random("B", DType::F32, (k, N), SEED)?;
    let mut c = Dense::zeros("C", DType::F32, (m, N))?;
    stages.progress.stage("multiply");
    let prepared = backend.prepare(plan)?;
    let mut times = Vec::with_capacity(REPEAT);
    for i in 0..=REPEAT {
        let view = c.view_mut();
        let start = Instant::now();
        prepared.execute(1.0, b.view(), 0.0, view)?;
        // The first product warms caches and memory up.
        if i > 0 {
            times.push(start.elapsed());
        }
    }
    times.sort_unstable();
    let median = times[REPEAT / 2];
    let what = format!("C = A·B on {}, B with {N} columns", backend.name());
    let flops = 2.0 * plan.nnz() as f64 * N as f64;
    stages.push("multiply", what, median, Work::Flops(flops));

    let verification = stages.run(
        "verify",
        || {
            let product = Product { alpha: 1.0, b: b.view(), added: None };
            verify(a, plan, &product, &c.view(), backend.rounding(plan)).map_err(CliError::from)
        },
        |v| {
            let what = format!("{} elements against the oracle", units::count(v.elements));
            (what, Work::Elements(v.elements))
        },
    )?;
    let error = verification.max_error_over_bound;
    let rows = stages.done.iter().map(|stage| {
        let time = units::time(Duration::from_secs_f64(stage.seconds));
        vec![stage.stage.to_owned(), stage.what.clone(), time, stage.rate.clone()]
    });
    let table = table::with_header(["stage", "what", ">time", ">rate"], rows);
    let report = DemoReport {
        nrows: m,
        ncols: k,
        nnz: plan.nnz(),
        n: N,
        format: plan.spec().to_string(),
        backend: backend.name().to_owned(),
        gflops: units::gflops(units::flops(plan.dtype(), plan.nnz(), N), median),
        max_error_over_bound: error.min(f64::MAX),
        stages: std::mem::take(&mut stages.done),
    };
    if verification.passed() {
        let verdict = format!(
            "verified: every element of C is right; the largest error is {:.1} % of its bound",
            100.0 * error
        );
        return Report::new(format!("{table}\n\n{verdict}"), &report);
    }
    let message = format!("NOT verified: an error is {error:.3} times its bound");
    let failure = CliError::new(Class::Wrong, message);
    Ok(Report::new(table, &report)?.with_failure(Some(failure)))
}

/// An error that the built-in problem cannot have.
fn bug(error: impl std::error::Error + Send + Sync + 'static) -> CliError {
    CliError::failed("the built-in problem failed").because(error)
}
