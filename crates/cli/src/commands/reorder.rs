//! `girih reorder`: an ordering by itself.

use std::time::Instant;

use girih::formats::Complex;
use girih::reorder::{self, Method, Permutation};
use girih_measure::units;
use serde::Serialize;

use crate::args::ReorderArgs;
use crate::error::{CliError, shown};
use crate::input::matrix::{Matrix, for_matrix};
use crate::input::source::Source;
use crate::output::ordering::{self, OrderEffect};
use crate::output::progress::Progress;
use crate::output::report::Report;
use crate::output::table;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct ReorderReport {
    method: String,
    nrows: usize,
    ncols: usize,
    nnz: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cols: Option<String>,
    read_seconds: f64,
    order_seconds: f64,
    #[serde(flatten)]
    effect: Option<OrderEffect>,
}

pub(crate) fn run(args: &ReorderArgs, progress: &Progress) -> Result<Report, CliError> {
    let start = Instant::now();
    match Source::detect(&args.source)? {
        Source::Plan(source) => {
            if args.by.is_some() {
                return Err(CliError::usage(format!(
                    "{} is a plan and has its order already; --by needs a matrix",
                    shown(source.path())
                )));
            }
            progress.stage(format!("loading {}", shown(source.path())));
            let plan = source.allow_hypersparse(args.read.allow_hypersparse).read()?;
            let read = start.elapsed();
            let rows = plan.row_permutation();
            let report = ReorderReport {
                method: "plan".to_owned(),
                nrows: plan.nrows(),
                ncols: plan.ncols(),
                nnz: plan.nnz(),
                output: None,
                cols: None,
                read_seconds: read.as_secs_f64(),
                order_seconds: 0.0,
                effect: None,
            };
            finish(args, progress, &rows, plan.col_permutation(), report)
        }
        Source::Matrix(source) => {
            let method = args.by.unwrap_or(Method::Rcm);
            let name = shown(source.path());
            let (a, _) = source.read_either::<f64, Complex<f64>, Matrix>(&args.read, progress)?;
            let a = for_matrix!(&a, csr => csr.pattern());
            let read = start.elapsed();
            let observer = progress.counting(format!("ordering {name}"));
            let start = Instant::now();
            let failed = |e| CliError::ordering(&name, e);
            let order = method.order_observed(a, &observer).map_err(failed)?;
            let ordered = start.elapsed();
            progress.stage("measuring");
            let effect = OrderEffect::measure(a, &order).map_err(failed)?;
            let report = ReorderReport {
                method: method.to_string(),
                nrows: a.nrows(),
                ncols: a.ncols(),
                nnz: a.nnz(),
                output: None,
                cols: None,
                read_seconds: read.as_secs_f64(),
                order_seconds: ordered.as_secs_f64(),
                effect: Some(effect),
            };
            let rows = order.row_permutation();
            finish(args, progress, &rows, order.cols(), report)
        }
    }
}

/// Writes the orders that were requested, and reports them.
fn finish(
    args: &ReorderArgs,
    progress: &Progress,
    rows: &Permutation,
    cols: Option<&Permutation>,
    mut report: ReorderReport,
) -> Result<Report, CliError> {
    if let Some(path) = &args.output {
        progress.stage(format!("writing {}", path.display()));
        ordering::write(path, rows)?;
        report.output = Some(path.display().to_string());
    }
    if let Some(path) = &args.cols {
        let natural = || {
            reorder::check_cols(report.nrows, report.ncols, report.nnz)?;
            Permutation::identity(report.ncols)
        };
        let cols = cols.cloned().map_or_else(natural, Ok);
        let cols = cols.map_err(|e| CliError::ordering(&shown(&args.source), e))?;
        ordering::write(path, &cols)?;
        report.cols = Some(path.display().to_string());
    }
    let (rows, cols) = (report.nrows, report.ncols);
    let mut lines = vec![
        ("matrix", format!("{rows} × {cols}, {} nonzeros", units::count(report.nnz as u64))),
        ("order", report.method.clone()),
        ("read in", units::time(std::time::Duration::from_secs_f64(report.read_seconds))),
        ("ordered in", units::time(std::time::Duration::from_secs_f64(report.order_seconds))),
    ];
    lines.extend(report.output.iter().map(|path| ("rows", path.clone())));
    lines.extend(report.cols.iter().map(|path| ("columns", path.clone())));
    let text = table::pairs(lines);
    let text = match &report.effect {
        Some(effect) => format!("{text}\n\n{}", effect.table()),
        None => text,
    };
    Report::new(text, &report)
}
