//! `girih inspect`: what a matrix is, and what every format would make of it; or what a plan is.

mod plan;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use girih::formats::io::Info;
use girih::formats::stats::{FormatStats, MatrixStats};
use girih::formats::{
    Csr, CsrPattern, DType, FormatError, FormatKind, FormatSpec, Narrowing, RowLayout, Scalar,
};
use girih::planner::Reorder;
use rayon::prelude::*;
use serde::Serialize;

use crate::args::{Json, ReadArgs, ReorderArg, TileArgs};
use crate::error::{CliError, shown};
use crate::order::{self, Effect};
use crate::progress::Progress;
use crate::report::Report;
use crate::source::{MatrixSource, Source};
use crate::{narrowing, spy, table, units};

/// Largest size of the picture, in characters.
const PICTURE: (usize, usize) = (64, 24);

/// Sizes shown besides those asked for.
const OTHER_SIZES: [FormatSpec; 5] = [
    FormatSpec::Bcsr { block_rows: 8, block_cols: 8 },
    FormatSpec::Bcsr { block_rows: 16, block_cols: 16 },
    FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 },
    FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
    FormatSpec::BlockedEll { block_size: 16 },
];

/// Show what a matrix is like and what it would take in every format, or what a plan file holds
///
/// Of a plan: shape, format, the device and the n it was made for, order, schedule, what was considered,
/// every section of the file with its size, and what backends keep with it. Every hash and index is
/// checked.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Matrix or plan file; - is standard input. The options but --json are for matrices
    #[arg(value_name = "A|PLAN")]
    source: PathBuf,
    /// Show what an order of the rows would change: rcm, window, degree, reverse, random or
    /// random:SEED, or a .npy file as `girih reorder` writes them
    #[arg(long, value_name = "ORDER")]
    reorder: Option<ReorderArg>,
    #[command(flatten)]
    pub(crate) json: Json,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    tiles: TileArgs,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Facts {
    file: FileFacts,
    #[serde(flatten)]
    stats: MatrixStats,
    /// Stored entries that are zero.
    explicit_zeros: usize,
    /// Value type the formats' bytes are for.
    dtype: &'static str,
    /// What rounding to that type would make of the values.
    narrowing: Narrowing,
    formats: BTreeMap<&'static str, FormatFacts>,
    /// The same for some other block and window sizes.
    other_sizes: Vec<FormatFacts>,
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
    effect: Effect,
}

/// What the file says of itself.
#[derive(Debug, Serialize)]
struct FileFacts {
    kind: String,
    field: String,
    symmetry: String,
    /// Before symmetric entries are mirrored and duplicates added up.
    stored_entries: u64,
    gzip: bool,
}

/// What a matrix would take in a format, or why the format cannot hold it.
#[derive(Debug, Serialize)]
struct FormatFacts {
    spec: String,
    #[serde(flatten)]
    sizes: Option<Sizes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsupported: Option<String>,
}

#[derive(Debug, Serialize)]
struct Sizes {
    bytes: u64,
    fill_ratio: f64,
    /// Elements of the value array.
    stored: u64,
    windows: u64,
    tiles: u64,
    max_tiles_per_window: u64,
    /// Rows of B read if every window is computed once.
    gathered_cols: u64,
    padding_cols: u64,
}

pub(crate) fn run(options: &Options, progress: &Progress) -> Result<Report, CliError> {
    match Source::detect(&options.source)? {
        Source::Matrix(source) => matrix(source, options, progress),
        Source::Plan(source) => {
            let given = options.given();
            if !given.is_empty() {
                return Err(CliError::usage(format!(
                    "{} is a plan, and for a matrix only: {}",
                    shown(source.path()),
                    given.join(", ")
                )));
            }
            plan::inspect(source, progress)
        }
    }
}

impl Options {
    /// The options for matrices that were given, by name.
    fn given(&self) -> Vec<&'static str> {
        let own = [
            ("--reorder", self.reorder.is_some()),
            ("--dtype", self.tiles.dtype.is_some()),
            ("--block", self.tiles.block.is_some()),
            ("--window", self.tiles.window.is_some()),
        ];
        own.into_iter()
            .filter_map(|(name, given)| given.then_some(name))
            .chain(self.read.given())
            .collect()
    }
}

