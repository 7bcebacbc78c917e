//! What can be multiplied by a matrix, and what comes out.

use girih_backend::DenseScalar;
use girih_backend::ndarray::{
    Array1, Array2, ArrayBase, ArrayView1, ArrayView2, Axis, Data, Ix1, Ix2,
};
use girih_formats::Scalar;

/// The accumulation type of an operand's values: what products hold.
type AccOf<O> = <<O as Operand>::Value as Scalar>::Acc;

/// A dense operand with a product of its own kind: a matrix for a matrix, a vector for a vector.
///
/// | B | C |
/// |---|---|
/// | `&Array2<T>`, its views, `ArrayView2<T>` | `Array2<T::Acc>`, row-major |
/// | `&Array1<T>`, its views, `ArrayView1<T>` | `Array1<T::Acc>` |
/// | `&[T]`, `&Vec<T>` | `Vec<T::Acc>` |
/// | `&DMatrix<T>`, `&DVector<T>`, references to views (feature `nalgebra`) | `DMatrix<T::Acc>`, `DVector<T::Acc>` |
/// | `&Mat<T>`, `MatRef<T>`, `&Col<T>`, `ColRef<T>` (feature `faer`) | `Mat<T::Acc>`, `Col<T::Acc>` |
///
/// Column-major operands are multiplied where they lie. Backends copy a B whose rows are not contiguous, and
/// write such a C element by element: girih's CPU backend packs as it goes, O(k·n), and gives the same bits.
pub trait Operand {
    /// The value type of B.
    type Value: DenseScalar;
    /// What the product comes as.
    type Product;

    /// Whether [`product`](Self::product) takes C with its columns contiguous, and otherwise copies it.
    const COLUMN_MAJOR: bool = false;

    /// The operand as k×n; a vector is one column.
    fn matrix(&self) -> ArrayView2<'_, Self::Value>;

    /// The product, m×n, in the operand's kind.
    fn product(c: Array2<AccOf<Self>>) -> Self::Product
    where
        Self: Sized;
}

impl<S: Data> Operand for &ArrayBase<S, Ix2>
where
    S::Elem: DenseScalar,
{
    type Value = S::Elem;
    type Product = Array2<<S::Elem as Scalar>::Acc>;

    fn matrix(&self) -> ArrayView2<'_, S::Elem> {
        self.view()
    }

    fn product(c: Array2<AccOf<Self>>) -> Self::Product {
        c
    }
}

impl<T: DenseScalar> Operand for ArrayView2<'_, T> {
    type Value = T;
    type Product = Array2<T::Acc>;

    fn matrix(&self) -> ArrayView2<'_, T> {
        self.view()
    }

    fn product(c: Array2<T::Acc>) -> Array2<T::Acc> {
        c
    }
}

impl<S: Data> Operand for &ArrayBase<S, Ix1>
where
    S::Elem: DenseScalar,
{
    type Value = S::Elem;
    type Product = Array1<<S::Elem as Scalar>::Acc>;

    fn matrix(&self) -> ArrayView2<'_, S::Elem> {
        self.view().insert_axis(Axis(1))
    }

    fn product(c: Array2<AccOf<Self>>) -> Self::Product {
        column(c).into()
    }
}

impl<T: DenseScalar> Operand for ArrayView1<'_, T> {
    type Value = T;
    type Product = Array1<T::Acc>;

    fn matrix(&self) -> ArrayView2<'_, T> {
        self.view().insert_axis(Axis(1))
    }

    fn product(c: Array2<T::Acc>) -> Array1<T::Acc> {
        column(c).into()
    }
}

impl<T: DenseScalar> Operand for &[T] {
    type Value = T;
    type Product = Vec<T::Acc>;

    fn matrix(&self) -> ArrayView2<'_, T> {
        ArrayView1::from(*self).insert_axis(Axis(1))
    }

    fn product(c: Array2<T::Acc>) -> Vec<T::Acc> {
        column(c)
    }
}

impl<T: DenseScalar> Operand for &Vec<T> {
    type Value = T;
    type Product = Vec<T::Acc>;

    fn matrix(&self) -> ArrayView2<'_, T> {
        ArrayView1::from(&self[..]).insert_axis(Axis(1))
    }

    fn product(c: Array2<T::Acc>) -> Vec<T::Acc> {
        column(c)
    }
}

/// The elements of a matrix of one column, which begin with the array.
fn column<A>(c: Array2<A>) -> Vec<A> {
    c.into_raw_vec_and_offset().0
}
