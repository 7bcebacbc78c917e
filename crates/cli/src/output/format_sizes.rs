//! What a matrix would take in every format.

use girih::formats::stats::{FormatStats, MatrixStats};
use girih::formats::{
    Csr, CsrPattern, DType, FormatError, FormatKind, FormatSpec, RowLayout, Scalar,
};
use girih_measure::bench::TileSizes;
use girih_measure::units;
use serde::Serialize;

use super::table;

/// What a matrix would take in a format, or why the format cannot hold it.
#[derive(Debug, Serialize)]
pub(crate) struct FormatSizes {
    spec: String,
    #[serde(flatten)]
    sizes: Option<TileCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsupported: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct TileCounts {
    bytes: u64,
    fill_ratio: f64,
    /// Elements of the value array.
    stored: u64,
    windows: u64,
    tiles: u64,
    max_tiles_per_window: u64,
    /// Rows of B that are read if every window is computed once.
    gathered_cols: u64,
    padding_cols: u64,
}

/// One line about a matrix: its structure, and the number of formats that can hold it.
pub(crate) fn overview<T: Scalar>(a: &Csr<T>) -> String {
    let stats = MatrixStats::of(a.pattern());
    let default_sizes =
        TileSizes { dtype: T::DTYPE, block: None, window: None, tile_entries: None };
    let measured = FormatKind::ALL
        .into_iter()
        .filter_map(|kind| default_sizes.spec(kind).ok())
        .map(|spec| format_sizes(a.pattern(), spec, T::DTYPE))
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

pub(crate) fn format_sizes(pattern: CsrPattern<'_>, spec: FormatSpec, dtype: DType) -> FormatSizes {
    let measured = RowLayout::natural(pattern.nrows(), spec.window_rows())
        .and_then(|layout| FormatStats::of(pattern, spec, &layout, dtype));
    let (sizes, unsupported) = match measured {
        Ok(stats) => (Some(sizes(&stats)), None),
        Err(reason) => (None, Some(unsupported_reason(&reason))),
    };
    FormatSizes { spec: spec.to_string(), sizes, unsupported }
}

fn sizes(stats: &FormatStats) -> TileCounts {
    TileCounts {
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

pub(crate) fn format_table<'a>(rows: impl Iterator<Item = &'a FormatSizes>) -> String {
    let rows = rows.map(|FormatSizes { spec, sizes, unsupported }| match sizes {
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
