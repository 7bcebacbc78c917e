//! Operands from faer: matrices and columns, owned or borrowed, with strides of either sign.

use faer::{Col, ColMut, ColRef, Mat, MatMut, MatRef};
use ndarray::ArrayView2;

use super::{Place, view, view_mut};
use crate::dense::{DenseScalar, DenseView, DenseViewMut};

/// The elements of a matrix of faer, where they lie.
///
/// ```
/// use girih_backend::faer::mat;
///
/// let b = mat![[1.0f32, 2.0], [3.0, 4.0]];
/// let turned = girih_backend::view_faer(b.as_ref().reverse_rows());
/// assert_eq!(turned, girih_backend::ndarray::array![[3.0, 4.0], [1.0, 2.0]]);
/// ```
#[must_use]
pub fn view_faer<T>(matrix: MatRef<'_, T>) -> ArrayView2<'_, T> {
    let strides = (matrix.row_stride(), matrix.col_stride());
    let place = Place { ptr: matrix.as_ptr(), dim: matrix.shape(), strides };
    // SAFETY: a `MatRef` is a view of as many elements with these strides, and the new one lives as long. One of
    // elements that are not initialized comes from unsafe code alone, which vouches that none is read.
    unsafe { view(&place) }
}

/// In place, whatever the strides.
impl<'a, T: DenseScalar> From<MatRef<'a, T>> for DenseView<'a> {
    fn from(matrix: MatRef<'a, T>) -> Self {
        T::erase(view_faer(matrix))
    }
}

/// In place.
impl<'a, T: DenseScalar> From<&'a Mat<T>> for DenseView<'a> {
    fn from(matrix: &'a Mat<T>) -> Self {
        matrix.as_ref().into()
    }
}

/// One column, in place.
impl<'a, T: DenseScalar> From<ColRef<'a, T>> for DenseView<'a> {
    fn from(column: ColRef<'a, T>) -> Self {
        column.as_mat().into()
    }
}

/// One column, in place.
impl<'a, T: DenseScalar> From<&'a Col<T>> for DenseView<'a> {
    fn from(column: &'a Col<T>) -> Self {
        column.as_ref().into()
    }
}

/// In place, whatever the strides.
impl<'a, T: DenseScalar<Acc = T>> From<MatMut<'a, T>> for DenseViewMut<'a> {
    fn from(matrix: MatMut<'a, T>) -> Self {
        let strides = (matrix.row_stride(), matrix.col_stride());
        let place = Place { ptr: matrix.as_ptr_mut(), dim: matrix.shape(), strides };
        // SAFETY: a `MatMut` is a view of as many elements with these strides, each at a place of its own, and
        // is given away for the new one.
        T::erase_acc_mut(unsafe { view_mut(&place) })
    }
}

/// In place.
impl<'a, T: DenseScalar<Acc = T>> From<&'a mut Mat<T>> for DenseViewMut<'a> {
    fn from(matrix: &'a mut Mat<T>) -> Self {
        matrix.as_mut().into()
    }
}

/// One column, in place.
impl<'a, T: DenseScalar<Acc = T>> From<ColMut<'a, T>> for DenseViewMut<'a> {
    fn from(column: ColMut<'a, T>) -> Self {
        column.as_mat_mut().into()
    }
}

/// One column, in place.
impl<'a, T: DenseScalar<Acc = T>> From<&'a mut Col<T>> for DenseViewMut<'a> {
    fn from(column: &'a mut Col<T>) -> Self {
        column.as_mut().into()
    }
}
