//! A permuted product is the product, permuted: in every format, by every ordering, in both spaces.

use girih_backend::{ReferenceBackend, SpmmBackend};
use girih_formats::{Csr, FormatSpec};
use girih_planner::{FormatChoice, Plan, PlanOptions, Planner, Reorder, Space};
use girih_reorder::{Method, Permutation, Reordering, simple};
use ndarray::Array2;
use proptest::prelude::*;

const SPECS: [FormatSpec; 6] = [
    FormatSpec::Csr,
    FormatSpec::Bcsr { block_rows: 4, block_cols: 3 },
    FormatSpec::Wcsr { window_rows: 8, pad_cols: 4 },
    FormatSpec::BlockedEll { block_size: 5 },
    FormatSpec::BMat { pattern_only: false },
    FormatSpec::TwoFour,
];

/// Small integers: every product and every order of sums is exact.
fn matrix(m: usize, k: usize, sparsity: f64, seed: u64) -> Csr<f32> {
    let a = girih_generate::pruned_weights::<f32>(m, k, sparsity, seed).unwrap();
    let values: Vec<f32> = (0..a.nnz()).map(|i| (i % 7) as f32 - 3.0).collect();
    a.with_values(values).unwrap()
}

fn operand(k: usize, n: usize) -> Array2<f32> {
    Array2::from_shape_fn((k, n), |(i, j)| ((3 * i + 5 * j) % 11) as f32 - 5.0)
}

fn multiply(plan: &Plan, b: &Array2<f32>) -> Array2<f32> {
    let mut c = Array2::from_elem((plan.nrows(), b.ncols()), f32::NAN);
    let prepared = ReferenceBackend.prepare(plan).unwrap();
    prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into()).unwrap();
    c
}

fn options(spec: FormatSpec, reorder: Reorder, space: Space) -> PlanOptions {
    let format = FormatChoice::Fixed(spec);
    PlanOptions::new(3).format(format).reorder(reorder).space(space)
}

/// Checks a plan in the permuted space against the product in the caller's.
fn check_permuted(plan: &Plan, a: &Csr<f32>, b: &Array2<f32>, expected: &Array2<f32>) {
    let rows = plan.row_permutation();
    let cols = plan.col_permutation().cloned();
    let cols = cols.unwrap_or_else(|| Permutation::identity(a.ncols()).unwrap());
    if a.nrows() == a.ncols() {
        assert_eq!(rows, cols);
    }
    assert!(plan.b_permutation().is_none());
    let c = multiply(plan, &cols.apply_dense_rows(b.view()).unwrap());
    assert_eq!(c, rows.apply_dense_rows(expected.view()).unwrap());
    let held = plan.hold(a).unwrap();
    assert_eq!(&plan.release(&held).unwrap(), a);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn orderings_never_show(m in 0usize..50, k in 0usize..50, square: bool,
        sparsity in 0.5..=1.0f64, seed in 0u64..1000)
    {
        let k = if square { m } else { k };
        let a = matrix(m, k, sparsity, seed);
        let b = operand(k, 3);
        let expected = multiply(&Planner::new(
            options(FormatSpec::Csr, Reorder::None, Space::Caller)).plan(&a).unwrap(), &b);
        let methods = [
            Method::Rcm,
            Method::Window { window_rows: None },
            Method::Window { window_rows: Some(8) },
            Method::Degree,
            Method::Reverse,
            Method::Random { seed },
        ];
        let reorders = methods.map(Reorder::By).into_iter().chain([Reorder::None, Reorder::Auto]);
        for reorder in reorders {
            for spec in SPECS {
                for space in [Space::Caller, Space::Permuted] {
                    // 2:4 cannot hold every matrix, in every order of its columns.
                    let planned = Planner::new(options(spec, reorder, space)).plan(&a);
                    let Ok(plan) = planned else {
                        prop_assert_eq!(spec, FormatSpec::TwoFour);
                        continue;
                    };
                    match space {
                        Space::Caller => prop_assert_eq!(&multiply(&plan, &b), &expected),
                        Space::Permuted => check_permuted(&plan, &a, &b, &expected),
                    }
                    let mut bytes = Vec::new();
                    plan.write_to(&mut bytes).unwrap();
                    prop_assert_eq!(&Plan::read_from(&bytes[..]).unwrap(), &plan);
                }
            }
        }
        // Rows and columns in orders of their own, with rows of B permuted.
        let rows = simple::random(m, seed).unwrap();
        let cols = simple::random(k, !seed).unwrap();
        let order = Reordering::new(&rows, Some(cols.clone()));
        for spec in SPECS {
            let caller = Planner::new(options(spec, Reorder::None, Space::Caller));
            if let Ok(plan) = caller.plan_reordered(&a, &order) {
                prop_assert_eq!(&multiply(&plan, &b), &expected);
            }
            let permuted = Planner::new(options(spec, Reorder::None, Space::Permuted));
            match permuted.plan_reordered(&a, &order) {
                Ok(plan) if !square => check_permuted(&plan, &a, &b, &expected),
                Ok(plan) => prop_assert_eq!(plan.row_permutation(), rows.clone()),
                Err(_) => prop_assert_eq!(spec, FormatSpec::TwoFour),
            }
            let held = cols.apply_cols(&a).unwrap();
            let natural = Planner::new(options(spec, Reorder::None, Space::Caller));
            if let Ok(plan) = natural.plan(&held) {
                let plan = plan.with_columns(cols.clone()).unwrap();
                prop_assert_eq!(&multiply(&plan, &b), &expected);
            }
        }
    }
}

