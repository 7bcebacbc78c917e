use girih::ndarray::{Array3, ArrayView3, ArrayViewMut3, Axis, s};
use girih::prelude::*;
use girih::{DenseScalar, Prepared};

use crate::common::{assert_product, backends, batch, ragged};

/// A batch whose axes lie in memory in another order.
fn stored<T: Copy>(from: &Array3<T>, axes: [usize; 3]) -> Array3<T> {
    let mut back = [0; 3];
    (0..3).for_each(|at| back[axes[at]] = at);
    from.view().permuted_axes(axes).as_standard_layout().into_owned().permuted_axes(back)
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

#[expect(clippy::needless_pass_by_value, reason = "views")]
#[track_caller]
fn assert_batch<T: DenseScalar>(
    a: &Csr<T>,
    alpha: f64,
    b: ArrayView3<'_, T>,
    added: Option<(f64, ArrayView3<'_, T::Acc>)>,
    c: ArrayView3<'_, T::Acc>,
) {
    for t in 0..b.dim().0 {
        let added = added.map(|(beta, c)| (beta, c.index_axis_move(Axis(0), t)));
        assert_product(a, alpha, b.index_axis(Axis(0), t), added, c.index_axis(Axis(0), t));
    }
}

fn every_layout<T: DenseScalar>(prepared: &Prepared, a: &Csr<T>, (size, n): (usize, usize)) {
    let b = batch::<T>(size, a.ncols(), n);
    let before = batch::<T::Acc>(size, a.nrows(), n);
    for b_order in ORDERS {
        let b = stored(&b, b_order);
        assert_batch(a, 1.0, b.view(), None, prepared.multiply_batch(b.view()).unwrap().view());
        for c_order in ORDERS {
            let mut c = stored(&before, c_order);
            prepared.multiply_batch_into(2.0, b.view(), -0.5, c.view_mut()).unwrap();
            assert_batch(a, 2.0, b.view(), Some((-0.5, before.view())), c.view());
        }
    }
}

#[test]
fn every_matrix_of_a_batch_is_multiplied_whatever_the_strides() {
    for backend in backends() {
        for sizes in [(1, 3), (5, 1), (4, 3), (9, 8), (25, 3), (5, 17)] {
            let a = ragged::<f32>(37, 23);
            every_layout(&a.plan(sizes.1).unwrap().prepare_on(&*backend).unwrap(), &a, sizes);
        }
        let a = ragged::<f64>(23, 37);
        every_layout(&a.plan(2).unwrap().prepare_on(&*backend).unwrap(), &a, (7, 2));
    }
}

/// Larger than what is given to threads whole.
#[test]
fn large_products_of_a_batch() {
    let a = ragged::<f32>(20_000, 500);
    let prepared = a.plan(8).unwrap().prepare().unwrap();
    for (size, n) in [(6, 8), (3, 20)] {
        let b = batch::<f32>(size, 500, n);
        assert_batch(&a, 1.0, b.view(), None, prepared.multiply_batch(b.view()).unwrap().view());
    }
}

/// So many entries that narrow matrices are copied side by side, in every layout and on all threads.
#[test]
fn narrow_matrices_side_by_side() {
    let dense = |m: usize, k: usize| {
        let entries = (0..m * k).map(|e| (e / k, e % k, (e % 7) as f32 - 3.0));
        Csr::from_triplets(m, k, entries).unwrap()
    };
    for (m, k, sizes) in [(60, 50, (25, 3)), (60, 50, (9, 1)), (400, 300, (12, 5))] {
        let a = dense(m, k);
        assert!(a.nnz() >= 16 * (m + k));
        let prepared = a.plan(sizes.1).unwrap().prepare_on(&girih::CpuBackend::new()).unwrap();
        every_layout(&prepared, &a, sizes);
    }
}

#[test]
fn c_lies_as_b_does() {
    let a = ragged::<f32>(37, 23);
    let prepared = a.plan(4).unwrap().prepare().unwrap();
    let b = batch::<f32>(5, 23, 4);
    let strides =
        |order| prepared.multiply_batch(stored(&b, order).view()).unwrap().strides().to_vec();
    assert_eq!(strides([0, 1, 2]), [37 * 4, 4, 1]);
    assert_eq!(strides([1, 0, 2]), [4, 5 * 4, 1]);
    assert_eq!(strides([1, 2, 0]), [1, 5 * 4, 5]);
    // One B for all lies in each.
    let shared = b.slice(s![..1, .., ..]);
    let shared = shared.broadcast((5, 23, 4)).unwrap();
    assert_eq!(prepared.multiply_batch(shared).unwrap().strides(), [37 * 4, 4, 1]);
}

/// What is beside a batch in memory is not written.
#[test]
fn a_batch_within_a_larger_array() {
    let a = ragged::<f64>(37, 23);
    let b = batch::<f64>(9, 30, 7);
    let b = b.slice(s![..;-2, 4..27, 1..6]);
    for backend in backends() {
        let prepared = a.plan(5).unwrap().prepare_on(&*backend).unwrap();
        let before = batch::<f64>(5, 40, 8);
        let mut c = before.clone();
        prepared.multiply_batch_into(1.0, b, 0.0, c.slice_mut(s![.., 2..39, 1..6])).unwrap();
        assert_batch(&a, 1.0, b, None, c.slice(s![.., 2..39, 1..6]));
        c.slice_mut(s![.., 2..39, 1..6]).assign(&before.slice(s![.., 2..39, 1..6]));
        assert_eq!(c, before);
    }
}

#[test]
fn wrong_shapes_are_refused_before_anything_is_written() {
    let a = ragged::<f32>(37, 23);
    let prepared = a.plan(4).unwrap().prepare().unwrap();
    let (b, mut c) = (batch::<f32>(5, 23, 4), Array3::<f32>::from_elem((5, 37, 4), 7.0));
    let refused = |b: ArrayView3<'_, f32>, c: ArrayViewMut3<'_, f32>| {
        prepared.multiply_batch_into(1.0, b, 0.0, c).unwrap_err().to_string()
    };
    let fewer = refused(b.view(), c.slice_mut(s![..4, .., ..]));
    assert!(fewer.contains("C is 148×4 where the product needs 185×4"), "{fewer}");
    let shorter = refused(b.slice(s![.., 1.., ..]), c.view_mut());
    assert!(shorter.contains("B is 110×4 where the product needs 115×4"), "{shorter}");
    let narrow = refused(b.view(), c.slice_mut(s![.., .., 1..]));
    assert!(narrow.contains("C is 185×3 where the product needs 185×4"), "{narrow}");
    let wrong_type = batch::<f64>(5, 23, 4);
    assert!(prepared.multiply_batch(wrong_type.view()).is_err());
    assert!(c.iter().all(|&x| x == 7.0));
    for (batch, n) in [(0, 4), (5, 0), (0, 0)] {
        let none = prepared.multiply_batch(Array3::<f32>::zeros((batch, 23, n)).view()).unwrap();
        assert_eq!(none.dim(), (batch, 37, n));
    }
}
