//! Small matrices in every ordering and format: permutations are bijections, and tiles return the entries.

use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
use girih_reorder::{Method, Permutation};

const METHODS: [&str; 6] = ["rcm", "window:8", "window:1", "degree", "reverse", "random:3"];

const SPECS: [FormatSpec; 7] = [
    FormatSpec::Csr,
    FormatSpec::Bcsr { block_rows: 3, block_cols: 2 },
    FormatSpec::Wcsr { window_rows: 4, pad_cols: 3 },
    FormatSpec::Wcsr { window_rows: 1, pad_cols: 1 },
    FormatSpec::BlockedEll { block_size: 4 },
    FormatSpec::BMat { pattern_only: false },
    FormatSpec::TwoFour,
];

/// Runs the target on an input: what to do, how many columns, the length of each row, and then steps between
/// columns.
pub(crate) fn run(data: &[u8]) {
    let &[what, width, nrows, ref rest @ ..] = data else { return };
    let (nrows, ncols) = (usize::from(nrows), 1 + usize::from(width) * usize::from(width));
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
    let values: Vec<f32> = (0..col_idx.len()).map(|i| 1.0 + i as f32).collect();
    let Ok(a) = Csr::try_new(nrows, ncols, row_ptr, col_idx, values) else {
        unreachable!("columns rise within the matrix")
    };
    let spec = SPECS[usize::from(what >> 4) % SPECS.len()];
    let method: Method = METHODS[usize::from(what & 15) % METHODS.len()].parse().unwrap();
    // Orders of matrices with far more columns than entries are refused.
    let Ok(reordering) = method.order(a.pattern()) else { return };
    let rows = reordering.row_permutation();
    assert_eq!(rows.len(), nrows);
    assert_eq!(Permutation::try_new(rows.as_slice().to_vec()).unwrap(), rows);
    assert_eq!(rows.inverse().inverse(), rows);
    let held = match reordering.cols() {
        Some(cols) => cols.inverse().apply_cols(&cols.apply_cols(&a).unwrap()).unwrap(),
        None => a.clone(),
    };
    assert!(held == a, "columns that were moved and moved back");
    let Ok(layout) = rows.to_row_layout(spec.window_rows()) else { return };
    check(&a, spec, layout);
    // A layout from any list of slots is a layout, or refused.
    let slots: Vec<u32> =
        rest.iter().map(|&b| if b == 255 { u32::MAX } else { b.into() }).collect();
    if let Ok(layout) = RowLayout::explicit(nrows, spec.window_rows(), slots) {
        check(&a, spec, layout);
    }
}

/// Tiles of the matrix in a layout have its entries.
fn check(a: &Csr<f32>, spec: FormatSpec, layout: RowLayout) {
    if let Ok(tiling) = Tiling::from_csr(a, spec, layout) {
        assert!(tiling.to_csr() == *a, "{spec} returns other entries");
    }
}
