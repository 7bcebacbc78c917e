//! Counts of a format, from the pattern alone.

use girih_formats::{BMat, CsrPattern, DType, FormatError, FormatSpec, RowLayout, TwoFour};
use rayon::prelude::*;

use crate::cost::Figures;

/// Counts what `spec` would store.
pub(crate) fn figures(
    pattern: CsrPattern<'_>,
    spec: FormatSpec,
    layout: &RowLayout,
    dtype: DType,
) -> Result<Figures, FormatError> {
    let nnz = pattern.nnz() as u64;
    let windows = layout.n_windows() as u64;
    let size = dtype.size() as u64;
    let figures = |stored: u64, bytes: u64, tiles: u64, b_rows: u64| Figures {
        kind: spec.kind(),
        nnz,
        stored,
        bytes,
        windows,
        tiles,
        b_rows,
    };
    // Per window: the distinct column groups of `width`, in sum and at most.
    let groups = |width: usize, pad: u64| {
        (0..layout.n_windows())
            .into_par_iter()
            .map(|w| {
                let mut cols: Vec<u32> = layout
                    .rows(w)
                    .flatten()
                    .flat_map(|row| pattern.row(row).iter().map(|&c| c / width as u32))
                    .collect();
                cols.sort_unstable();
                cols.dedup();
                let n = cols.len() as u64;
                [n, n.next_multiple_of(pad), n]
            })
            .reduce(|| [0; 3], |a, b| [a[0] + b[0], a[1] + b[1], a[2].max(b[2])])
    };
    Ok(match spec {
        FormatSpec::Csr => {
            figures(nnz, 8 * (pattern.nrows() as u64 + 1) + nnz * (4 + size), nnz, nnz)
        }
        FormatSpec::Bcsr { block_rows, block_cols } => {
            let [blocks, ..] = groups(block_cols, 1);
            let stored = blocks * (block_rows * block_cols) as u64;
            let bytes = 8 * (windows + 1) + 4 * blocks + size * stored;
            figures(stored, bytes, blocks, blocks * block_cols as u64)
        }
        FormatSpec::Wcsr { window_rows, pad_cols } => {
            let [cols, packed, _] = groups(1, pad_cols as u64);
            let stored = packed * window_rows as u64;
            let bytes = 8 * (windows + 1) + 4 * packed + size * stored;
            figures(stored, bytes, packed / pad_cols as u64, cols)
        }
        FormatSpec::BlockedEll { block_size } => {
            let [blocks, _, width] = groups(block_size, 1);
            let slots = windows * width;
            let stored = slots * (block_size * block_size) as u64;
            figures(stored, 4 * slots + size * stored, slots, blocks * block_size as u64)
        }
        FormatSpec::BMat { pattern_only } => {
            let [cols, packed, _] = groups(1, BMat::<f32>::TILE_COLS as u64);
            let tiles = packed / BMat::<f32>::TILE_COLS as u64;
            let values = if pattern_only { 0 } else { size * nnz };
            figures(nnz, 8 * (windows + 1) + tiles * (32 + 16 + 8) + 8 + values, tiles, cols)
        }
        FormatSpec::TwoFour => {
            let bad = (0..pattern.nrows()).into_par_iter().find_map_first(|row| {
                let cols = pattern.row(row);
                cols.windows(3).find(|c| c[0] / 4 == c[2] / 4).map(|c| FormatError::NotTwoFour {
                    row,
                    col: (c[0] / 4 * 4) as usize,
                    found: cols.iter().filter(|&&x| x / 4 == c[0] / 4).count(),
                })
            });
            if let Some(error) = bad {
                return Err(error);
            }
            let groups = windows * TwoFour::<f32>::groups_of(pattern.ncols()) as u64;
            let words = windows * TwoFour::<f32>::words_of(pattern.ncols()) as u64;
            figures(2 * groups, 2 * groups * size + 2 * words, groups, 2 * groups)
        }
    })
}

/// The largest distance of an entry from the diagonal.
pub(crate) fn bandwidth(pattern: CsrPattern<'_>) -> u64 {
    (0..pattern.nrows())
        .into_par_iter()
        .map(|i| {
            let cols = pattern.row(i);
            let ends = [cols.first(), cols.last()];
            ends.into_iter().flatten().map(|&c| u64::from(c).abs_diff(i as u64)).max().unwrap_or(0)
        })
        .max()
        .unwrap_or(0)
}
