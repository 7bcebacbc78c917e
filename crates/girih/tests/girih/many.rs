use girih::ndarray::{Array2, Axis, s};
use girih::prelude::*;
use girih::{DenseScalar, PreparedMany};

use crate::common::{assert_product, backends, batch, dense, ragged};

fn products<T: DenseScalar>((m, k): (usize, usize), size: usize, options: PlanOptions) {
    let a = ragged::<T>(m, k);
    let n = options.n;
    let plan = a.plan(options).unwrap();
    let (values, b) = (dense::<T>(size, a.nnz()), batch::<T>(size, k, n));
    for backend in backends() {
        let mut many = PreparedMany::prepare_on(&plan, &*backend).unwrap();
        let c = many.multiply(values.view(), b.view()).unwrap();
        let before = batch::<T::Acc>(size, m, n);
        let mut added = before.clone();
        many.multiply_into(2.0, values.view(), b.view(), -0.5, added.view_mut()).unwrap();
        for t in 0..size {
            let one = a.with_values(values.row(t).to_vec()).unwrap();
            let (b, before) = (b.index_axis(Axis(0), t), before.index_axis(Axis(0), t));
            assert_product(&one, 1.0, b, None, c.index_axis(Axis(0), t));
            assert_product(&one, 2.0, b, Some((-0.5, before)), added.index_axis(Axis(0), t));
            // The bits of the matrix alone, planned the same way.
            let alone = one.plan(plan.options().clone()).unwrap().prepare_on(&*backend).unwrap();
            assert_eq!(c.index_axis(Axis(0), t), alone.multiply(b).unwrap());
        }
    }
}

#[test]
fn each_matrix_has_its_own_values() {
    products::<f32>((37, 23), 11, PlanOptions::new(3).format(FormatSpec::Csr));
    products::<f64>((23, 37), 2, PlanOptions::new(1).format(FormatSpec::Csr));
    let blocks = FormatSpec::Bcsr { block_rows: 4, block_cols: 4 };
    products::<f32>((37, 23), 5, PlanOptions::new(8).format(blocks));
}

#[test]
fn large_products_one_after_another() {
    products::<f32>((9_000, 300), 2, PlanOptions::new(9).format(FormatSpec::Csr));
}

#[test]
fn strides_repeat_and_skip() {
    let a = ragged::<f64>(37, 23);
    let values = dense::<f64>(8, 2 * a.nnz());
    let values = values.slice(s![..;-2, ..;2]);
    let one = dense::<f64>(23, 2);
    let mut many = PreparedMany::prepare(&a.plan(2).unwrap()).unwrap();
    let c = many.multiply(values, one.broadcast((4, 23, 2)).unwrap()).unwrap();
    for t in 0..4 {
        let a = a.with_values(values.row(t).to_vec()).unwrap();
        assert_product(&a, 1.0, one.view(), None, c.index_axis(Axis(0), t));
    }
}

#[test]
fn wrong_shapes_are_refused() {
    let a = ragged::<f64>(37, 23);
    let mut many = PreparedMany::prepare(&a.plan(2).unwrap()).unwrap();
    let b = batch::<f64>(3, 23, 2);
    let mut refused =
        |values: Array2<f64>| many.multiply(values.view(), b.view()).unwrap_err().to_string();
    let nnz = a.nnz();
    let short = refused(dense(3, nnz - 1));
    assert!(
        short.contains(&format!("values is 3×{} where the product needs 3×{nnz}", nnz - 1)),
        "{short}"
    );
    let few = refused(dense(2, nnz));
    assert!(few.contains("B is 69×2 where the product needs 46×2"), "{few}");
}
