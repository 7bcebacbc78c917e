//! What metrics count is what tilings hold, in any order.

use girih_formats::stats::FormatStats;
use girih_formats::{Csr, DType, FormatSpec, PAD_ROW, RowLayout};
use girih_generate::{dense_row, pruned_weights, rmat};
use girih_reorder::metrics::{TileMetrics, window_counts};
use girih_reorder::{Method, Permutation, Reordering, simple};
use proptest::prelude::*;

/// What the statistics of a format say, which build nothing either but know no order of columns.
fn stats(a: &Csr<f32>, spec: FormatSpec, rows: &RowLayout) -> FormatStats {
    let layout = rows.with_window_rows(spec.window_rows()).unwrap();
    FormatStats::of(a.pattern(), spec, &layout, DType::F32).unwrap()
}

fn check(a: &Csr<f32>, ordering: &Reordering) {
    let found = TileMetrics::of(a.pattern(), Some(ordering)).unwrap();
    for windows in found.windows {
        let spec = FormatSpec::Wcsr { window_rows: windows.window_rows, pad_cols: 1 };
        let expected = stats(a, spec, ordering.rows());
        assert_eq!(windows.packed_cols, expected.gathered_cols);
        assert_eq!(windows.windows, expected.windows);
    }
    let tiles = stats(a, FormatSpec::BMat { pattern_only: false }, ordering.rows()).tiles;
    assert_eq!(found.bmat_tiles, tiles);
    let permuted = match ordering.cols() {
        Some(cols) => cols.apply_cols(a).unwrap(),
        None => a.clone(),
    };
    for blocks in found.blocks {
        let size = blocks.block_size;
        let spec = FormatSpec::Bcsr { block_rows: size, block_cols: size };
        let expected = stats(&permuted, spec, ordering.rows());
        assert_eq!(blocks.blocks, expected.tiles);
        assert!((blocks.fill_ratio - expected.fill_ratio).abs() < 1e-12);
    }
}

proptest! {
    #[test]
    fn metrics_are_those_of_the_tilings(
        m in 0usize..150, k in 0usize..150, sparsity in 0.5..=1.0f64, seed: u64
    ) {
        let a = pruned_weights::<f32>(m, k, sparsity, seed).unwrap();
        let rows = simple::random(m, seed).unwrap();
        let cols = simple::random(k, !seed).unwrap();
        check(&a, &Reordering::natural(m).unwrap());
        check(&a, &Reordering::new(&rows, None));
        check(&a, &Reordering::new(&rows, Some(cols.clone())));
        // Windows of 16 slots, every fifth of them empty.
        let mut slots: Vec<u32> = Vec::new();
        for (i, row) in rows.order().into_iter().enumerate() {
            slots.extend((i % 4 == 3).then_some(PAD_ROW));
            slots.push(row);
        }
        slots.resize(slots.len().next_multiple_of(16), PAD_ROW);
        let layout = RowLayout::explicit(m, 16, slots).unwrap();
        let ordering = Reordering::of_layout(layout, Some(cols));
        check(&a, &ordering);
        prop_assert_eq!(ordering.row_permutation(), rows);
    }
}

#[test]
fn every_method_orders_every_shape() {
    let matrices = [
        Csr::<f32>::empty(0, 0).unwrap(),
        Csr::empty(0, 7).unwrap(),
        Csr::empty(7, 0).unwrap(),
        Csr::empty(9, 9).unwrap(),
        pruned_weights(1, 40, 0.5, 1).unwrap(),
        pruned_weights(40, 1, 0.5, 1).unwrap(),
        pruned_weights(90, 31, 0.9, 1).unwrap(),
        dense_row(200, 200, 1, 77, 1).unwrap(),
        rmat(7, 4, 1).unwrap(),
    ];
    let methods = ["rcm", "window", "window:5", "degree", "reverse", "random", "random:7"];
    for a in &matrices {
        for method in methods {
            let method: Method = method.parse().unwrap();
            assert_eq!(method.to_string().parse::<Method>().unwrap(), method);
            let ordering = method.order(a.pattern()).unwrap();
            let rows = ordering.row_permutation();
            assert_eq!(rows.len(), a.nrows());
            if a.nrows() == a.ncols() && !matches!(method, Method::Window { .. }) {
                assert_eq!(ordering.cols(), Some(&rows));
            }
            assert!(ordering.cols().is_none_or(|cols| cols.len() == a.ncols()));
            check(a, &ordering);
        }
    }
    assert!("rcmm".parse::<Method>().is_err());
    for name in ["random:x", "window:0", "window:", "rcm:1"] {
        assert!(name.parse::<Method>().is_err(), "{name}");
    }
}

#[test]
fn counts_do_not_depend_on_threads_or_on_how_sparse_columns_are() {
    let a = rmat::<f32>(11, 8, 1).unwrap();
    let layout = RowLayout::natural(a.nrows(), 16).unwrap();
    let expected = window_counts(a.pattern(), &layout, None, 1).unwrap();
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| window_counts(a.pattern(), &layout, None, 1)).unwrap();
        assert_eq!(found, expected);
    }
    // The same pattern with its last columns far out.
    let far = 1u32 << 31;
    let cols: Vec<u32> = a.col_idx().iter().map(|&j| if j > 1000 { j + far } else { j }).collect();
    let row_ptr = a.row_ptr().to_vec();
    let wide =
        Csr::try_new(a.nrows(), u32::MAX as usize, row_ptr, cols, a.values().to_vec()).unwrap();
    assert_eq!(window_counts(wide.pattern(), &layout, None, 1).unwrap(), expected);
}

#[test]
fn what_does_not_fit_is_refused() {
    let a = Csr::<f32>::empty(3, 4).unwrap();
    let (three, two) = (RowLayout::natural(3, 1).unwrap(), RowLayout::natural(2, 1).unwrap());
    let cols = Permutation::identity(3).unwrap();
    assert!(window_counts(a.pattern(), &two, None, 1).is_err());
    assert!(window_counts(a.pattern(), &three, None, 0).is_err());
    assert!(window_counts(a.pattern(), &three, Some(&cols), 1).is_err());
    assert!(TileMetrics::of(a.pattern(), Some(&Reordering::natural(4).unwrap())).is_err());
}
