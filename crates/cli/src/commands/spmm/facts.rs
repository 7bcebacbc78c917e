//! What `girih spmm` reports.

use girih::backend::{Selection, Verification};
use girih::planner::Explanation;
use serde::Serialize;

use super::product::{Timing, refused};
use super::{Loaded, Options};
use crate::error::{Class, CliError};
use crate::report::Report;
use crate::{table, units};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Facts {
    backend: String,
    /// What the backend runs on.
    device: String,
    /// Backends that were preferred and can't run the plan, with their reasons.
    passed_over: Vec<String>,
    format: &'static str,
    spec: String,
    dtype: &'static str,
    /// Value type of C.
    accumulator: &'static str,
    m: usize,
    k: usize,
    n: usize,
    nnz: usize,
    alpha: f64,
    beta: f64,
    repeat: u32,
    /// Reading the matrix, or loading the plan.
    load_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_seconds: Option<f64>,
    prepare_seconds: f64,
    median_seconds: f64,
    min_seconds: f64,
    /// 2·nnz·n over the median time, in units of 10⁹ per second.
    gflops: f64,
    #[serde(flatten)]
    verified: Option<Verified>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Verified {
    /// At most 1 if every element is right. JSON has no infinity, which is written as the largest
    /// f64.
    max_error_over_bound: f64,
    /// Elements compared, and those of them that overflow on the way and can't be judged.
    elements: u64,
    unjudged: u64,
}

pub(super) fn report(
    options: &Options,
    loaded: &Loaded,
    selected: &Selection<'_>,
    n: usize,
    timing: &Timing,
    verification: Option<Verification>,
) -> Result<Report, CliError> {
    let plan = &loaded.plan;
    let explanation = options.plan.planning.explain.then(|| plan.explanation().clone());
    let facts = Facts {
        backend: selected.backend.name().to_owned(),
        device: selected.backend.capabilities().map_err(refused)?.device,
        passed_over: selected
            .rejected
            .iter()
            .map(|r| format!("{}: {}", r.backend, r.reason))
            .collect(),
        format: plan.spec().kind().name(),
        spec: plan.spec().to_string(),
        dtype: plan.dtype().name(),
        accumulator: plan.dtype().accumulator().name(),
        m: plan.nrows(),
        k: plan.ncols(),
        n,
        nnz: plan.nnz(),
        alpha: options.alpha,
        beta: options.beta,
        repeat: options.repeat.get(),
        load_seconds: loaded.load.as_secs_f64(),
        plan_seconds: loaded.planning.map(|t| t.as_secs_f64()),
        prepare_seconds: timing.prepare.as_secs_f64(),
        median_seconds: timing.median.as_secs_f64(),
        min_seconds: timing.min.as_secs_f64(),
        gflops: units::gflops(plan.nnz(), n, timing.median),
        verified: verification.map(|v| Verified {
            max_error_over_bound: v.max_error_over_bound.min(f64::MAX),
            elements: v.elements,
            unjudged: v.unjudged,
        }),
        output: options.output.as_ref().map(|path| path.display().to_string()),
        explanation,
    };
    let report = Report::new(text(options, loaded, timing, &facts), &facts)?;
    Ok(report.with_failure(verification.and_then(wrong)))
}

fn text(options: &Options, loaded: &Loaded, timing: &Timing, facts: &Facts) -> String {
    let Facts { m, k, n, nnz, .. } = *facts;
    let mut rows = vec![
        ("product", format!("{m}×{k} times {k}×{n}, {} nonzeros", units::count(nnz as u64))),
        ("format", format!("{}, {}", facts.spec, facts.dtype)),
        ("backend", format!("{}, {}", facts.backend, facts.device)),
        ("loaded in", units::time(loaded.load)),
    ];
    rows.extend(loaded.planning.map(|time| ("planned in", units::time(time))));
    rows.push(("prepared in", units::time(timing.prepare)));
    let times = match options.repeat.get() {
        1 => units::time(timing.median),
        repeat => format!(
            "{} (median of {repeat}, minimum {})",
            units::time(timing.median),
            units::time(timing.min)
        ),
    };
    rows.push(("multiplied in", format!("{times}, {:.2} GFLOP/s", facts.gflops)));
    rows.extend(facts.passed_over.iter().map(|reason| ("passed over", reason.clone())));
    if let Some(v) = &facts.verified {
        let verdict = if v.max_error_over_bound <= 1.0 { "verified" } else { "WRONG" };
        let unjudged = match v.unjudged {
            0 => String::new(),
            count => format!(", {count} of {} elements overflow and were not judged", v.elements),
        };
        rows.push((
            verdict,
            format!("largest error is {:.3} of its bound{unjudged}", v.max_error_over_bound),
        ));
    }
    rows.extend(facts.output.iter().map(|path| ("written", path.clone())));
    let table = table::facts(rows);
    match &facts.explanation {
        Some(explanation) => format!("{table}\n\n{explanation}"),
        None => table,
    }
}

/// What is wrong with the result, if anything.
pub(crate) fn wrong(verification: Verification) -> Option<CliError> {
    if verification.max_error_over_bound <= 1.0 {
        return None;
    }
    let place = verification.worst.map_or_else(String::new, |w| {
        format!(
            ": C[{}, {}] is {:e} and should be {:e} within {:e}",
            w.row, w.col, w.found, w.expected, w.bound
        )
    });
    let error = verification.max_error_over_bound;
    let message = format!("the product is wrong, {error:.3} times the error bound{place}");
    Some(CliError::new(Class::Wrong, message))
}
