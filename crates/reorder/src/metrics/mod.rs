//! What an ordering does to the shape of a matrix, computed without permuting it.

use girih_formats::CsrPattern;
use girih_parallel::prelude::*;

use crate::error::ReorderError;
use crate::permutation::Permutation;

mod tiles;

pub use tiles::{BLOCK_SIZES, Blocks, TileMetrics, WINDOW_ROWS, Windows, window_counts};

/// Rows that one task looks at.
const TASK_ROWS: usize = 1 << 10;

/// How far entries are from the diagonal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// The largest |i − j| of an entry (i, j); 0 without entries.
    pub bandwidth: u64,
    /// Σ over rows of i − min(i, first column of row i): the slots of an envelope store of the lower
    /// triangle. For a symmetric pattern this is the profile of Cuthill–McKee's literature.
    pub profile: u64,
}

/// Metrics of one matrix in two orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// In the order of the input.
    pub before: Metrics,
    /// Permuted.
    pub after: Metrics,
}

/// Metrics of a matrix as it is. O(nrows): rows are sorted.
///
/// ```
/// use girih_formats::Csr;
/// use girih_reorder::metrics::{Metrics, natural};
///
/// // [ 1 . 1 ]
/// // [ . 1 . ]
/// // [ . 1 1 ]
/// let a = Csr::try_new(3, 3, vec![0, 2, 3, 5], vec![0, 2, 1, 1, 2], vec![1.0f32; 5])?;
/// assert_eq!(natural(a.pattern()), Metrics { bandwidth: 2, profile: 1 });
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
#[must_use]
pub fn natural(pattern: CsrPattern<'_>) -> Metrics {
    over_rows(pattern, |i| {
        let row = pattern.row(i);
        Some((i as u32, *row.first()?, *row.last()?))
    })
}

/// Metrics of the matrix with rows and columns permuted; `None` leaves the columns as they are.
/// O(nrows + nnz), in parallel.
///
/// # Errors
/// If a permutation doesn't fit the matrix.
pub fn permuted<'p>(
    pattern: CsrPattern<'_>,
    rows: &Permutation,
    cols: impl Into<Option<&'p Permutation>>,
) -> Result<Metrics, ReorderError> {
    rows.check_applies("rows", pattern.nrows())?;
    let cols = cols.into();
    if let Some(cols) = cols {
        cols.check_applies("columns", pattern.ncols())?;
    }
    let rows = rows.as_slice();
    Ok(over_rows(pattern, |i| {
        let new = |&j: &u32| cols.map_or(j, |cols| cols.as_slice()[j as usize]);
        let columns = pattern.row(i).iter().map(new);
        let widest = |(low, high): (u32, u32), j: u32| (low.min(j), high.max(j));
        let (low, high) = columns.fold((u32::MAX, 0), widest);
        (low <= high).then_some((rows[i], low, high))
    }))
}

/// Metrics before and after a permutation of rows and columns; for a symmetric permutation give the
/// same one twice, and `None` to leave the columns as they are. O(nrows + nnz), in parallel.
///
/// # Errors
/// If a permutation doesn't fit the matrix.
pub fn effect<'p>(
    pattern: CsrPattern<'_>,
    rows: &Permutation,
    cols: impl Into<Option<&'p Permutation>>,
) -> Result<Effect, ReorderError> {
    Ok(Effect { before: natural(pattern), after: permuted(pattern, rows, cols)? })
}

/// Combines every row's index, first and last column.
fn over_rows(
    pattern: CsrPattern<'_>,
    extent: impl Fn(usize) -> Option<(u32, u32, u32)> + Sync,
) -> Metrics {
    let of_row = |i: usize| {
        extent(i).map_or_else(Metrics::default, |(row, first, last)| Metrics {
            bandwidth: u64::from(row.abs_diff(first).max(row.abs_diff(last))),
            profile: u64::from(row.saturating_sub(first)),
        })
    };
    let combine = |a: Metrics, b: Metrics| Metrics {
        bandwidth: a.bandwidth.max(b.bandwidth),
        profile: a.profile + b.profile,
    };
    let rows = (0..pattern.nrows()).into_par_iter().with_min_len(TASK_ROWS);
    rows.map(of_row).reduce(Metrics::default, combine)
}
