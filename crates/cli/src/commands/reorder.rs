//! `girih reorder`: an ordering by itself.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use girih::reorder::{Method, Permutation};
use serde::Serialize;

use crate::args::{Json, ReadArgs};
use crate::error::{CliError, shown};
use crate::order::{self, Effect};
use crate::progress::Progress;
use crate::report::Report;
use crate::source::Source;
use crate::{table, units};

/// Compute an ordering of a matrix's rows, and say what it is worth
///
/// The file holds the row that comes first, the row that comes second and so on, as numpy's and
/// scipy's orderings do: `a[p]` in numpy, and `girih plan --reorder P.npy`, put the rows in order.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Matrix or plan file; - is standard input. A plan has its order already
    #[arg(value_name = "A|PLAN")]
    source: PathBuf,
    /// Write the order of the rows
    #[arg(short, long, value_name = "P.npy")]
    output: Option<PathBuf>,
    /// Write the order of the columns that goes with it: of a square matrix that of the rows
    #[arg(long, value_name = "Q.npy")]
    cols: Option<PathBuf>,
    /// Ordering: rcm, window, degree, reverse, random or random:SEED [default: rcm]
    #[arg(long, value_name = "METHOD")]
    by: Option<Method>,
    #[command(flatten)]
    pub(crate) json: Json,
    #[command(flatten)]
    read: ReadArgs,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Facts {
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
    effect: Option<Effect>,
}

pub(crate) fn run(options: &Options, progress: &Progress) -> Result<Report, CliError> {
    let start = Instant::now();
    match Source::detect(&options.source)? {
        Source::Plan(source) => {
            if options.by.is_some() {
                return Err(CliError::usage(format!(
                    "{} is a plan, whose order was chosen with it; --by needs its matrix",
                    shown(source.path())
                )));
            }
            progress.stage(format!("loading {}", shown(source.path())));
            let plan = source.read()?;
            let read = start.elapsed();
            let rows = plan
                .row_permutation()
                .map_err(|e| CliError::failed("cannot take the plan apart").because(e))?;
            let facts = Facts {
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
            finish(options, progress, &rows, plan.col_permutation(), facts)
        }
        Source::Matrix(source) => {
            let method = options.by.unwrap_or(Method::Rcm);
            let name = shown(source.path());
            let (a, _) = source.read::<f64>(&options.read, progress)?;
            let read = start.elapsed();
            let observer = progress.ordering(format!("ordering {name}"));
            let start = Instant::now();
            let failed = |e| CliError::failed(format!("cannot order {name}")).because(e);
            let order = method.order_observed(a.pattern(), &observer).map_err(failed)?;
            let ordering = start.elapsed();
            progress.stage("measuring");
            let effect = Effect::of(a.pattern(), &order).map_err(failed)?;
            let facts = Facts {
                method: method.to_string(),
                nrows: a.nrows(),
                ncols: a.ncols(),
                nnz: a.nnz(),
                output: None,
                cols: None,
                read_seconds: read.as_secs_f64(),
                order_seconds: ordering.as_secs_f64(),
                effect: Some(effect),
            };
            let rows = order.row_permutation().map_err(failed)?;
            finish(options, progress, &rows, order.cols(), facts)
        }
    }
}

/// Writes what was asked for, and tells of it.
fn finish(
    options: &Options,
    progress: &Progress,
    rows: &Permutation,
    cols: Option<&Permutation>,
    mut facts: Facts,
) -> Result<Report, CliError> {
    if let Some(path) = &options.output {
        progress.stage(format!("writing {}", path.display()));
        order::write(path, rows)?;
        facts.output = Some(path.display().to_string());
    }
    if let Some(path) = &options.cols {
        let natural = || Permutation::identity(facts.ncols);
        let cols = cols.cloned().map_or_else(natural, Ok);
        let cols = cols.map_err(|e| CliError::failed("there are too many columns").because(e))?;
        order::write(path, &cols)?;
        facts.cols = Some(path.display().to_string());
    }
    let (rows, cols) = (facts.nrows, facts.ncols);
    let mut lines = vec![
        ("matrix", format!("{rows} × {cols}, {} nonzeros", units::count(facts.nnz as u64))),
        ("order", facts.method.clone()),
        ("read in", units::time(std::time::Duration::from_secs_f64(facts.read_seconds))),
        ("ordered in", units::time(std::time::Duration::from_secs_f64(facts.order_seconds))),
    ];
    lines.extend(facts.output.iter().map(|path| ("rows", path.clone())));
    lines.extend(facts.cols.iter().map(|path| ("columns", path.clone())));
    let text = table::facts(lines);
    let text = match &facts.effect {
        Some(effect) => format!("{text}\n\n{}", effect.table()),
        None => text,
    };
    Report::new(text, &facts)
}
