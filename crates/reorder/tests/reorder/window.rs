//! The window ordering on matrices whose best windows are known, on odd shapes, and on any.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::thread;

use girih_formats::{Csr, CsrPattern, RowLayout};
use girih_generate::*;
use girih_reorder::{
    BlockOptions, BlockOrdering, Permutation, ReorderError, WindowEffort, WindowOptions,
    WindowOrdering, blocks, metrics, rcm, rcm_rows_cols, simple, window, window_observed,
};
use proptest::prelude::*;

/// Packed columns, counted the slow way.
fn packed(pattern: CsrPattern<'_>, layout: &RowLayout) -> u64 {
    // A natural window may be far higher than the matrix.
    let slots = if layout.is_natural() { layout.nrows() } else { layout.n_slots() };
    let count = |w| {
        let Range { start, end } = layout.window(w);
        let rows = (start..end.min(slots)).filter_map(|slot| layout.row(slot));
        rows.flat_map(|row| pattern.row(row)).collect::<BTreeSet<_>>().len() as u64
    };
    (0..layout.n_windows()).map(count).sum()
}

/// Orders, and checks all that must hold for any matrix. That every row stands in one slot is
/// checked by the layout itself when it is made.
fn checked(a: &Csr<f32>, options: &WindowOptions) -> WindowOrdering {
    let found = window(a.pattern(), options).unwrap();
    let (layout, stats) = (&found.layout, &found.stats);
    assert_eq!((layout.nrows(), layout.window_rows()), (a.nrows(), options.window_rows));
    assert_eq!(stats.packed, packed(a.pattern(), layout));
    assert_eq!(stats.n_windows, layout.n_windows());
    let natural = RowLayout::natural(a.nrows(), options.window_rows).unwrap();
    assert_eq!(stats.natural, packed(a.pattern(), &natural));
    assert!(stats.packed <= stats.natural);
    assert!(layout.is_natural() || stats.packed < stats.natural);
    assert!(layout.n_windows() <= 2 * a.nrows() / options.window_rows + 1);
    found
}

/// Deals both sides into blocks, and checks all that must hold for any matrix.
fn checked_blocks(a: &Csr<f32>, options: &BlockOptions) -> BlockOrdering {
    let found = blocks(a.pattern(), options).unwrap();
    let count = |rows: &RowLayout, cols: Option<&Permutation>| {
        let width = options.block_cols as u32;
        let counts = metrics::window_counts(a.pattern(), rows, cols, width).unwrap();
        counts.iter().map(|&n| u64::from(n)).sum::<u64>()
    };
    let stats = &found.stats;
    assert_eq!(found.rows.window_rows(), options.block_rows);
    assert_eq!(stats.blocks, count(&found.rows, Some(&found.cols)));
    let natural = RowLayout::natural(a.nrows(), options.block_rows).unwrap();
    assert_eq!(stats.natural, count(&natural, None));
    let starts = [stats.from_natural, stats.from_rcm, stats.from_columns, stats.natural];
    let least = starts.into_iter().min().unwrap();
    assert_eq!(stats.blocks, least);
    assert!(stats.from_natural <= stats.rows_only);
    found
}

fn all_options(window_rows: usize) -> [WindowOptions; 3] {
    [WindowEffort::Fast, WindowEffort::Normal, WindowEffort::High]
        .map(|effort| WindowOptions::new(window_rows).effort(effort).seed(3))
}

/// `groups` blocks of `height`×`width`, dense, rows shuffled.
fn shuffled_blocks(groups: usize, height: usize, width: usize, seed: u64) -> Csr<f32> {
    let (m, k) = (groups * height, groups * width);
    let row_ptr: Vec<u64> = (0..=m).map(|i| (i * width) as u64).collect();
    let cols = (0..m).flat_map(|i| (0..width).map(move |j| (i / height * width + j) as u32));
    let blocks =
        Csr::try_new(m, k, row_ptr, cols.collect::<Vec<_>>(), vec![1.0; m * width]).unwrap();
    simple::random(m, seed).unwrap().apply_rows(&blocks).unwrap()
}

#[test]
fn shuffled_blocks_are_found_again() {
    for (groups, height, width) in [(40, 8, 5), (7, 16, 3), (100, 4, 1), (3, 64, 40)] {
        let a = shuffled_blocks(groups, height, width, 5);
        for options in all_options(height) {
            let found = checked(&a, &options);
            assert_eq!(found.stats.packed, (groups * width) as u64);
            assert_eq!(found.stats.n_windows, groups);
        }
    }
}

