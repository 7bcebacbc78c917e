//! Orders of rows in files, and what an order does to a matrix.

use std::fs::File;
use std::path::Path;

use girih::formats::CsrPattern;
use girih::formats::io::{Source, WriteError, npy};
use girih::reorder::metrics::{self, Metrics, TileMetrics};
use girih::reorder::{Permutation, ReorderError, Reordering};
use serde::Serialize;

use crate::error::CliError;
use crate::{output, table, units};

/// Reads the order of a matrix's rows: the row that comes first, the row that comes second, …
pub(crate) fn read(path: &Path, (nrows, ncols): (usize, usize)) -> Result<Reordering, CliError> {
    // A valid matrix has no more rows than 32 bits number.
    let limit = nrows as u32;
    let order =
        npy::read_indices(Source::from(path), limit).map_err(|e| CliError::input_from(path, e))?;
    if order.len() != nrows {
        let (name, found) = (path.display(), order.len());
        return Err(CliError::input(format!(
            "{name}: it orders {found} rows, and the matrix has {nrows}"
        )));
    }
    let rows = Permutation::try_from_order(&order).map_err(|e| CliError::input_from(path, e))?;
    let cols = (nrows == ncols).then(|| rows.clone());
    Reordering::new(&rows, cols).map_err(|e| CliError::input_from(path, e))
}

/// Writes the order of rows or columns: the one that comes first, the one that comes second, …
pub(crate) fn write(path: &Path, permutation: &Permutation) -> Result<(), CliError> {
    let order = permutation.order();
    output::create(path, |temporary| {
        File::create(temporary)
            .map_err(WriteError::from)
            .and_then(|file| npy::write_indices(file, &order))
            .map_err(|e| CliError::failed(format!("cannot write {}", path.display())).because(e))
    })
}

/// A matrix in one order, for `--json`.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Shape {
    bandwidth: u64,
    profile: u64,
    /// For windows of 8, 16 and 64 rows.
    packed_cols: [u64; 3],
    /// For blocks of 8×8, 16×16 and 64×64.
    fill_ratio: [f64; 3],
    bmat_tiles: u64,
}

/// What an order does to a matrix, for `--json`.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Effect {
    before: Shape,
    after: Shape,
}

impl Effect {
    /// Measures a matrix as it is and in an order; columns of a square matrix follow its rows where
    /// bandwidth and profile are concerned.
    pub(crate) fn of(pattern: CsrPattern<'_>, order: &Reordering) -> Result<Self, ReorderError> {
        let rows = order.row_permutation()?;
        let cols = match order.cols() {
            Some(cols) => cols.clone(),
            None if pattern.nrows() == pattern.ncols() => rows.clone(),
            None => Permutation::identity(pattern.ncols())?,
        };
        let metrics::Effect { before, after } = metrics::effect(pattern, &rows, &cols)?;
        let shape = |Metrics { bandwidth, profile }, tiles: TileMetrics| Shape {
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
