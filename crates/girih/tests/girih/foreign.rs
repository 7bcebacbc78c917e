use girih::ndarray::Array2;
use girih::prelude::*;

use crate::common::{assert_product, backends, dense, ragged};

#[cfg(feature = "nalgebra")]
mod nalgebra {
    use girih::DenseScalar;
    use girih::nalgebra::{DMatrix, DVector, Dyn, OMatrix, RowDVector, U3};

    use super::*;

    fn of<T: Scalar>(from: &Array2<T>) -> DMatrix<T> {
        DMatrix::from_fn(from.nrows(), from.ncols(), |i, j| from[(i, j)])
    }

    fn back<T: Scalar>(from: &DMatrix<T>) -> Array2<T> {
        Array2::from_shape_fn(from.shape(), |(i, j)| from[(i, j)])
    }

    fn products<T: DenseScalar>() {
        let a = ragged::<T>(37, 23);
        for backend in backends() {
            for n in [1, 2, 17, 70] {
                let prepared = a.plan(n).unwrap().prepare_on(&*backend).unwrap();
                let b = dense::<T>(23, n);
                let c: DMatrix<T::Acc> = prepared.multiply(&of(&b)).unwrap();
                assert_product(&a, 1.0, b.view(), None, back(&c).view());
                // The bits do not depend on how B and C lie.
                assert_eq!(back(&c), prepared.multiply(&b).unwrap());
                // The columns of a larger matrix, and every other row of one.
                let wide = of(&dense::<T>(46, n + 2));
                let view = wide.view_with_steps((1, 1), (23, n), (1, 0));
                let seen = back(&view.clone_owned());
                let c = back(&prepared.multiply(&view).unwrap());
                assert_eq!(c, prepared.multiply(&seen).unwrap());
            }
        }
    }

    #[test]
    fn products_are_those_of_arrays() {
        products::<f32>();
        products::<f64>();
        products::<girih::formats::f16>();
    }

    #[test]
    fn views_are_written_where_they_lie_and_nothing_beside_them() {
        let (a, b) = (ragged::<f64>(37, 23), dense::<f64>(23, 4));
        for backend in backends() {
            let prepared = a.plan(4).unwrap().prepare_on(&*backend).unwrap();
            let before = dense::<f64>(40, 9);
            let mut c = of(&before);
            let mut part = c.view_mut((2, 3), (37, 4));
            prepared.multiply_into(2.0, &of(&b), -0.5, &mut part).unwrap();
            let inside = girih::ndarray::s![2..39, 3..7];
            let mut after = back(&c);
            let found = after.slice(inside).to_owned();
            assert_product(&a, 2.0, b.view(), Some((-0.5, before.slice(inside))), found.view());
            after.slice_mut(inside).assign(&before.slice(inside));
            assert_eq!(after, before);
        }
    }

    #[test]
    fn vectors_rows_and_shapes_known_at_compile_time() {
        let a = ragged::<f32>(37, 23);
        let b = dense::<f32>(23, 3);
        let expected = girih::spmm(&a, &b).unwrap();
        let narrow = OMatrix::<f32, Dyn, U3>::from_fn(23, |i, j| b[(i, j)]);
        let c: OMatrix<f32, Dyn, U3> = girih::spmm(&a, &narrow).unwrap();
        assert!((0..37).all(|i| (0..3).all(|j| c[(i, j)] == expected[(i, j)])));
        let x = DVector::from_fn(23, |i, _| b[(i, 1)]);
        let y: DVector<f32> = girih::spmm(&a, &x).unwrap();
        assert_product(
            &a,
            1.0,
            b.slice(girih::ndarray::s![.., 1..2]),
            None,
            back_column(&y).view(),
        );

        // A row of B is k×n with k = 1; wrong shapes are errors that name the operand.
        let column = Csr::<f32>::from_triplets(2, 1, [(0, 0, 2.0), (1, 0, 3.0)]).unwrap();
        let row = RowDVector::from_fn(3, |_, j| j as f32);
        let c = girih::spmm(&column, &row).unwrap();
        assert_eq!(c, DMatrix::from_row_slice(2, 3, &[0.0, 2.0, 4.0, 0.0, 3.0, 6.0]));
        let refused = girih::spmm(&a, &row).unwrap_err().to_string();
        assert!(refused.contains("B is 1×3 where the product needs 23×3"), "{refused}");
        let empty = girih::spmm(&a, &DMatrix::<f32>::zeros(23, 0)).unwrap();
        assert_eq!(empty.shape(), (37, 0));
    }

