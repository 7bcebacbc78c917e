//! Operands and products of nalgebra and faer.
//!
//! Their matrices are column-major. Operands are read where they lie, as backends read a B whose rows are not
//! contiguous: the CPU's copies panels of it. Products are written column by column.

use girih_backend::ndarray::Array2;

/// The elements of a matrix column by column: without a copy if they lie so.
#[cfg(feature = "nalgebra")]
fn by_columns<A: Copy>(c: Array2<A>) -> Vec<A> {
    match c.t().is_standard_layout() {
        true => c.into_raw_vec_and_offset().0,
        false => c.t().iter().copied().collect(),
    }
}

#[cfg(feature = "nalgebra")]
mod nalgebra {
    use girih_backend::nalgebra::{Dim, Dyn, Matrix, Storage, VecStorage};
    use girih_backend::ndarray::{Array2, ArrayView2};
    use girih_backend::{DenseScalar, view_nalgebra};

    use super::super::Operand;
    use super::by_columns;

    /// ```
    /// use girih::nalgebra::{DMatrix, DVector, Matrix2};
    /// use girih::prelude::*;
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0f64), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let prepared = a.plan(2)?.prepare()?;
    /// let b = DMatrix::from_row_slice(3, 2, &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    /// let mut c: DMatrix<f64> = prepared.multiply(&b)?;
    /// assert_eq!(c, Matrix2::new(3.0, 2.0, 0.0, 3.0));
    ///
    /// // Views, to be read or written, and vectors.
    /// prepared.multiply_into(10.0, &b.column(0), 1.0, &mut c.column_mut(1))?;
    /// assert_eq!(c, Matrix2::new(3.0, 32.0, 0.0, 3.0));
    /// let y: DVector<f64> = &prepared * &DVector::repeat(3, 1.0);
    /// assert_eq!(y.as_slice(), [3.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    impl<T, R, C, S> Operand for &Matrix<T, R, C, S>
    where
        T: DenseScalar,
        R: Dim,
        C: Dim,
        S: Storage<T, R, C>,
    {
        type Value = T;
        type Product = Matrix<T::Acc, Dyn, C, VecStorage<T::Acc, Dyn, C>>;

        const COLUMN_MAJOR: bool = true;

        fn matrix(&self) -> ArrayView2<'_, T> {
            view_nalgebra(self)
        }

        fn product(c: Array2<T::Acc>) -> Self::Product {
            let (rows, cols) = (Dyn(c.nrows()), C::from_usize(c.ncols()));
            Matrix::from_data(VecStorage::new(rows, cols, by_columns(c)))
        }
    }
}

#[cfg(feature = "faer")]
mod faer {
    use girih_backend::faer::{Col, ColRef, Mat, MatRef};
    use girih_backend::ndarray::{Array2, ArrayView2};
    use girih_backend::{DenseScalar, view_faer};

    use super::super::Operand;

    /// ```
    /// use girih::faer::{Col, Mat, mat};
    /// use girih::prelude::*;
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0f64), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let prepared = a.plan(2)?.prepare()?;
    /// let b = mat![[1.0, 0.0], [0.0, 1.0], [1.0, 1.0f64]];
    /// let mut c: Mat<f64> = prepared.multiply(&b)?;
    /// assert_eq!(c, mat![[3.0, 2.0], [0.0, 3.0]]);
    ///
    /// // Views, to be read or written, and columns.
    /// prepared.multiply_into(10.0, b.col(0), 1.0, c.col_mut(1))?;
    /// assert_eq!(c, mat![[3.0, 32.0], [0.0, 3.0]]);
    /// let y: Col<f64> = &prepared * &Col::from_fn(3, |_| 1.0);
    /// assert_eq!((y[0], y[1]), (3.0, 3.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    impl<T: DenseScalar> Operand for &Mat<T> {
        type Value = T;
        type Product = Mat<T::Acc>;

        const COLUMN_MAJOR: bool = true;

        fn matrix(&self) -> ArrayView2<'_, T> {
            view_faer(self.as_ref())
        }

        fn product(c: Array2<T::Acc>) -> Mat<T::Acc> {
            matrix(&c)
        }
    }

    impl<T: DenseScalar> Operand for MatRef<'_, T> {
        type Value = T;
        type Product = Mat<T::Acc>;

        const COLUMN_MAJOR: bool = true;

        fn matrix(&self) -> ArrayView2<'_, T> {
            view_faer(*self)
        }

        fn product(c: Array2<T::Acc>) -> Mat<T::Acc> {
            matrix(&c)
        }
    }

    impl<T: DenseScalar> Operand for &Col<T> {
        type Value = T;
        type Product = Col<T::Acc>;

        fn matrix(&self) -> ArrayView2<'_, T> {
            view_faer(self.as_mat())
        }

        fn product(c: Array2<T::Acc>) -> Col<T::Acc> {
            column(&c)
        }
    }

    impl<T: DenseScalar> Operand for ColRef<'_, T> {
        type Value = T;
        type Product = Col<T::Acc>;

        fn matrix(&self) -> ArrayView2<'_, T> {
            view_faer(self.as_mat())
        }

        fn product(c: Array2<T::Acc>) -> Col<T::Acc> {
            column(&c)
        }
    }

    /// A copy: faer's matrices begin every column at a cache line.
    fn matrix<A: Copy>(c: &Array2<A>) -> Mat<A> {
        Mat::from_fn(c.nrows(), c.ncols(), |i, j| c[(i, j)])
    }

    fn column<A: Copy>(c: &Array2<A>) -> Col<A> {
        Col::from_fn(c.nrows(), |i| c[(i, 0)])
    }
}
