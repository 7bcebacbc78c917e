//! The laws of permutations, and what they do to matrices, vectors and dense operands.

use girih_formats::{Csr, PAD_ROW};
use girih_generate::pruned_weights;
use girih_reorder::simple::{DegreeOrder, by_degree, natural, random, reverse};
use girih_reorder::{Permutation, ReorderError};
use ndarray::{Array2, ShapeBuilder, s};
use proptest::prelude::*;

fn permutations(n: impl Strategy<Value = usize>) -> impl Strategy<Value = Permutation> {
    n.prop_flat_map(|n| Just((0..n as u32).collect::<Vec<_>>()).prop_shuffle())
        .prop_map(|v| Permutation::try_new(v).unwrap())
}

/// Three permutations of the same indices.
fn triples() -> impl Strategy<Value = [Permutation; 3]> {
    (0usize..40).prop_flat_map(|n| {
        let p = || permutations(Just(n));
        (p(), p(), p()).prop_map(|(p, q, r)| [p, q, r])
    })
}

/// A matrix, and permutations of its rows and of its columns.
fn permuted_matrices() -> impl Strategy<Value = (Csr<f32>, Permutation, Permutation)> {
    (0usize..20, 0usize..20, 0.0..=1.0f64, any::<u64>()).prop_flat_map(|(m, k, sparsity, seed)| {
        let a = pruned_weights(m, k, sparsity, seed).unwrap();
        (Just(a), permutations(Just(m)), permutations(Just(k)))
    })
}

proptest! {
    #[test]
    fn permutations_form_a_group([p, q, r] in triples()) {
        let n = p.len();
        let identity = Permutation::identity(n).unwrap();
        prop_assert_eq!(&p.compose(&p.inverse()).unwrap(), &identity);
        prop_assert_eq!(&p.inverse().compose(&p).unwrap(), &identity);
        prop_assert_eq!(&p.inverse().inverse(), &p);
        prop_assert_eq!(&p.compose(&identity).unwrap(), &p);
        let left = p.compose(&q).unwrap().compose(&r).unwrap();
        let right = p.compose(&q.compose(&r).unwrap()).unwrap();
        prop_assert_eq!(&left, &right);
        let undone = q.inverse().compose(&p.inverse()).unwrap();
        prop_assert_eq!(&p.compose(&q).unwrap().inverse(), &undone);
    }

    #[test]
    fn orders_and_maps_are_two_views_of_one_permutation(p in permutations(0usize..40)) {
        let order = p.order();
        prop_assert_eq!(&Permutation::try_from_order(&order).unwrap(), &p);
        for (new, &old) in order.iter().enumerate() {
            prop_assert_eq!(p.new_index(old as usize), new);
        }
    }

    #[test]
    fn composing_is_applying_one_after_the_other([p, q, _] in triples(), seed: u64) {
        let x: Vec<u64> = (0..p.len() as u64).map(|i| i ^ seed).collect();
        let twice = q.apply_slice(&p.apply_slice(&x).unwrap()).unwrap();
        prop_assert_eq!(p.compose(&q).unwrap().apply_slice(&x).unwrap(), twice);
    }

    #[test]
    fn every_entry_goes_where_it_is_sent((a, p, q) in permuted_matrices()) {
        let dense = a.to_dense().unwrap();
        let rows = p.apply_rows(&a).unwrap().to_dense().unwrap();
        let cols = q.apply_cols(&a).unwrap().to_dense().unwrap();
        for ((i, j), &v) in dense.indexed_iter() {
            prop_assert_eq!(rows[(p.new_index(i), j)], v);
            prop_assert_eq!(cols[(i, q.new_index(j))], v);
        }
        let back = p.inverse().apply_rows(&p.apply_rows(&a).unwrap()).unwrap();
        prop_assert_eq!(&back, &a);
    }

    #[test]
    fn a_symmetric_permutation_is_one_of_rows_and_one_of_columns(
        (p, sparsity, seed) in (permutations(0usize..20), 0.0..=1.0f64, any::<u64>())
    ) {
        let a = pruned_weights::<f32>(p.len(), p.len(), sparsity, seed).unwrap();
        let both = p.apply_cols(&p.apply_rows(&a).unwrap()).unwrap();
        prop_assert_eq!(p.apply_symmetric(&a).unwrap(), both);
    }

    #[test]
    fn dense_rows_move_alike_in_and_out_of_place(
        p in permutations(0usize..30), ncols in 0usize..40, column_major: bool
    ) {
        let shape = (p.len(), ncols).set_f(column_major);
        let original = Array2::from_shape_fn(shape, |(i, j)| (100 * i + j) as u32);
        let moved = p.apply_dense_rows(original.view()).unwrap();
        for ((i, j), &v) in original.indexed_iter() {
            prop_assert_eq!(moved[(p.new_index(i), j)], v);
        }
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut in_place = original.clone();
            pool.install(|| p.apply_dense_rows_in_place(in_place.view_mut())).unwrap();
            prop_assert_eq!(&in_place, &moved);
        }
        let mut column: Vec<usize> = (0..p.len()).collect();
        let expected = p.apply_slice(&column).unwrap();
        p.apply_slice_in_place(&mut column).unwrap();
        prop_assert_eq!(column, expected);
    }

    #[test]
    fn layouts_hold_every_row_in_the_new_order(p in permutations(0usize..40), window in 1usize..9) {
        let layout = p.to_row_layout(window).unwrap();
        prop_assert_eq!(layout.n_windows(), p.len().div_ceil(window));
        let rows: Vec<usize> = (0..layout.n_slots()).filter_map(|slot| layout.row(slot)).collect();
        prop_assert!(rows.iter().enumerate().all(|(new, &old)| p.new_index(old) == new));
        prop_assert_eq!(rows.len(), p.len());
        if let Some(slots) = layout.slots() {
            prop_assert!(slots.iter().filter(|&&slot| slot == PAD_ROW).count() < window);
        }
    }

    #[test]
    fn serialized_permutations_come_back_and_broken_ones_do_not(p in permutations(2usize..30)) {
        let text = serde_json::to_string(&p).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Permutation>(&text).unwrap(), &p);
        let mut broken: Vec<u32> = p.into();
        broken[0] = broken[1];
        let text = serde_json::to_string(&broken).unwrap();
        prop_assert!(serde_json::from_str::<Permutation>(&text).is_err());
    }
}