#[test]
fn odd_shapes() {
    let cases: Vec<(&str, Csr<f32>)> = vec![
        ("0×0", Csr::empty(0, 0).unwrap()),
        ("no rows", Csr::empty(0, 9).unwrap()),
        ("no columns", Csr::empty(9, 0).unwrap()),
        ("no entries", Csr::empty(100, 100).unwrap()),
        ("1×n", uniform(1, 500, 90, 1).unwrap()),
        ("n×1", uniform(500, 1, 1, 1).unwrap()),
        ("wide", uniform(300, u32::MAX as usize, 3, 1).unwrap()),
        ("dense row", dense_row(400, 400, 2, 77, 1).unwrap()),
        ("dense column", dense_col(400, 400, 2, 77, 1).unwrap()),
        ("empty rows", empty_rows(300, 200, 4, 0.7, 1).unwrap()),
        ("all dense", uniform(150, 20, 20, 1).unwrap()),
        ("disconnected", shuffled_blocks(30, 5, 2, 1)),
        ("duplicates", shuffled_blocks(2, 150, 3, 1)),
    ];
    for (name, a) in &cases {
        for window_rows in [1, 2, 7, 64, 1000, u32::MAX as usize - 1] {
            for options in all_options(window_rows) {
                let found = checked(a, &options);
                assert!(found.stats.packed <= a.nnz() as u64, "{name}");
            }
        }
    }
}

#[test]
fn shuffled_blocks_are_found_on_both_sides() {
    for (groups, height, width) in [(40, 8, 8), (9, 16, 4), (5, 3, 11)] {
        let a = shuffled_blocks(groups, height, width, 5);
        let a = simple::random(a.ncols(), 4).unwrap().apply_cols(&a).unwrap();
        let found = checked_blocks(&a, &BlockOptions::new(height, width));
        assert_eq!(found.stats.blocks, groups as u64);
    }
}

#[test]
fn blocks_of_odd_shapes() {
    for (nrows, ncols) in [(0, 0), (0, 5), (5, 0), (1, 1), (1, 70), (70, 1), (33, 65)] {
        let a = uniform::<f32>(nrows, ncols, ncols.min(2), 1).unwrap();
        for (block_rows, block_cols) in [(1, 1), (4, 8), (64, 16), (1000, 1000)] {
            checked_blocks(&a, &BlockOptions::new(block_rows, block_cols));
        }
    }
    let a = uniform::<f32>(10, 10, 2, 1).unwrap();
    for (block_rows, block_cols) in [(0, 4), (4, 0), (4, usize::MAX), (usize::MAX, 4)] {
        assert!(blocks(a.pattern(), &BlockOptions::new(block_rows, block_cols)).is_err());
    }
}

#[test]
fn windows_so_high_that_not_every_beginning_is_tried() {
    let a = shuffled_blocks(4, 1250, 3, 2);
    for window_rows in [1250, 1300, 2501, 4999] {
        let found = checked(&a, &WindowOptions::new(window_rows));
        assert!(found.stats.packed < found.stats.natural);
    }
}

/// A matrix whose rows and columns stand apart in a far larger one.
fn spread(a: &Csr<f32>, nrows: usize, ncols: usize, seed: u64) -> Csr<f32> {
    let rows = simple::random(nrows, seed).unwrap();
    let cols = simple::random(ncols, seed + 1).unwrap();
    let place = rows.inverse();
    let row_of = |i: usize| Some(place.new_index(i)).filter(|&row| row < a.nrows());
    let in_rows = Csr::from_rows(
        nrows,
        ncols,
        |i| row_of(i).map_or(0, |row| a.row(row).0.len()),
        |i, to, values| {
            to.copy_from_slice(row_of(i).map_or(&[], |row| a.row(row).0));
            values.fill(1.0);
        },
    );
    cols.apply_cols(&in_rows.unwrap()).unwrap()
}

#[test]
fn rows_and_columns_without_entries_change_no_promise() {
    let cases = [
        (shuffled_blocks(12, 8, 5, 3), 5_000, 9_000),
        (uniform(40, 30, 3, 1).unwrap(), 3_000, 700),
        (uniform(4, 60, 9, 1).unwrap(), 8, 1_000_000),
        (uniform(70, 2, 1, 1).unwrap(), 900_000, 3),
        (laplacian_5pt(9, 9).unwrap(), 7_001, 7_001),
    ];
    for (a, nrows, ncols) in cases {
        for seed in 0..3 {
            let a = spread(&a, nrows, ncols, seed);
            for window_rows in [2, 8, 64, 5_000] {
                checked(&a, &WindowOptions::new(window_rows));
            }
            checked_blocks(&a, &BlockOptions::new(8, 4));
            let (rows, cols) = rcm_rows_cols(a.pattern()).unwrap();
            let effect = metrics::effect(a.pattern(), &rows, &cols).unwrap();
            assert!(effect.after.bandwidth < effect.before.bandwidth, "{effect:?}");
            assert_eq!((rows.len(), cols.len()), (nrows, ncols));
            let order = rcm(a.pattern()).unwrap();
            if nrows == ncols {
                let effect = metrics::effect(a.pattern(), &order, &order).unwrap();
                assert!(effect.after.bandwidth < 200, "{effect:?}");
            }
        }
    }
    // Blocks that stood whole in one window are found whole again.
    let a = spread(&shuffled_blocks(12, 8, 5, 3), 5_000, 9_000, 7);
    assert_eq!(checked(&a, &WindowOptions::new(8)).stats.packed, 60);
}

