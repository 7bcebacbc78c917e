//! What `girih spmm` reports.

use std::fmt::{self, Display};

use girih::backend::{Lowering, Selection, Verification};
use girih::formats::{DType, Narrowing};
use girih::planner::{Explanation, Plan};
use girih_measure::{WrongProduct, units};
use serde::Serialize;

use super::loaded::Loaded;
use super::operands::Operands;
use super::product::Timing;
use crate::args::{FactorReport, SpmmArgs};
use crate::error::{Class, CliError};
use crate::output::report::Report;
use crate::output::{narrowing, table};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct SpmmReport {
    backend: String,
    /// What the backend runs on.
    device: String,
    /// Better backends that can't run the plan, with their reasons.
    passed_over: Vec<String>,
    format: &'static str,
    spec: String,
    dtype: &'static str,
    /// Value type of sums, and that of C.
    accumulator: &'static str,
    c_dtype: &'static str,
    m: usize,
    k: usize,
    n: usize,
    nnz: usize,
    /// A number each, or [real part, imaginary part] where values are complex.
    alpha: FactorReport,
    beta: FactorReport,
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
    /// What rounding to the value type made of A, of B and of the C that is added, where each was read
    /// from a file of values.
    #[serde(skip_serializing_if = "Option::is_none")]
    narrowing: Option<Narrowing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b_narrowing: Option<Narrowing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    c_narrowing: Option<Narrowing>,
    /// Of a plan that was loaded, the values that are NaN or infinite.
    #[serde(skip_serializing_if = "Option::is_none")]
    non_finite_values: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
    /// What the backend executes for row-major operands and β = 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    lowering: Option<Lowering>,
    /// Whether that is what was executed: B is row-major and β is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    executed_as_lowered: Option<bool>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Verified {
    /// At most 1 if every element is right. JSON has no infinity, which is written as the largest
    /// f64.
    max_error_over_bound: f64,
    /// Elements compared, and those of them that overflow on the way and can't be judged.
    elements: u64,
    unjudged: u64,
    /// Elements that are NaN or infinite, and those of them where the oracle is not finite either.
    non_finite: u64,
    non_finite_expected: u64,
}

/// What was done with the plan.
pub(super) struct Outcome {
    /// Columns of C.
    pub(super) n: usize,
    /// Its value type.
    pub(super) c_dtype: DType,
    pub(super) timing: Timing,
    pub(super) lowering: Option<Lowering>,
    pub(super) verification: Option<Verification>,
}

pub(super) fn report(
    args: &SpmmArgs,
    loaded: &Loaded,
    operands: &Operands,
    selected: &Selection<'_>,
    outcome: Outcome,
) -> Result<Report, CliError> {
    let Outcome { n, c_dtype, timing, lowering, verification } = outcome;
    let plan = &loaded.plan;
    let non_finite_values = loaded.narrowing.is_none().then(|| narrowing::non_finite_in(plan));
    let explanation = args.plan.planning.explain.then(|| plan.explanation().clone());
    let report = SpmmReport {
        backend: selected.backend.name().to_owned(),
        device: selected.backend.capabilities()?.device,
        passed_over: selected
            .rejected
            .iter()
            .map(|r| format!("{}: {}", r.backend, r.reason))
            .collect(),
        format: plan.spec().kind().name(),
        spec: plan.spec().to_string(),
        dtype: plan.dtype().name(),
        accumulator: plan.dtype().accumulator().name(),
        c_dtype: c_dtype.name(),
        m: plan.nrows(),
        k: plan.ncols(),
        n,
        nnz: plan.nnz(),
        alpha: args.alpha.report(plan.dtype()),
        beta: args.beta.report(plan.dtype()),
        repeat: args.repeat.get(),
        load_seconds: loaded.load.as_secs_f64(),
        plan_seconds: loaded.planning.map(|t| t.as_secs_f64()),
        prepare_seconds: timing.prepare.as_secs_f64(),
        median_seconds: timing.median.as_secs_f64(),
        min_seconds: timing.min.as_secs_f64(),
        gflops: units::gflops(units::flops(plan.dtype(), plan.nnz(), n), timing.median),
        verified: verification.map(|v| Verified {
            max_error_over_bound: v.max_error_over_bound.min(f64::MAX),
            elements: v.elements,
            unjudged: v.unjudged,
            non_finite: v.non_finite,
            non_finite_expected: v.non_finite_expected,
        }),
        output: args.output.as_ref().map(|path| path.display().to_string()),
        narrowing: loaded.narrowing,
        b_narrowing: operands.b_narrowing,
        c_narrowing: operands.c0_narrowing,
        non_finite_values,
        explanation,
        executed_as_lowered: lowering
            .as_ref()
            .map(|_| operands.b.is_row_major() && args.beta.is_zero()),
        lowering,
    };
    let report = Report::new(text(args, loaded, c_dtype, &timing, &report), &report)?;
    let wrong = verification.and_then(WrongProduct::find);
    Ok(report.with_failure(wrong.map(|wrong| CliError::new(Class::Wrong, wrong.to_string()))))
}