/// Inspects a matrix.
fn matrix(
    source: MatrixSource,
    options: &Options,
    progress: &Progress,
) -> Result<Report, CliError> {
    let dtype = options.tiles.dtype();
    if let Some(ReorderArg::Plan(Reorder::None | Reorder::Auto | Reorder::Given)) = options.reorder
    {
        return Err(CliError::usage(
            "--reorder needs an ordering here; `girih plan --reorder auto --explain` chooses one",
        ));
    }
    // Before the matrix is read: a contradiction in the options should not cost minutes.
    let specs: Vec<FormatSpec> = FormatKind::ALL
        .into_iter()
        .map(|kind| options.tiles.spec(kind))
        .collect::<Result<_, _>>()?;
    let name = shown(source.path());
    let start = Instant::now();
    // Not in `dtype`: rounding could turn small values into explicit zeros.
    let (a, info) = source.read::<f64>(&options.read, progress)?;
    let read = start.elapsed();

    progress.stage(format!("measuring {name}"));
    let stats = MatrixStats::of(a.pattern());
    let asked: Vec<FormatFacts> =
        specs.iter().map(|&spec| format_facts(a.pattern(), spec, dtype)).collect();
    let sizes_given = options.tiles.block.is_some() || options.tiles.window.is_some();
    let others: &[FormatSpec] = if sizes_given { &[] } else { &OTHER_SIZES };
    let other_sizes: Vec<FormatFacts> =
        others.iter().map(|&spec| format_facts(a.pattern(), spec, dtype)).collect();

    let reordered = match &options.reorder {
        Some(order) => Some(reordered(&a, order, &name, progress)?),
        None => None,
    };

    let table = format_table(asked.iter().chain(&other_sizes));
    let picture = spy::draw(a.pattern(), PICTURE.0, PICTURE.1);
    let facts = Facts {
        file: file_facts(&info),
        explicit_zeros: explicit_zeros(&a),
        stats,
        dtype: dtype.name(),
        narrowing: Narrowing::of(a.values(), dtype),
        formats: FormatKind::ALL.iter().map(|kind| kind.name()).zip(asked).collect(),
        other_sizes,
        reordered,
        read_seconds: read.as_secs_f64(),
    };
    let narrowed = narrowing::line(&facts.narrowing, dtype);
    let narrowed = narrowed.map_or_else(String::new, |line| format!("\n\n{line}"));
    let mut text = format!(
        "{}\n\n{picture}{narrowed}\n\nin {dtype}, every format would take\n\n{table}",
        facts_table(&facts, &name)
    );
    if let Some(Reordered { order, order_seconds, effect }) = &facts.reordered {
        let time = order_seconds.map_or_else(String::new, |seconds| {
            format!(", computed in {}", units::time(Duration::from_secs_f64(seconds)))
        });
        text += &format!("\n\nin {order} order{time}\n\n{}", effect.table());
    }
    Report::new(text, &facts)
}

/// What an order would change; the order is an ordering or a file.
fn reordered(
    a: &Csr<f64>,
    order: &ReorderArg,
    name: &str,
    progress: &Progress,
) -> Result<Reordered, CliError> {
    let observer = progress.ordering(format!("ordering {name}"));
    let failed = |e| CliError::failed(format!("cannot order {name}")).because(e);
    let start = Instant::now();
    let (order, order_seconds, ordering) = match order {
        ReorderArg::File(path) => (shown(path), None, order::read(path, (a.nrows(), a.ncols()))?),
        ReorderArg::Plan(Reorder::By(method)) => {
            let ordering = method.order_observed(a.pattern(), &observer).map_err(failed)?;
            (method.to_string(), Some(start.elapsed().as_secs_f64()), ordering)
        }
        ReorderArg::Plan(_) => return Err(CliError::usage("--reorder needs an ordering")),
    };
    let effect = Effect::of(a.pattern(), &ordering).map_err(failed)?;
    Ok(Reordered { order, order_seconds, effect })
}