#[test]
fn far_more_columns_than_rows_and_entries_are_not_ordered() {
    let a = Csr::try_new(2, 1 << 28, vec![0, 1, 2], vec![0, (1 << 28) - 1], vec![1.0f32; 2]);
    let a = a.unwrap();
    let refused = ReorderError::TooManyColumns { nrows: 2, ncols: 1 << 28, entries: 2 };
    assert_eq!(rcm_rows_cols(a.pattern()), Err(refused.clone()));
    assert_eq!(blocks(a.pattern(), &BlockOptions::new(8, 8)), Err(refused));
    // Orders of the rows alone need none of them.
    assert_eq!(rcm(a.pattern()).unwrap().len(), 2);
    checked(&a, &WindowOptions::new(2));
}

#[test]
fn windows_of_no_rows_are_refused() {
    let a = uniform::<f32>(10, 10, 2, 1).unwrap();
    assert!(window(a.pattern(), &WindowOptions::new(0)).is_err());
    assert!(window(a.pattern(), &WindowOptions::new(usize::MAX)).is_err());
}

#[test]
fn a_shuffled_grid_packs_as_well_as_the_grid() {
    let grid = laplacian_5pt::<f32>(60, 60).unwrap();
    let shuffled = simple::random(3600, 9).unwrap().apply_symmetric(&grid).unwrap();
    for window_rows in [16, 64] {
        let options = WindowOptions::new(window_rows);
        let (from_grid, from_shuffled) = (checked(&grid, &options), checked(&shuffled, &options));
        assert!(10 * from_shuffled.stats.packed <= 11 * from_grid.stats.packed);
    }
}

#[test]
fn the_layout_is_the_same_on_any_number_of_threads() {
    let cases = [
        rmat::<f32>(9, 8, 1).unwrap(),
        simple::random(1500, 1).unwrap().apply_rows(&laplacian_5pt(50, 30).unwrap()).unwrap(),
        dense_row(900, 900, 4, 5, 1).unwrap(),
    ];
    for a in &cases {
        for options in all_options(16) {
            let on = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| window(a.pattern(), &options).unwrap())
            };
            let alone = on(1);
            assert!([2, 5].into_iter().all(|threads| on(threads) == alone));
        }
    }
}

#[test]
fn a_large_refinement_tells_its_caller_how_far_it_is() {
    // Large enough for one start to be refined, not two at once.
    let grid = laplacian_5pt::<f32>(330, 330).unwrap();
    let options = WindowOptions::new(4);
    let observed = || {
        let here = thread::current().id();
        let heard = RefCell::new(Vec::new());
        let observer = |done, total| {
            assert_eq!(thread::current().id(), here);
            heard.borrow_mut().push((done, total));
        };
        let found = window_observed(grid.pattern(), &options, &observer).unwrap();
        (found, heard.into_inner())
    };
    let (found, heard) = observed();
    let total = heard[0].1;
    assert!((2..=200).contains(&heard.len()), "{heard:?}");
    assert!(heard.windows(2).all(|pair| pair[0].0 < pair[1].0), "{heard:?}");
    assert_eq!((heard[0].0, heard[heard.len() - 1]), (0, (total, total)), "{heard:?}");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert!(pool.install(observed) == (found, heard));
}

fn any_matrix() -> impl Strategy<Value = Csr<f32>> {
    let shape = (1usize..60, 1usize..40);
    shape.prop_flat_map(|(m, k)| {
        let rows = prop::collection::vec(prop::collection::btree_set(0..k as u32, 0..k.min(6)), m);
        rows.prop_map(move |rows| {
            let mut row_ptr = vec![0u64];
            let mut cols = Vec::new();
            for row in rows {
                cols.extend(row);
                row_ptr.push(cols.len() as u64);
            }
            let values = vec![1.0; cols.len()];
            Csr::try_new(m, k, row_ptr, cols, values).unwrap()
        })
    })
}

proptest! {
    #[test]
    fn any_matrix_in_windows_of_any_height(
        a in any_matrix(), window_rows in 1usize..20, seed: u64
    ) {
        for options in all_options(window_rows) {
            checked(&a, &options.seed(seed));
        }
    }

    #[test]
    fn any_matrix_in_blocks_of_any_size(
        a in any_matrix(), block_rows in 1usize..20, block_cols in 1usize..20
    ) {
        checked_blocks(&a, &BlockOptions::new(block_rows, block_cols));
    }
}