fn text(
    args: &SpmmArgs,
    loaded: &Loaded,
    c_dtype: DType,
    timing: &Timing,
    report: &SpmmReport,
) -> String {
    let SpmmReport { m, k, n, nnz, .. } = *report;
    let mut rows = vec![
        ("product", format!("{m}×{k} times {k}×{n}, {} nonzeros", units::count(nnz as u64))),
        ("format", format!("{}, {}", report.spec, report.dtype)),
    ];
    if report.c_dtype != report.accumulator {
        rows.push(("C", format!("{}, rounded from {}", report.c_dtype, report.accumulator)));
    }
    rows.extend(narrowed(&loaded.plan, c_dtype, report));
    rows.extend([
        ("backend", format!("{}, {}", report.backend, report.device)),
        ("loaded in", units::time(loaded.load)),
    ]);
    rows.extend(loaded.planning.map(|time| ("planned in", units::time(time))));
    rows.push(("prepared in", units::time(timing.prepare)));
    let times = match args.repeat.get() {
        1 => units::time(timing.median),
        repeat => format!(
            "{} (median of {repeat}, minimum {})",
            units::time(timing.median),
            units::time(timing.min)
        ),
    };
    rows.push(("multiplied in", format!("{times}, {:.2} GFLOP/s", report.gflops)));
    rows.extend(report.passed_over.iter().map(|reason| ("passed over", reason.clone())));
    if let Some(v) = &report.verified {
        let verdict = if v.max_error_over_bound <= 1.0 { "verified" } else { "WRONG" };
        rows.push((verdict, v.to_string()));
    }
    rows.extend(report.output.iter().map(|path| ("written", path.clone())));
    let table = table::pairs(rows);
    let mut parts = vec![table];
    parts.extend(report.explanation.as_ref().map(ToString::to_string));
    parts.extend(report.lowering.as_ref().map(|lowering| match report.executed_as_lowered {
        Some(false) => format!("with B row-major and β = 0, this is executed by {lowering}"),
        _ => format!("executed by {lowering}"),
    }));
    parts.join("\n\n")
}

/// What rounding to the value type made of the operands, if there is anything to say.
fn narrowed(
    plan: &Plan,
    c_dtype: DType,
    report: &SpmmReport,
) -> impl Iterator<Item = (&'static str, String)> {
    let dtype = plan.dtype();
    let of = |found: &Option<Narrowing>, dtype| narrowing::line(found.as_ref()?, dtype);
    let of_plan = report.non_finite_values.and_then(|count| narrowing::plan_line(count, plan));
    [
        ("values of A", of(&report.narrowing, dtype).or(of_plan)),
        ("values of B", of(&report.b_narrowing, dtype)),
        ("values of C", of(&report.c_narrowing, c_dtype)),
    ]
    .into_iter()
    .filter_map(|(name, line)| Some((name, line?)))
}

impl Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max_error_over_bound, elements, unjudged, non_finite, non_finite_expected } =
            *self;
        let count = units::count;
        let all = count(elements);
        // An error of 0 would say that there is something to measure it by.
        if elements > 0 && elements == non_finite && max_error_over_bound == 0.0 {
            write!(f, "no error to measure")?;
        } else {
            write!(f, "largest error is {max_error_over_bound:.3} of its bound")?;
        }
        if non_finite > 0 {
            let expected = match non_finite_expected {
                expected if expected == non_finite => "as the oracle says".to_owned(),
                expected => format!("{} of them by the oracle too", count(expected)),
            };
            write!(
                f,
                ", {} of {all} elements of C are NaN or Inf ({expected})",
                count(non_finite)
            )?;
        }
        if unjudged > 0 {
            write!(f, ", {} of {all} elements overflow and were not judged", count(unjudged))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_without_an_error_are_told_from_errors_of_0() {
        let exact = Verified {
            max_error_over_bound: 0.0,
            elements: 2000,
            unjudged: 0,
            non_finite: 0,
            non_finite_expected: 0,
        };
        assert_eq!(exact.to_string(), "largest error is 0.000 of its bound");
        let all = Verified { non_finite: 2000, non_finite_expected: 2000, ..exact };
        let said =
            "no error to measure, 2 000 of 2 000 elements of C are NaN or Inf (as the oracle says)";
        assert_eq!(all.to_string(), said);
        let some =
            Verified { non_finite: 3, non_finite_expected: 2, max_error_over_bound: 0.25, ..exact };
        let said = "largest error is 0.250 of its bound, 3 of 2 000 elements of C are NaN or Inf \
                    (2 of them by the oracle too)";
        assert_eq!(some.to_string(), said);
        let unjudged = Verified { unjudged: 2, ..exact };
        let said =
            "largest error is 0.000 of its bound, 2 of 2 000 elements overflow and were not judged";
        assert_eq!(unjudged.to_string(), said);
        // Nothing but infinities where the oracle is finite is wrong, and not without an error.
        let wrong = Verified { non_finite: 2000, max_error_over_bound: f64::MAX, ..exact };
        assert!(wrong.to_string().starts_with("largest error is"), "{wrong}");
        let empty = Verified { elements: 0, ..exact };
        assert_eq!(empty.to_string(), "largest error is 0.000 of its bound");
    }
}
