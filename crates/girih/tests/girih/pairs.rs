use girih::prelude::*;
use girih::reorder::Method;
use girih::{BackendError, DenseScalar, PlanError, PlanPair, PreparedPair};

use crate::common::{assert_product, backends, dense, number, ragged};

/// A ring with chords: a symmetric pattern; `skew` is what the two halves differ by.
fn ring<T: Scalar>(m: usize, skew: f64) -> Csr<T> {
    let at = |i: usize, j: usize| {
        let value = number(i.min(j), i.max(j)) + if i < j { skew } else { 0.0 };
        (i, j, T::from_c64(value.into()))
    };
    let entries = (0..m).flat_map(|i| [(i, i), (i, (i + 1) % m), (i, (i + 5) % m)]);
    let both =
        entries.flat_map(|(i, j)| if i == j { vec![at(i, i)] } else { vec![at(i, j), at(j, i)] });
    Csr::from_triplets(m, m, both).unwrap()
}

fn assert_pair<T: DenseScalar>(pair: &PreparedPair, a: &Csr<T>, n: usize) {
    let (x, y) = (dense::<T>(a.ncols(), n), dense::<T>(a.nrows(), n));
    assert_product(a, 1.0, x.view(), None, pair.multiply(&x).unwrap().view());
    assert_product(&a.t(), 1.0, y.view(), None, pair.multiply_transposed(&y).unwrap().view());
}

/// Products before and after new values, on every backend.
fn products<T: DenseScalar<Acc = T>>(a: &Csr<T>, options: &PlanOptions) -> PlanPair {
    let plans = a.plan_pair(options.clone()).unwrap();
    for backend in backends() {
        let mut pair = plans.prepare_on(&*backend).unwrap();
        assert_eq!(pair.is_shared(), a.is_symmetric());
        assert_pair(&pair, a, options.n);
        let mut other = a.clone();
        for factor in [3.0, 0.5] {
            other.scale(T::from_c64(factor.into()));
            if !a.is_symmetric() {
                other.values_mut()[a.nnz() / 2] = T::from_c64((-7.0).into());
            }
            pair.refresh(&other.values()[..]).unwrap();
            assert_pair(&pair, &other, options.n);
        }
        let fewer = pair.refresh(&a.values()[1..]).unwrap_err();
        assert!(matches!(fewer, BackendError::Shape { operand: "values", .. }), "{fewer}");
        assert_pair(&pair, &other, options.n);
    }
    plans
}

#[test]
fn matrices_of_every_symmetry() {
    let options = PlanOptions::new(6);
    assert!(products(&ring::<f32>(101, 0.0), &options).transposed().is_none());
    let of_pattern = products(&ring::<f64>(101, 0.5), &options);
    assert_eq!(of_pattern.transposed().unwrap().spec(), of_pattern.plan().spec());
    products(&ragged::<f32>(37, 23), &options);
    products(&ragged::<f64>(37, 37), &options.op(Op::Transpose));
}

#[test]
fn in_every_order_and_space() {
    let wcsr = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
    let bcsr = FormatSpec::Bcsr { block_rows: 4, block_cols: 4 };
    for (spec, method, space) in [
        (wcsr, Method::Rcm, Space::Caller),
        (bcsr, Method::Rcm, Space::Caller),
        (bcsr, Method::Reverse, Space::Caller),
        (FormatSpec::Csr, Method::Degree, Space::Caller),
    ] {
        let options = PlanOptions::new(5).format(spec).reorder(method).space(space);
        let plans = products(&ring::<f64>(101, 0.5), &options);
        let second = plans.transposed().unwrap();
        assert_eq!(second.row_permutation(), plans.plan().row_permutation());
        assert_eq!(second.col_permutation(), plans.plan().col_permutation());
        products(&ring::<f64>(101, 0.0), &options);
    }
}

/// In the permuted space both products stay in one order.
#[test]
fn in_the_permuted_space() {
    let a = ring::<f64>(101, 0.5);
    let options = PlanOptions::new(5).reorder(Method::Rcm).space(Space::Permuted);
    let plans = a.plan_pair(options).unwrap();
    let order = plans.plan().row_permutation();
    assert_eq!(plans.transposed().unwrap().row_permutation(), order);
    let pair = plans.prepare().unwrap();
    let y = dense::<f64>(101, 5);
    let permuted = order.apply_dense_rows(y.view()).unwrap();
    let c = pair.multiply_transposed(&permuted).unwrap();
    let c = order.inverse().apply_dense_rows(c.view()).unwrap();
    assert_product(&a.t(), 1.0, y.view(), None, c.view());
}

#[test]
fn values_that_stay_symmetric_or_do_not() {
    let (a, skewed) = (ring::<f64>(41, 0.0), ring::<f64>(41, 0.5));
    let mut shared = a.plan_pair(3).unwrap().prepare().unwrap();
    let refused = shared.refresh(&skewed.values()[..]).unwrap_err();
    assert!(refused.to_string().contains("not symmetric"), "{refused}");
    assert_pair(&shared, &a, 3);

    let plans = PlanPair::for_any_values(&a, 3).unwrap();
    let mut own = plans.prepare_on(&girih::ReferenceBackend).unwrap();
    assert!(!own.is_shared());
    assert_pair(&own, &a, 3);
    own.refresh(&skewed.values()[..]).unwrap();
    assert_pair(&own, &skewed, 3);
}

#[test]
fn saved_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let (at, at_transposed) = (dir.path().join("a.girih"), dir.path().join("at.girih"));
    let options = PlanOptions::new(6).reorder(Method::Rcm);
    for skew in [0.0, 0.5] {
        let a = ring::<f32>(101, skew);
        let plans = a.plan_pair(options.clone()).unwrap();
        plans.plan().save(&at).unwrap();
        let read = plans.transposed().map(|plan| {
            plan.save(&at_transposed).unwrap();
            Plan::read(&at_transposed).unwrap()
        });
        let again = PlanPair::from_plans(Plan::read(&at).unwrap(), read).unwrap();
        let mut pair = again.prepare().unwrap();
        assert_pair(&pair, &a, 6);
        let mut other = a.clone();
        other.scale(2.0);
        pair.refresh(&other.values()[..]).unwrap();
        assert_pair(&pair, &other, 6);
    }
}

#[test]
fn plans_that_are_no_pair() {
    let plan = |a: &Csr<f32>, op| a.plan(PlanOptions::new(2).op(op)).unwrap();
    let (wide, skewed) = (ragged::<f32>(37, 23), ring::<f32>(37, 0.5));
    let refused =
        |plan, other| matches!(PlanPair::from_plans(plan, other), Err(PlanError::OtherMatrix));
    assert!(refused(plan(&wide, Op::None), None));
    assert!(refused(plan(&skewed, Op::None), None));
    assert!(refused(plan(&wide, Op::None), Some(plan(&wide, Op::None))));
    assert!(refused(plan(&skewed, Op::None), Some(plan(&skewed, Op::None))));
    assert!(!refused(plan(&wide, Op::None), Some(plan(&wide, Op::Transpose))));
}
