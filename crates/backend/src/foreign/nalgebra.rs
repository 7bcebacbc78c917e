//! Operands from nalgebra: matrices, vectors and views of any shape and storage.

use nalgebra::{Dim, Matrix, Scalar, Storage, StorageMut};
use ndarray::{ArrayView2, ArrayViewMut2};

use super::{Place, view, view_mut};
use crate::dense::{DenseScalar, DenseView, DenseViewMut};

/// The elements of a matrix of nalgebra, where they lie; a vector is one column, a row vector one row.
///
/// ```
/// use girih_backend::nalgebra::DMatrix;
/// use girih_backend::{ndarray::array, view_nalgebra};
///
/// let b = DMatrix::from_row_slice(2, 3, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// assert_eq!(view_nalgebra(&b), array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
/// assert_eq!(view_nalgebra(&b.columns(1, 2)), array![[2.0, 3.0], [5.0, 6.0]]);
/// ```
pub fn view_nalgebra<T, R, C, S>(matrix: &Matrix<T, R, C, S>) -> ArrayView2<'_, T>
where
    T: Scalar,
    R: Dim,
    C: Dim,
    S: Storage<T, R, C>,
{
    let (rows, cols) = matrix.data.strides();
    let strides = (rows.value() as isize, cols.value() as isize);
    let place = Place { ptr: matrix.data.ptr(), dim: matrix.shape(), strides };
    // SAFETY: `Storage` is an unsafe trait which says that shape and strides fit, and that elements are
    // initialized. The view borrows the matrix.
    unsafe { view(&place) }
}

/// The elements of a matrix of nalgebra, to be written.
pub(super) fn view_nalgebra_mut<T, R, C, S>(matrix: &mut Matrix<T, R, C, S>) -> ArrayViewMut2<'_, T>
where
    T: Scalar,
    R: Dim,
    C: Dim,
    S: StorageMut<T, R, C>,
{
    let (rows, cols) = matrix.data.strides();
    let strides = (rows.value() as isize, cols.value() as isize);
    let (dim, ptr) = (matrix.shape(), matrix.data.ptr_mut());
    // SAFETY: as in `view_nalgebra`. A storage that gives out its elements to be written has each once, and the
    // view borrows it alone.
    unsafe { view_mut(&Place { ptr, dim, strides }) }
}

/// In place, whatever the storage.
impl<'a, T, R, C, S> From<&'a Matrix<T, R, C, S>> for DenseView<'a>
where
    T: DenseScalar + Scalar,
    R: Dim,
    C: Dim,
    S: Storage<T, R, C>,
{
    fn from(matrix: &'a Matrix<T, R, C, S>) -> Self {
        T::erase(view_nalgebra(matrix))
    }
}

/// In place, whatever the storage.
impl<'a, T, R, C, S> From<&'a mut Matrix<T, R, C, S>> for DenseViewMut<'a>
where
    T: DenseScalar<Acc = T> + Scalar,
    R: Dim,
    C: Dim,
    S: StorageMut<T, R, C>,
{
    fn from(matrix: &'a mut Matrix<T, R, C, S>) -> Self {
        T::erase_acc_mut(view_nalgebra_mut(matrix))
    }
}
