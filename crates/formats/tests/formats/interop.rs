//! There and back again through sprs, ndarray and petgraph.

use girih_formats::{Csr, Duplicates, FormatError};
use ndarray::{Array2, ShapeBuilder};
use petgraph::graph::{DiGraph, UnGraph};
use petgraph::graphmap::UnGraphMap;
use petgraph::stable_graph::StableDiGraph;
use petgraph::visit::EdgeRef;
use proptest::prelude::*;
use sprs::{CsMat, CsMatI, TriMat};

/// Small matrices of every shape, empty ones included.
fn matrices() -> impl Strategy<Value = Csr<f32>> {
    (0usize..12, 0usize..12, 0.0..=1.0f64, any::<u64>()).prop_map(|(m, k, sparsity, seed)| {
        girih_generate::pruned_weights(m, k, sparsity, seed).unwrap()
    })
}

fn squares() -> impl Strategy<Value = Csr<f32>> {
    (0usize..12, 0.0..=1.0f64, any::<u64>())
        .prop_map(|(n, s, seed)| girih_generate::pruned_weights(n, n, s, seed).unwrap())
}

proptest! {
    #[test]
    fn sprs_gives_back_what_it_got(a in matrices()) {
        let s: CsMatI<f32, u32, u64> = a.clone().into();
        prop_assert_eq!(&Csr::try_from(s.to_csc()).unwrap(), &a);
        prop_assert_eq!(&Csr::try_from(s).unwrap(), &a);
        let s: CsMat<f32> = a.clone().into();
        prop_assert_eq!(&Csr::try_from(s).unwrap(), &a);
        prop_assert_eq!(&Csr::try_from(a.to_sprs::<i32, i32>().unwrap()).unwrap(), &a);
    }

    #[test]
    fn sprs_and_ndarray_agree_on_every_entry(a in matrices()) {
        let s: CsMat<f32> = a.clone().into();
        prop_assert_eq!(s.to_dense(), a.to_dense().unwrap());
    }

    #[test]
    fn dense_arrays_of_either_order_give_the_same_matrix(a in matrices()) {
        let rows = a.to_dense().unwrap();
        prop_assert_eq!(&Csr::from_dense(rows.view()).unwrap(), &a);
        let mut cols = Array2::zeros(rows.raw_dim().f());
        cols.assign(&rows);
        prop_assert_eq!(&Csr::from_dense(cols.view()).unwrap(), &a);
        let mut padded = Array2::from_elem((2 * a.nrows(), a.ncols()), f32::NAN);
        padded.slice_mut(ndarray::s![..;2, ..]).assign(&rows);
        prop_assert_eq!(&Csr::from_dense(padded.slice(ndarray::s![..;2, ..])).unwrap(), &a);
    }

    #[test]
    fn graphs_give_back_what_they_got(a in squares()) {
        let directed = a.to_graph::<u32>().unwrap();
        prop_assert_eq!(directed.edge_count(), a.nnz());
        prop_assert_eq!(&Csr::from_graph(&directed, |e| *e.weight(), Duplicates::Refuse).unwrap(), &a);
        let compressed = a.to_graph_csr().unwrap();
        prop_assert_eq!(&Csr::from_graph(&compressed, |e| *e.weight(), Duplicates::Refuse).unwrap(), &a);
    }

    #[test]
    fn undirected_graphs_are_symmetric_matrices(
        edges in prop::collection::vec((0u32..9, 0u32..9, -1e3f32..1e3), 0..60)
    ) {
        let g = UnGraph::<(), f32>::from_edges(&edges);
        let a = Csr::from_graph(&g, |e| *e.weight(), Duplicates::Sum).unwrap();
        // A sum over the edges, each counted at both of its ends.
        let mut expected = Array2::<f64>::zeros((a.nrows(), a.ncols()));
        for &(i, j, w) in &edges {
            expected[(i as usize, j as usize)] += f64::from(w);
            if i != j {
                expected[(j as usize, i as usize)] += f64::from(w);
            }
        }
        let dense = a.to_dense().unwrap();
        for ((i, j), &v) in dense.indexed_iter() {
            prop_assert!((f64::from(v) - expected[(i, j)]).abs() <= 1e-3);
            prop_assert_eq!(v.to_bits(), dense[(j, i)].to_bits());
        }
        let back = a.to_undirected_graph::<u16>().unwrap();
        prop_assert_eq!(&Csr::from_graph(&back, |e| *e.weight(), Duplicates::Refuse).unwrap(), &a);
    }
}

#[test]
fn a_csc_matrix_built_by_sprs_is_transposed_right() {
    let mut t = TriMat::new((2, 3));
    t.add_triplet(0, 2, 1.0f64);
    t.add_triplet(1, 0, 2.0);
    let a = Csr::try_from(t.to_csc::<usize>()).unwrap();
    assert_eq!(a, Csr::try_new(2, 3, vec![0, 1, 2], vec![2, 0], vec![1.0, 2.0]).unwrap());
}

#[test]
fn nan_is_kept_and_zeros_of_both_signs_are_dropped() {
    let a = Csr::from_dense(ndarray::array![[0.0f32, -0.0, f32::NAN]].view()).unwrap();
    assert_eq!(a.col_idx()[..], [2]);
}

#[test]
fn parallel_edges_are_summed_or_refused() {
    let g = DiGraph::<(), f64>::from_edges([(0, 1, 1.0), (1, 0, 7.0), (0, 1, 2.0)]);
    let a = Csr::from_graph(&g, |e| *e.weight(), Duplicates::Sum).unwrap();
    assert_eq!((&a.col_idx()[..], &a.values()[..]), (&[1, 0][..], &[3.0, 7.0][..]));
    assert_eq!(
        Csr::from_graph(&g, |e| *e.weight(), Duplicates::Refuse),
        Err(FormatError::Duplicate { row: 0, col: 1 })
    );
}

#[test]
fn removed_vertices_leave_empty_rows() {
    let mut g = StableDiGraph::<(), f32>::new();
    let v: Vec<_> = (0..3).map(|_| g.add_node(())).collect();
    g.add_edge(v[2], v[0], 4.0);
    g.add_edge(v[1], v[0], 5.0);
    g.remove_node(v[1]);
    let a = Csr::from_graph(&g, |e| *e.weight(), Duplicates::Sum).unwrap();
    assert_eq!((a.nrows(), &a.row_ptr()[..]), (3, &[0, 0, 0, 1][..]));
}

#[test]
fn graphs_keyed_by_name_work_too() {
    let g = UnGraphMap::<&str, u8>::from_edges([("a", "b", 1), ("b", "c", 2)]);
    let a = Csr::<f32>::from_graph(&g, |e| f32::from(*e.weight()), Duplicates::Sum).unwrap();
    assert_eq!(a.nnz(), 4);
}

#[test]
fn what_no_graph_can_hold_is_refused() {
    let a = Csr::try_new(2, 2, vec![0, 1, 1], vec![1], vec![1.0f32]).unwrap();
    assert!(matches!(
        a.to_undirected_graph::<u32>(),
        Err(FormatError::Inconsistent { position: 0, .. })
    ));
    let wide = Csr::<f32>::empty(2, 3).unwrap();
    assert!(wide.to_graph::<u32>().is_err() && wide.to_graph_csr().is_err());
    let large = Csr::<f32>::empty(300, 300).unwrap();
    assert!(matches!(
        large.to_graph::<u8>(),
        Err(FormatError::Parameter { what: "nrows", found: 300, .. })
    ));
}