#[test]
fn new_values_find_their_places_in_any_order() {
    let a = matrix(40, 40, 0.8, 1);
    let renewed = a.with_values(a.values().iter().map(|v| v + 9.0).collect::<Vec<f32>>()).unwrap();
    let cols = simple::random(40, 3).unwrap();
    for spec in SPECS.into_iter().filter(|&spec| spec != FormatSpec::TwoFour) {
        for space in [Space::Caller, Space::Permuted] {
            let options = options(spec, Reorder::By(Method::Rcm), space).keep_slot_map(true);
            let planner = Planner::new(options);
            let mut plan = planner.plan(&a).unwrap();
            plan.refresh_values(&renewed).unwrap();
            assert_eq!(plan, planner.plan(&renewed).unwrap(), "{spec} {space:?}");
        }
        let order = Reordering::new(&simple::reverse(40).unwrap(), Some(cols.clone()));
        let options = options(spec, Reorder::None, Space::Caller).keep_slot_map(true);
        let planner = Planner::new(options);
        let mut plan = planner.plan_reordered(&a, &order).unwrap();
        plan.refresh_values(&renewed).unwrap();
        assert_eq!(plan, planner.plan_reordered(&renewed, &order).unwrap(), "{spec}");
    }
}

#[test]
fn an_order_of_another_matrix_is_refused() {
    let a = matrix(5, 7, 0.5, 1);
    let five = simple::reverse(5).unwrap();
    let six = simple::reverse(6).unwrap();
    let planner = Planner::default();
    for order in [Reordering::new(&six, None), Reordering::new(&five, Some(six.clone()))] {
        assert!(planner.plan_reordered(&a, &order).is_err());
    }
    let given = PlanOptions::default().reorder(Reorder::Given);
    assert!(Planner::new(given).plan(&a).is_err());
    assert!(planner.plan(&a).unwrap().with_columns(six).is_err());
}

#[test]
fn auto_says_what_it_saw() {
    let grid = girih_generate::laplacian_5pt::<f32>(60, 60).unwrap();
    let shuffled = simple::random(3600, 1).unwrap().apply_symmetric(&grid).unwrap();
    let spec = FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 };
    let plan = |a: &Csr<f32>| {
        let options = options(spec, Reorder::Auto, Space::Caller).n(128);
        Planner::new(options).plan(a).unwrap()
    };
    let rescued = plan(&shuffled);
    let explanation = rescued.explanation();
    assert!(explanation.orderings.len() > 2);
    assert!(!rescued.row_permutation().is_identity(), "{explanation}");
    assert!(explanation.order.contains("times as fast"), "{explanation}");
    assert!(explanation.to_string().contains("natural"), "{explanation}");
    let blocks = girih_generate::block_sparse::<f32>(512, 512, 64, 0.2, 1).unwrap();
    let kept = plan(&blocks);
    assert!(kept.row_permutation().is_identity(), "{}", kept.explanation());
    assert!(kept.explanation().order.contains("stay"), "{}", kept.explanation());
}
