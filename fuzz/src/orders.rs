//! Small matrices in every ordering and format: permutations are bijections, and tiles return the entries.

use girih_formats::{Complex, Csr, FormatSpec, RowLayout, Scalar, ScalesPer, Tiling};
use girih_reorder::{Method, Permutation};

const METHODS: [&str; 6] = ["rcm", "window:8", "window:1", "degree", "reverse", "random:3"];

const SPECS: [FormatSpec; 11] = [
    FormatSpec::Csr,
    FormatSpec::Bcsr { block_rows: 3, block_cols: 2 },
    FormatSpec::Wcsr { window_rows: 4, pad_cols: 3 },
    FormatSpec::Wcsr { window_rows: 1, pad_cols: 1 },
    FormatSpec::BlockedEll { block_size: 4 },
    FormatSpec::BMat { pattern_only: false },
    FormatSpec::TwoFour,
    FormatSpec::Hybrid { window_rows: 4, pad_cols: 2, tile_entries: 3 },
    FormatSpec::Hybrid { window_rows: 2, pad_cols: 3, tile_entries: 1 },
    FormatSpec::BMat { pattern_only: true },
    FormatSpec::TwoFourE4m3 { scales: ScalesPer::Row },
];

/// Runs the target on an input: what to do, how many columns, the length of each row, and then steps between
/// columns.
pub(crate) fn run(data: &[u8]) {
    let &[what, width, nrows, ref rest @ ..] = data else { return };
    let spec = SPECS[usize::from(what >> 4) % SPECS.len()];
    // 2:4 stores something for every four columns of every row: wide ones take all the time.
    let width = match spec {
        FormatSpec::TwoFour | FormatSpec::TwoFourE4m3 { .. } => usize::from(width),
        _ => usize::from(width) * usize::from(width),
    };
    let (nrows, ncols) = (usize::from(nrows), 1 + width);
    let (lens, mut steps) = rest.split_at(nrows.min(rest.len()));
    let (mut row_ptr, mut col_idx) = (vec![0], Vec::new());
    for row in 0..nrows {
        let len = usize::from(lens.get(row).copied().unwrap_or_default() % 16);
        let mut col = 0;
        for _ in 0..len {
            let Some((&step, after)) = steps.split_first() else { break };
            (steps, col) = (after, col + 1 + usize::from(step));
            if col > ncols {
                break;
            }
            col_idx.push(col as u32 - 1);
        }
        row_ptr.push(col_idx.len() as u64);
    }
    let method: Method = METHODS[usize::from(what & 15) % METHODS.len()].parse().unwrap();
    if usize::from(what & 15) / METHODS.len() == 1 {
        orders(method, &matrix::<Complex<f32>>(ncols, row_ptr, col_idx), spec, rest);
    } else {
        orders(method, &matrix::<f32>(ncols, row_ptr, col_idx), spec, rest);
    }
}

/// A matrix whose entries count from 1.
fn matrix<T: Scalar>(ncols: usize, row_ptr: Vec<u64>, col_idx: Vec<u32>) -> Csr<T> {
    let values: Vec<T> = (1..=col_idx.len()).map(|i| T::from_c64((i as f64).into())).collect();
    match Csr::try_new(row_ptr.len() - 1, ncols, row_ptr, col_idx, values) {
        Ok(a) => a,
        Err(error) => unreachable!("columns rise within the matrix: {error}"),
    }
}

/// Orders a matrix, and checks tiles of it in that order and in one that the input gives.
fn orders<T: Scalar>(method: Method, a: &Csr<T>, spec: FormatSpec, rest: &[u8]) {
    let nrows = a.nrows();
    // Orders of matrices with far more columns than entries are refused.
    let Ok(reordering) = method.order(a.pattern()) else { return };
    let rows = reordering.row_permutation();
    assert_eq!(rows.len(), nrows);
    assert_eq!(Permutation::try_new(rows.as_slice().to_vec()).unwrap(), rows);
    assert_eq!(rows.inverse().inverse(), rows);
    let held = match reordering.cols() {
        Some(cols) => cols.inverse().apply_cols(&cols.apply_cols(a).unwrap()).unwrap(),
        None => a.clone(),
    };
    assert!(held == *a, "columns that were moved and moved back");
    let Ok(layout) = rows.to_row_layout(spec.window_rows()) else { return };
    check(a, spec, layout);
    // A layout from any list of slots is a layout, or refused.
    let slots: Vec<u32> =
        rest.iter().map(|&b| if b == 255 { u32::MAX } else { b.into() }).collect();
    if let Ok(layout) = RowLayout::explicit(nrows, spec.window_rows(), slots) {
        check(a, spec, layout);
    }
}

/// Tiles of the matrix in a layout have its entries, or its pattern where they hold no values or narrower ones.
fn check<T: Scalar>(a: &Csr<T>, spec: FormatSpec, layout: RowLayout) {
    if let Ok(tiling) = Tiling::from_csr(a, spec, layout) {
        let held = tiling.to_csr();
        let has_values = !matches!(
            spec,
            FormatSpec::BMat { pattern_only: true } | FormatSpec::TwoFourE4m3 { .. }
        );
        let is_alike = (held.row_ptr(), held.col_idx()) == (a.row_ptr(), a.col_idx());
        assert!(is_alike, "{spec} returns another pattern");
        assert!(!has_values || held == *a, "{spec} returns other values");
    }
}
