//! Dense operands from arrays, vectors and slices.

use ndarray::{
    ArrayBase, ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2, Axis, Data, DataMut, Ix1, Ix2,
    ShapeBuilder, ShapeError,
};

use crate::dense::{DenseScalar, DenseView, DenseViewMut};
use crate::error::BackendError;
use crate::slice_strides::SliceStrides;

impl<'a, S: Data> From<&'a ArrayBase<S, Ix2>> for DenseView<'a>
where
    S::Elem: DenseScalar,
{
    fn from(array: &'a ArrayBase<S, Ix2>) -> Self {
        DenseScalar::erase(array.view())
    }
}

/// One column.
impl<'a, S: Data> From<&'a ArrayBase<S, Ix1>> for DenseView<'a>
where
    S::Elem: DenseScalar,
{
    fn from(vector: &'a ArrayBase<S, Ix1>) -> Self {
        vector.view().into()
    }
}

/// One column.
impl<'a, T: DenseScalar> From<ArrayView1<'a, T>> for DenseView<'a> {
    fn from(vector: ArrayView1<'a, T>) -> Self {
        T::erase(vector.insert_axis(Axis(1)))
    }
}

/// One column.
impl<'a, T: DenseScalar> From<&'a [T]> for DenseView<'a> {
    fn from(values: &'a [T]) -> Self {
        ArrayView1::from(values).into()
    }
}

/// One column.
impl<'a, T: DenseScalar> From<&'a Vec<T>> for DenseView<'a> {
    fn from(values: &'a Vec<T>) -> Self {
        values[..].into()
    }
}

impl<'a, S: DataMut> From<&'a mut ArrayBase<S, Ix2>> for DenseViewMut<'a>
where
    S::Elem: DenseScalar,
{
    fn from(array: &'a mut ArrayBase<S, Ix2>) -> Self {
        S::Elem::erase_mut(array.view_mut())
    }
}

/// One column.
impl<'a, S: DataMut> From<&'a mut ArrayBase<S, Ix1>> for DenseViewMut<'a>
where
    S::Elem: DenseScalar,
{
    fn from(vector: &'a mut ArrayBase<S, Ix1>) -> Self {
        vector.view_mut().into()
    }
}

/// One column.
impl<'a, T: DenseScalar> From<ArrayViewMut1<'a, T>> for DenseViewMut<'a> {
    fn from(vector: ArrayViewMut1<'a, T>) -> Self {
        T::erase_mut(vector.insert_axis(Axis(1)))
    }
}

/// One column.
impl<'a, T: DenseScalar> From<&'a mut [T]> for DenseViewMut<'a> {
    fn from(values: &'a mut [T]) -> Self {
        ArrayViewMut1::from(values).into()
    }
}

/// One column.
impl<'a, T: DenseScalar> From<&'a mut Vec<T>> for DenseViewMut<'a> {
    fn from(values: &'a mut Vec<T>) -> Self {
        (&mut values[..]).into()
    }
}

impl<'a> DenseView<'a> {
    /// A matrix in a slice, with any strides that stay in it; a stride of 0 repeats a row or column. O(1).
    ///
    /// ```
    /// use girih_backend::{DenseView, SliceStrides};
    ///
    /// let values = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// // [ 1 2 ]   the first two of each three
    /// // [ 4 5 ]
    /// let b = DenseView::in_slice(&values, (2, 2), SliceStrides::row_major(3))?;
    /// let DenseView::F32(b) = b else { unreachable!() };
    /// assert_eq!(b, girih_backend::ndarray::array![[1.0, 2.0], [4.0, 5.0]]);
    /// assert!(DenseView::in_slice(&values, (3, 2), SliceStrides::row_major(3)).is_err());
    /// # Ok::<(), girih_backend::BackendError>(())
    /// ```
    ///
    /// # Errors
    /// [`BackendError::Slice`] if an element would lie outside of the slice.
    pub fn in_slice<T: DenseScalar>(
        values: &'a [T],
        dim: (usize, usize),
        strides: SliceStrides,
    ) -> Result<Self, BackendError> {
        let shape = dim.strides((strides.rows, strides.cols));
        let view = ArrayView2::from_shape(shape, values);
        view.map(T::erase).map_err(|error| outside(values.len(), dim, strides, &error))
    }
}

impl<'a> DenseViewMut<'a> {
    /// A matrix in a slice, to be written, with any strides that stay in it and keep elements apart. O(1).
    ///
    /// ```
    /// use girih_backend::{DenseViewMut, SliceStrides};
    ///
    /// let mut values = [0.0f64; 6];
    /// assert!(DenseViewMut::in_slice(&mut values, (3, 2), SliceStrides::col_major(3)).is_ok());
    /// assert!(DenseViewMut::in_slice(&mut values, (3, 2), SliceStrides::col_major(1)).is_err());
    /// ```
    ///
    /// # Errors
    /// [`BackendError::Slice`] if an element would lie outside of the slice, or two at one place.
    pub fn in_slice<T: DenseScalar>(
        values: &'a mut [T],
        dim: (usize, usize),
        strides: SliceStrides,
    ) -> Result<Self, BackendError> {
        let len = values.len();
        let shape = dim.strides((strides.rows, strides.cols));
        let view = ArrayViewMut2::from_shape(shape, values);
        view.map(T::erase_mut).map_err(|error| outside(len, dim, strides, &error))
    }
}

fn outside(
    len: usize,
    (rows, cols): (usize, usize),
    strides: SliceStrides,
    error: &ShapeError,
) -> BackendError {
    BackendError::Slice { rows, cols, strides, len, reason: error.to_string() }
}
