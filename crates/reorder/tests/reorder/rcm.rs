//! Reverse Cuthill–McKee on graphs whose best bandwidth is known, and on odd shapes.

use girih_formats::Csr;
use girih_generate::*;
use girih_reorder::metrics::{self, Metrics};
use girih_reorder::{Permutation, rcm, rcm_rows_cols, simple};
use proptest::prelude::*;

/// An unsymmetric pattern from edges, each stored once.
fn from_edges(n: usize, edges: &[(u32, u32)]) -> Csr<f32> {
    let mut sorted = edges.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut row_ptr = vec![0u64; n + 1];
    sorted.iter().for_each(|&(i, _)| row_ptr[i as usize + 1] += 1);
    (0..n).for_each(|i| row_ptr[i + 1] += row_ptr[i]);
    let cols: Vec<u32> = sorted.iter().map(|&(_, j)| j).collect();
    let values = vec![1.0; cols.len()];
    Csr::try_new(n, n, row_ptr, cols, values).unwrap()
}

fn bandwidth(a: &Csr<f32>, p: &Permutation) -> u64 {
    metrics::permuted(a.pattern(), p, p).unwrap().bandwidth
}

fn shuffled(a: &Csr<f32>, seed: u64) -> Csr<f32> {
    simple::random(a.nrows(), seed).unwrap().apply_symmetric(a).unwrap()
}

#[test]
fn a_shuffled_path_gets_bandwidth_one() {
    for n in [1, 2, 3, 10, 1000] {
        // Every edge in one direction only: the pattern of A + Aᵀ is what counts.
        let edges: Vec<_> = (1..n).map(|i| (i - 1, i)).collect();
        for seed in 0..5 {
            let a = shuffled(&from_edges(n as usize, &edges), seed);
            assert_eq!(bandwidth(&a, &rcm(a.pattern()).unwrap()), u64::from(n > 1));
        }
    }
}

#[test]
fn a_shuffled_grid_gets_nearly_its_short_side() {
    for (nx, ny) in [(30, 30), (100, 7), (1, 50)] {
        let a = shuffled(&laplacian_5pt(nx, ny).unwrap(), 3);
        let found = bandwidth(&a, &rcm(a.pattern()).unwrap());
        let short = nx.min(ny) as u64;
        // The bandwidth of a grid graph is its short side (Chvátalová 1975).
        assert!((short..=short + 1).contains(&found), "{nx}×{ny}: {found}");
    }
}

#[test]
fn large_shuffled_graphs_are_copied_and_lose_nothing() {
    // Above the size from which on the search goes on in a copy of the graph.
    let grid = laplacian_5pt::<f32>(600, 500).unwrap();
    let mesh = fem_3d::<f32>(20, 20, 20, 3, 1).unwrap();
    for (a, best) in [(grid, 500), (mesh, 3 * (20 * 20 + 20 + 2) - 1)] {
        assert!(a.nnz() > 1 << 20);
        let a = shuffled(&a, 5);
        let order = rcm(a.pattern()).unwrap();
        let found = bandwidth(&a, &order);
        assert!(found <= best * 5 / 2, "{found}");
        // Half of a symmetric pattern says the same as all of it.
        assert_eq!(rcm(upper(&a).pattern()).unwrap(), order);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| rcm(a.pattern())).unwrap(), order, "{threads}");
        }
    }
}

/// The entries on the diagonal and above.
fn upper(a: &Csr<f32>) -> Csr<f32> {
    let rows = (0..a.nrows() as u32).flat_map(|i| a.row(i as usize).0.iter().map(move |&j| (i, j)));
    from_edges(a.nrows(), &rows.filter(|(i, j)| i <= j).collect::<Vec<_>>())
}

#[test]
fn a_shuffled_ring_gets_bandwidth_two() {
    let edges: Vec<_> = (0..101).map(|i| (i, (i + 1) % 101)).collect();
    let a = shuffled(&from_edges(101, &edges), 1);
    assert_eq!(bandwidth(&a, &rcm(a.pattern()).unwrap()), 2);
}

#[test]
fn components_stay_together_in_the_order_of_their_smallest_vertex() {
    // {0, 3, 6}, {1, 4}, {2}, {5}
    let a = from_edges(7, &[(0, 3), (6, 3), (4, 1), (2, 2)]);
    let order = rcm(a.pattern()).unwrap().order();
    assert_eq!(order[3..], [4, 1, 2, 5]);
    assert_eq!(order[1], 3);
    assert_eq!(bandwidth(&a, &rcm(a.pattern()).unwrap()), 1);
}

#[test]
fn a_dense_row_costs_no_more_than_its_entries() {
    let a = dense_row::<f32>(20_000, 20_000, 1, 777, 1).unwrap();
    let p = rcm(a.pattern()).unwrap();
    assert_eq!(p.len(), 20_000);
    // A star has bandwidth n/2 at best; a vertex joined to all can't do better.
    assert!(bandwidth(&a, &p) >= 10_000);
    // A dense column of a rectangular matrix joins all rows: A·Aᵀ would have 10¹⁰ entries.
    let tall = dense_col::<f32>(100_000, 50, 1, 3, 1).unwrap();
    assert_eq!(rcm(tall.pattern()).unwrap().len(), 100_000);
}

