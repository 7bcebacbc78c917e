//! What a matrix is like, and what every format would make of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use girih::formats::io::Info;
use girih::formats::stats::MatrixStats;
use girih::formats::{Complex, Csr, CsrPattern, DType, FormatKind, FormatSpec, Narrowing, Scalar};
use girih::planner::Reorder;
use girih_measure::units;
use girih_parallel::prelude::*;
use serde::Serialize;

use crate::args::{InspectArgs, ReorderArg};
use crate::error::{CliError, shown};
use crate::input::matrix::{Matrix, for_matrix};
use crate::input::order;
use crate::input::source::MatrixSource;
use crate::output::format_sizes::{FormatSizes, format_sizes, format_table};
use crate::output::ordering::OrderEffect;
use crate::output::progress::Progress;
use crate::output::report::Report;
use crate::output::{narrowing, sparsity_plot, table};

/// Largest size of the picture, in characters.
const PICTURE: (usize, usize) = (64, 24);

/// Sizes that are shown beside the default ones.
const OTHER_SIZES: [FormatSpec; 5] = [
    FormatSpec::Bcsr { block_rows: 8, block_cols: 8 },
    FormatSpec::Bcsr { block_rows: 16, block_cols: 16 },
    FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 },
    FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
    FormatSpec::BlockedEll { block_size: 16 },
];

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct MatrixReport {
    file: FileReport,
    #[serde(flatten)]
    stats: MatrixStats,
    /// Stored entries that are zero.
    explicit_zeros: usize,
    /// Value type the formats' bytes are for.
    dtype: &'static str,
    /// What rounding to that type would make of the values.
    narrowing: Narrowing,
    formats: BTreeMap<&'static str, FormatSizes>,
    /// The same for some other block and window sizes.
    other_sizes: Vec<FormatSizes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reordered: Option<Reordered>,
    read_seconds: f64,
}

/// What an order would change.
#[derive(Debug, Serialize)]
struct Reordered {
    order: String,
    /// Computing the order, not reading it.
    #[serde(skip_serializing_if = "Option::is_none")]
    order_seconds: Option<f64>,
    #[serde(flatten)]
    effect: OrderEffect,
}

/// What the file's header says.
#[derive(Debug, Serialize)]
struct FileReport {
    kind: String,
    field: String,
    symmetry: String,
    /// Before symmetric entries are mirrored and duplicates added up.
    stored_entries: u64,
    gzip: bool,
}

/// Inspects a matrix.
pub(super) fn inspect(
    source: MatrixSource,
    args: &InspectArgs,
    progress: &Progress,
) -> Result<Report, CliError> {
    if let Some(ReorderArg::Plan(Reorder::None | Reorder::Auto | Reorder::Given)) = args.reorder {
        return Err(CliError::usage(
            "--reorder needs an ordering here; `girih plan --reorder auto --explain` chooses one",
        ));
    }
    // Before the matrix is read: a contradiction in the options should not cost minutes.
    let specs: Vec<FormatSpec> =
        FormatKind::ALL.into_iter().map(|kind| args.tiles.spec(kind)).collect::<Result<_, _>>()?;
    let name = shown(source.path());
    let start = Instant::now();
    // Not in `dtype`: rounding could turn small values into explicit zeros.
    let (matrix, info) = source.read_either::<f64, Complex<f64>, Matrix>(&args.read, progress)?;
    let facts = Facts { info, specs: &specs, name: &name, read: start.elapsed() };
    for_matrix!(&matrix, csr => facts.report(csr, args, progress))
}

/// What is known of a matrix once it was read.
struct Facts<'a> {
    info: Info,
    specs: &'a [FormatSpec],
    name: &'a str,
    read: Duration,
}

