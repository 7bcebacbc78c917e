//! Orders of rows: written to files, and what they change.

use std::fs::File;
use std::path::Path;

use girih::formats::CsrPattern;
use girih::formats::io::{WriteError, npy};
use girih::reorder::metrics::{self, Metrics, TileMetrics};
use girih::reorder::{Permutation, ReorderError, Reordering};
use girih_measure::units;
use serde::Serialize;

use super::{file, table};
use crate::error::CliError;

/// Writes the order of rows or columns: the one that comes first, the one that comes second, …
pub(crate) fn write(path: &Path, permutation: &Permutation) -> Result<(), CliError> {
    let order = permutation.order();
    file::create(path, |temporary| {
        File::create(temporary)
            .map_err(WriteError::from)
            .and_then(|file| npy::write_indices(file, &order))
            .map_err(|e| CliError::failed(format!("cannot write {}", path.display())).because(e))
    })
}

/// The metrics of a matrix in one order, for `--json`.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct OrderMetrics {
    bandwidth: u64,
    profile: u64,
    /// For windows of 8, 16 and 64 rows.
    packed_cols: [u64; 3],
    /// For blocks of 8×8, 16×16 and 64×64.
    fill_ratio: [f64; 3],
    bmat_tiles: u64,
}

/// What an order changes, for `--json`.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct OrderEffect {
    before: OrderMetrics,
    after: OrderMetrics,
}

impl OrderEffect {
    /// Measures a matrix as it is and in an order. For bandwidth and profile, the columns of a square matrix
    /// are ordered like its rows.
    pub(crate) fn measure(
        pattern: CsrPattern<'_>,
        order: &Reordering,
    ) -> Result<Self, ReorderError> {
        let rows = order.row_permutation();
        let square = pattern.nrows() == pattern.ncols();
        let cols = order.cols().or(square.then_some(&rows));
        let metrics::Effect { before, after } = metrics::effect(pattern, &rows, cols)?;
        let shape = |Metrics { bandwidth, profile }, tiles: TileMetrics| OrderMetrics {
            bandwidth,
            profile,
            packed_cols: tiles.windows.map(|w| w.packed_cols),
            fill_ratio: tiles.blocks.map(|b| b.fill_ratio),
            bmat_tiles: tiles.bmat_tiles,
        };
        Ok(Self {
            before: shape(before, TileMetrics::of(pattern, None)?),
            after: shape(after, TileMetrics::of(pattern, Some(order))?),
        })
    }

    /// The numbers side by side.
    pub(crate) fn table(&self) -> String {
        let Self { before, after } = self;
        let count = |name: String, before: u64, after: u64| {
            let ratio = match before {
                0 => String::new(),
                before => format!("{:.3}", after as f64 / before as f64),
            };
            vec![name, units::count(before), units::count(after), ratio]
        };
        let percent = |ratio: f64| format!("{:.1} %", 100.0 * ratio);
        let mut rows = vec![
            count("bandwidth".to_owned(), before.bandwidth, after.bandwidth),
            count("profile".to_owned(), before.profile, after.profile),
        ];
        let windows = before.packed_cols.into_iter().zip(after.packed_cols);
        for (size, (before, after)) in metrics::WINDOW_ROWS.into_iter().zip(windows) {
            rows.push(count(format!("packed columns, {size} rows"), before, after));
        }
        rows.push(count("bmat tiles".to_owned(), before.bmat_tiles, after.bmat_tiles));
        let blocks = before.fill_ratio.into_iter().zip(after.fill_ratio);
        for (size, (before, after)) in metrics::BLOCK_SIZES.into_iter().zip(blocks) {
            let ratio = format!("{:.3}", after / before);
            rows.push(vec![format!("fill {size}x{size}"), percent(before), percent(after), ratio]);
        }
        table::with_header(["", ">before", ">after", ">ratio"], rows)
    }
}