#[test]
fn permuting_is_the_same_on_any_number_of_threads() {
    let a = girih_generate::rmat::<f32>(11, 8, 1).unwrap();
    let p = random(a.nrows(), 5).unwrap();
    let expected = p.apply_symmetric(&a).unwrap();
    for threads in [1, 2, 3, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert!(pool.install(|| p.apply_symmetric(&a)).unwrap() == expected, "{threads}");
    }
}

#[test]
fn views_with_gaps_between_rows_are_permuted_too() {
    let p = Permutation::try_new(vec![1, 2, 0]).unwrap();
    let mut wide = Array2::from_shape_fn((6, 5), |(i, j)| 10 * i + j);
    let expected = p.apply_dense_rows(wide.slice(s![..;2, 1..4])).unwrap();
    let untouched = wide.clone();
    p.apply_dense_rows_in_place(wide.slice_mut(s![..;2, 1..4])).unwrap();
    assert_eq!(wide.slice(s![..;2, 1..4]), expected);
    assert_eq!(wide.slice(s![1..;2, ..]), untouched.slice(s![1..;2, ..]));
    assert_eq!(wide.column(0), untouched.column(0));
}

#[test]
fn what_does_not_fit_is_refused() {
    let p = Permutation::identity(3).unwrap();
    let a = Csr::<f32>::empty(3, 4).unwrap();
    assert_eq!(p.apply_symmetric(&a), Err(ReorderError::NotSquare { nrows: 3, ncols: 4 }));
    let length = |what| ReorderError::Length { what, found: 3, expected: 4 };
    assert_eq!(p.apply_cols(&a), Err(length("columns")));
    assert_eq!(p.apply_rows(&Csr::<f32>::empty(4, 3).unwrap()), Err(length("rows")));
    assert_eq!(p.apply_slice(&[0; 4]), Err(length("elements")));
    assert_eq!(p.apply_slice_in_place(&mut [0; 4]), Err(length("elements")));
    assert_eq!(p.apply_dense_rows(Array2::<f32>::zeros((4, 1)).view()), Err(length("rows")));
    assert_eq!(
        p.compose(&natural(4).unwrap()),
        Err(ReorderError::Length { what: "indices", found: 4, expected: 3 })
    );
}

#[test]
fn simple_orders_are_what_they_say() {
    assert_eq!(reverse(4).unwrap().order(), [3, 2, 1, 0]);
    assert!(natural(4).unwrap().is_identity());
    assert!(random(0, 1).unwrap().is_empty());
    let moved = random(1000, 1).unwrap();
    let fixed = (0..1000).filter(|&i| moved.new_index(i) == i).count();
    assert!(fixed < 10, "{fixed} of 1000 stayed");
    let a = girih_generate::power_law_rows::<f32>(500, 500, 1, 3).unwrap();
    for (direction, increasing) in
        [(DegreeOrder::Ascending, true), (DegreeOrder::Descending, false)]
    {
        let order = by_degree(a.pattern(), direction).order();
        let key = |&i: &u32| {
            let len = a.row(i as usize).0.len() as i64;
            (if increasing { len } else { -len }, i)
        };
        assert!(order.is_sorted_by_key(key));
    }
    assert!(
        by_degree(Csr::<f32>::empty(0, 3).unwrap().pattern(), DegreeOrder::Ascending).is_empty()
    );
}
