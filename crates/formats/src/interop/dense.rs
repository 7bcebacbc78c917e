//! Dense arrays, for small matrices and tests.

use girih_parallel::prelude::*;
use ndarray::{Array2, ArrayView2};

use crate::csr::Csr;
use crate::error::FormatError;
use crate::scalar::Scalar;

impl<T: Scalar> Csr<T> {
    /// The nonzeros of a dense array of any strides; NaN is a nonzero. O(m · k) time, in parallel,
    /// no memory besides the matrix.
    ///
    /// # Errors
    /// If a dimension is above [`MAX_DIM`](crate::MAX_DIM).
    ///
    /// ```
    /// use girih_formats::Csr;
    /// use ndarray::array;
    ///
    /// let dense = array![[0.0f32, 2.0], [0.0, 0.0]];
    /// let a = Csr::from_dense(dense.view())?;
    /// assert_eq!(a.row(0), (&[1][..], &[2.0][..]));
    /// assert_eq!(a.to_dense()?, dense);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[expect(clippy::needless_pass_by_value, reason = "ndarray's views are passed by value")]
    pub fn from_dense(dense: ArrayView2<'_, T>) -> Result<Self, FormatError> {
        let (nrows, ncols) = dense.dim();
        Self::from_rows(
            nrows,
            ncols,
            |i| dense.row(i).iter().filter(|v| !v.is_zero()).count(),
            |i, cols, values| {
                let row = dense.row(i);
                let nonzeros = row.iter().enumerate().filter(|(_, v)| !v.is_zero());
                for ((col, value), (j, &v)) in cols.iter_mut().zip(values).zip(nonzeros) {
                    (*col, *value) = (j as u32, v);
                }
            },
        )
    }

    /// The matrix as a dense row-major array: O(m · k) time and memory, so only for a caller that
    /// knows both are small. Nothing in this crate calls it.
    ///
    /// # Errors
    /// [`FormatError::TooManyElements`] if the array is more than memory can address.
    pub fn to_dense(&self) -> Result<Array2<T>, FormatError> {
        let (nrows, ncols) = (self.nrows(), self.ncols());
        let found = nrows as u128 * ncols as u128;
        let too_many = |_| FormatError::TooManyElements { found };
        let len = usize::try_from(found).map_err(too_many)?;
        if len > isize::MAX as usize / size_of::<T>() {
            return Err(FormatError::TooManyElements { found });
        }
        let mut dense = vec![T::ZERO; len];
        if ncols > 0 {
            dense.par_chunks_mut(ncols).with_min_len(16).enumerate().for_each(|(i, dense_row)| {
                let (cols, values) = self.row(i);
                for (&j, &v) in cols.iter().zip(values) {
                    dense_row[j as usize] = v;
                }
            });
        }
        Array2::from_shape_vec((nrows, ncols), dense)
            .map_err(|_| FormatError::TooManyElements { found })
    }
}