#[test]
fn odd_shapes_are_ordered() {
    for (m, k) in [(0, 0), (0, 5), (5, 0), (1, 9), (9, 1), (4, 4)] {
        for a in [Csr::<f32>::empty(m, k).unwrap(), banded(m, k, 9, 9, 1).unwrap()] {
            assert_eq!(rcm(a.pattern()).unwrap().len(), m);
            let (rows, cols) = rcm_rows_cols(a.pattern()).unwrap();
            assert_eq!((rows.len(), cols.len()), (m, k));
        }
    }
    let empty = Csr::<f32>::empty(5, 5).unwrap();
    assert!(rcm(empty.pattern()).unwrap().is_identity());
}

#[test]
fn rows_of_a_shuffled_rectangular_band_meet_their_neighbours() {
    let band = banded::<f32>(900, 450, 3, 0, 1).unwrap();
    let p = simple::random(900, 9).unwrap();
    let a = p.apply_rows(&band).unwrap();
    let order = p.compose(&rcm(a.pattern()).unwrap()).unwrap();
    // Rows below the last column of the band are empty and come in any order.
    let moved = (1..450).map(|i| order.new_index(i).abs_diff(order.new_index(i - 1))).max();
    assert!(moved.unwrap() <= 8, "{moved:?}");
}

#[test]
fn any_number_of_threads_gives_the_same_order() {
    let matrices = [
        rmat::<f32>(12, 4, 1).unwrap(),
        shuffled(&fem_3d(8, 8, 8, 2, 1).unwrap(), 1),
        empty_rows(3000, 3000, 1, 0.4, 1).unwrap(),
        pruned_weights(300, 900, 0.97, 1).unwrap(),
    ];
    for a in matrices {
        let expected = rcm_rows_cols(a.pattern()).unwrap();
        let expected_rows = rcm(a.pattern()).unwrap();
        for threads in [1, 2, 3, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| rcm(a.pattern())).unwrap(), expected_rows, "{threads}");
            assert_eq!(pool.install(|| rcm_rows_cols(a.pattern())).unwrap(), expected);
        }
    }
}

/// Distances from `root`, by the book.
fn distances(a: &Csr<f32>, root: usize) -> Vec<Option<usize>> {
    let joined = |i: usize, j: usize| {
        let has = |i: usize, j: usize| a.row(i).0.binary_search(&(j as u32)).is_ok();
        has(i, j) || has(j, i)
    };
    let mut found = vec![None; a.nrows()];
    let (mut level, mut distance) = (vec![root], 0);
    while !level.is_empty() {
        level.iter().for_each(|&v| found[v] = Some(distance));
        let reached = |u: &usize| found[*u].is_none() && level.iter().any(|&v| joined(v, *u));
        let next: Vec<usize> = (0..a.nrows()).filter(reached).collect();
        (level, distance) = (next, distance + 1);
    }
    found
}

proptest! {
    #[test]
    fn an_order_is_a_walk_by_levels_backwards(
        edges in prop::collection::vec((0u32..24, 0u32..24), 0..50)
    ) {
        let a = from_edges(24, &edges);
        let order = rcm(a.pattern()).unwrap().order();
        let mut rest = &order[..];
        let mut smallest = None;
        while let Some(&any) = rest.first() {
            let size = distances(&a, any as usize).iter().flatten().count();
            let (component, after) = rest.split_at(size);
            // The last is the start of the walk; distances from it decrease along the order.
            let from_start = distances(&a, component[size - 1] as usize);
            let levels: Option<Vec<usize>> =
                component.iter().map(|&v| from_start[v as usize]).collect();
            prop_assert!(levels.is_some_and(|levels| levels.is_sorted_by(|x, y| x >= y)));
            // Components by their smallest vertex.
            let least = component.iter().min();
            prop_assert!(least > smallest);
            (smallest, rest) = (least, after);
        }
    }

    #[test]
    fn metrics_of_a_permutation_are_those_of_the_permuted_matrix(
        m in 0usize..25, k in 0usize..25, sparsity in 0.0..=1.0f64, seed: u64
    ) {
        let a = pruned_weights::<f32>(m, k, sparsity, seed).unwrap();
        let (rows, cols) = (simple::random(m, seed).unwrap(), simple::random(k, !seed).unwrap());
        let permuted = cols.apply_cols(&rows.apply_rows(&a).unwrap()).unwrap();
        let effect = metrics::effect(a.pattern(), &rows, &cols).unwrap();
        prop_assert_eq!(effect.after, metrics::natural(permuted.pattern()));
        let mut by_hand = Metrics::default();
        for i in 0..m {
            let (columns, _) = a.row(i);
            let first = columns.iter().map(|&j| j as usize).chain([i]).min().unwrap_or(i);
            by_hand.profile += (i - first) as u64;
            let distance = columns.iter().map(|&j| (j as usize).abs_diff(i) as u64).max();
            by_hand.bandwidth = by_hand.bandwidth.max(distance.unwrap_or(0));
        }
        prop_assert_eq!(effect.before, by_hand);
    }
}