impl Facts<'_> {
    fn report<T: Scalar>(
        &self,
        a: &Csr<T>,
        args: &InspectArgs,
        progress: &Progress,
    ) -> Result<Report, CliError> {
        let Self { info, specs, name, read } = self;
        let default = if T::DTYPE.is_complex() { DType::C32 } else { DType::F32 };
        let dtype = args.tiles.dtype.unwrap_or(default);
        if T::DTYPE.is_complex() && !dtype.is_complex() {
            return Err(CliError::input(format!(
                "{name} holds complex numbers, and values of {dtype} have no imaginary part; give --dtype c64 or c32"
            )));
        }
        progress.stage(format!("measuring {name}"));
        let stats = MatrixStats::of(a.pattern());
        let formats: Vec<FormatSizes> =
            specs.iter().map(|&spec| format_sizes(a.pattern(), spec, dtype)).collect();
        let tiles = &args.tiles;
        let sizes_given =
            tiles.block.is_some() || tiles.window.is_some() || tiles.tile_entries.is_some();
        let others: &[FormatSpec] = if sizes_given { &[] } else { &OTHER_SIZES };
        let other_sizes: Vec<FormatSizes> =
            others.iter().map(|&spec| format_sizes(a.pattern(), spec, dtype)).collect();

        let reordered = match &args.reorder {
            Some(order) => Some(reordered(a.pattern(), order, name, progress)?),
            None => None,
        };

        let table = format_table(formats.iter().chain(&other_sizes));
        let picture = sparsity_plot::draw(a.pattern(), PICTURE.0, PICTURE.1);
        let report = MatrixReport {
            file: file_report(info),
            explicit_zeros: explicit_zeros(a),
            stats,
            dtype: dtype.name(),
            narrowing: Narrowing::of(a.values(), dtype),
            formats: FormatKind::ALL.iter().map(|kind| kind.name()).zip(formats).collect(),
            other_sizes,
            reordered,
            read_seconds: read.as_secs_f64(),
        };
        let narrowed = narrowing::line(&report.narrowing, dtype);
        let narrowed = narrowed.map_or_else(String::new, |line| format!("\n\n{line}"));
        let mut text = format!(
            "{}\n\n{picture}{narrowed}\n\nin {dtype}, every format would take\n\n{table}",
            overview_table(&report, name)
        );
        if let Some(Reordered { order, order_seconds, effect }) = &report.reordered {
            let time = order_seconds.map_or_else(String::new, |seconds| {
                format!(", computed in {}", units::time(Duration::from_secs_f64(seconds)))
            });
            text += &format!("\n\nin {order} order{time}\n\n{}", effect.table());
        }
        Report::new(text, &report)
    }
}

/// Says what an order would change. The order is an ordering or a file.
fn reordered(
    a: CsrPattern<'_>,
    order: &ReorderArg,
    name: &str,
    progress: &Progress,
) -> Result<Reordered, CliError> {
    let observer = progress.counting(format!("ordering {name}"));
    let failed = |e| CliError::ordering(name, e);
    let start = Instant::now();
    let (order, order_seconds, ordering) = match order {
        ReorderArg::File(path) => (shown(path), None, order::read(path, (a.nrows(), a.ncols()))?),
        ReorderArg::Plan(Reorder::By(method)) => {
            let ordering = method.order_observed(a, &observer).map_err(failed)?;
            (method.to_string(), Some(start.elapsed().as_secs_f64()), ordering)
        }
        ReorderArg::Plan(_) => return Err(CliError::usage("--reorder needs an ordering")),
    };
    let effect = OrderEffect::measure(a, &ordering).map_err(failed)?;
    Ok(Reordered { order, order_seconds, effect })
}

fn file_report(info: &Info) -> FileReport {
    FileReport {
        kind: info.kind.to_string(),
        field: info.field.to_string(),
        symmetry: info.symmetry.to_string(),
        stored_entries: info.stored_entries,
        gzip: info.gzip,
    }
}

fn explicit_zeros<T: Scalar>(a: &Csr<T>) -> usize {
    a.values().par_iter().with_min_len(1 << 14).filter(|v| v.is_zero()).count()
}

fn overview_table(report: &MatrixReport, name: &str) -> String {
    let FileReport { kind, field, symmetry, stored_entries, gzip } = &report.file;
    let stats = &report.stats;
    let gzip = if *gzip { ", gzipped" } else { "" };
    let entries = units::count(*stored_entries);
    let count = |n: usize| units::count(n as u64);
    table::pairs([
        ("matrix", name.to_owned()),
        ("file", format!("{kind}, {field}, {symmetry}, {entries} entries{gzip}")),
        ("size", format!("{} × {}", count(stats.nrows), count(stats.ncols))),
        ("nonzeros", format!("{}, {:.3e} of all positions", count(stats.nnz), stats.density)),
        ("explicit zeros", count(report.explicit_zeros)),
        (
            "per row",
            format!(
                "{:.1} on average, at most {}, coefficient of variation {:.2}",
                stats.mean_row_nnz,
                count(stats.max_row_nnz),
                stats.row_nnz_cv
            ),
        ),
        ("empty", format!("{} rows, {} columns", count(stats.empty_rows), count(stats.empty_cols))),
        ("bandwidth", count(stats.bandwidth)),
        ("pattern", if stats.symmetric_pattern { "symmetric" } else { "unsymmetric" }.to_owned()),
    ])
}