    fn back_column(y: &DVector<f32>) -> Array2<f32> {
        Array2::from_shape_fn((y.len(), 1), |(i, _)| y[i])
    }
}

#[cfg(feature = "faer")]
mod faer {
    use girih::DenseScalar;
    use girih::faer::{Col, Mat, MatRef};

    use super::*;

    fn of<T: Scalar>(from: &Array2<T>) -> Mat<T> {
        Mat::from_fn(from.nrows(), from.ncols(), |i, j| from[(i, j)])
    }

    fn back<T: Copy>(from: MatRef<'_, T>) -> Array2<T> {
        Array2::from_shape_fn(from.shape(), |(i, j)| from[(i, j)])
    }

    fn products<T: DenseScalar>() {
        let a = ragged::<T>(37, 23);
        for backend in backends() {
            for n in [1, 2, 17, 70] {
                let prepared = a.plan(n).unwrap().prepare_on(&*backend).unwrap();
                let b = dense::<T>(23, n);
                let own = of(&b);
                let c: Mat<T::Acc> = prepared.multiply(&own).unwrap();
                assert_product(&a, 1.0, b.view(), None, back(c.as_ref()).view());
                assert_eq!(back(c.as_ref()), prepared.multiply(&b).unwrap());
                // Backwards, and transposed, which is row-major.
                for view in [own.as_ref().reverse_rows(), own.as_ref().reverse_rows_and_cols()] {
                    let c = prepared.multiply(view).unwrap();
                    assert_eq!(back(c.as_ref()), prepared.multiply(&back(view)).unwrap());
                }
                let turned = of(&b.t().to_owned());
                let c = prepared.multiply(turned.transpose()).unwrap();
                assert_eq!(back(c.as_ref()), prepared.multiply(&b).unwrap());
            }
        }
    }

    #[test]
    fn products_are_those_of_arrays() {
        products::<f32>();
        products::<f64>();
        products::<girih::formats::bf16>();
    }

    #[test]
    fn views_are_written_where_they_lie_and_nothing_beside_them() {
        let (a, b) = (ragged::<f64>(37, 23), dense::<f64>(23, 4));
        for backend in backends() {
            let prepared = a.plan(4).unwrap().prepare_on(&*backend).unwrap();
            let before = dense::<f64>(40, 9);
            let mut c = of(&before);
            let part = c.as_mut().submatrix_mut(2, 3, 37, 4).reverse_rows_mut();
            prepared.multiply_into(2.0, &of(&b), -0.5, part).unwrap();
            let inside = girih::ndarray::s![2..39;-1, 3..7];
            let mut after = back(c.as_ref());
            let found = after.slice(inside).to_owned();
            assert_product(&a, 2.0, b.view(), Some((-0.5, before.slice(inside))), found.view());
            after.slice_mut(inside).assign(&before.slice(inside));
            assert_eq!(after, before);
        }
    }

    #[test]
    fn columns_and_rows_of_a_matrix_are_vectors() {
        let a = ragged::<f32>(37, 23);
        let b = dense::<f32>(23, 3);
        let own = of(&b);
        let y: Col<f32> = girih::spmm(&a, own.col(1)).unwrap();
        let found = Array2::from_shape_fn((37, 1), |(i, _)| y[i]);
        assert_product(&a, 1.0, b.slice(girih::ndarray::s![.., 1..2]), None, found.view());
        // A row of a column-major matrix, as a column: its elements are apart.
        let turned = of(&b.t().to_owned());
        let again: Col<f32> = girih::spmm(&a, turned.row(1).transpose()).unwrap();
        assert_eq!(again, y);
        let refused = girih::spmm(&a, &turned).unwrap_err().to_string();
        assert!(refused.contains("B is 3×23 where the product needs 23×23"), "{refused}");
    }
}