/// One line about a matrix, and every format measured: what the demo shows of an inspection.
pub(crate) fn overview<T: Scalar>(a: &Csr<T>) -> String {
    let stats = MatrixStats::of(a.pattern());
    let measured = FormatKind::ALL
        .into_iter()
        .filter_map(|kind| TileArgs::default().spec(kind).ok())
        .map(|spec| format_facts(a.pattern(), spec, T::DTYPE))
        .filter(|facts| facts.sizes.is_some())
        .count();
    let symmetric = if stats.symmetric_pattern { "symmetric" } else { "unsymmetric" };
    format!(
        "{:.1} per row, bandwidth {}, {symmetric}; {measured} of {} formats can hold it",
        stats.mean_row_nnz,
        units::count(stats.bandwidth as u64),
        FormatKind::ALL.len()
    )
}

fn format_facts(pattern: CsrPattern<'_>, spec: FormatSpec, dtype: DType) -> FormatFacts {
    let measured = RowLayout::natural(pattern.nrows(), spec.window_rows())
        .and_then(|layout| FormatStats::of(pattern, spec, &layout, dtype));
    let (sizes, unsupported) = match measured {
        Ok(stats) => (Some(sizes(&stats)), None),
        Err(reason) => (None, Some(unsupported_reason(&reason))),
    };
    FormatFacts { spec: spec.to_string(), sizes, unsupported }
}

fn sizes(stats: &FormatStats) -> Sizes {
    Sizes {
        bytes: stats.bytes,
        fill_ratio: stats.fill_ratio,
        stored: stats.stored,
        windows: stats.windows,
        tiles: stats.tiles,
        max_tiles_per_window: stats.max_tiles_per_window,
        gathered_cols: stats.gathered_cols,
        padding_cols: stats.padding_cols,
    }
}

fn unsupported_reason(reason: &FormatError) -> String {
    match reason {
        FormatError::NotTwoFour { .. } => format!("{reason} (--prune-two-four)"),
        _ => reason.to_string(),
    }
}

fn file_facts(info: &Info) -> FileFacts {
    FileFacts {
        kind: info.kind.to_string(),
        field: info.field.to_string(),
        symmetry: info.symmetry.to_string(),
        stored_entries: info.stored_entries,
        gzip: info.gzip,
    }
}

fn explicit_zeros(a: &Csr<f64>) -> usize {
    a.values().par_iter().with_min_len(1 << 14).filter(|v| v.is_zero()).count()
}

fn facts_table(facts: &Facts, name: &str) -> String {
    let FileFacts { kind, field, symmetry, stored_entries, gzip } = &facts.file;
    let stats = &facts.stats;
    let gzip = if *gzip { ", gzipped" } else { "" };
    let entries = units::count(*stored_entries);
    let count = |n: usize| units::count(n as u64);
    table::facts([
        ("matrix", name.to_owned()),
        ("file", format!("{kind}, {field}, {symmetry}, {entries} entries{gzip}")),
        ("size", format!("{} × {}", count(stats.nrows), count(stats.ncols))),
        ("nonzeros", format!("{}, {:.3e} of all positions", count(stats.nnz), stats.density)),
        ("explicit zeros", count(facts.explicit_zeros)),
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

fn format_table<'a>(rows: impl Iterator<Item = &'a FormatFacts>) -> String {
    let rows = rows.map(|FormatFacts { spec, sizes, unsupported }| match sizes {
        Some(sizes) => vec![
            spec.clone(),
            units::bytes(sizes.bytes),
            format!("{:.1} %", 100.0 * sizes.fill_ratio),
            units::count(sizes.tiles),
            units::count(sizes.max_tiles_per_window),
            units::count(sizes.gathered_cols),
            String::new(),
        ],
        None => {
            let mut row = vec![String::from("-"); 7];
            row[0].clone_from(spec);
            row[6] = unsupported.clone().unwrap_or_default();
            row
        }
    });
    let header = ["format", ">bytes", ">fill", ">tiles", ">largest window", ">rows of B read", ""];
    table::with_header(header, rows)
}
