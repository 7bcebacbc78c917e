//! The same pattern with values of another type, or with other values made of them.

use girih_parallel::prelude::*;

use super::Csr;
use crate::narrowing::Narrowing;
use crate::scalar::{ComplexScalar, Real, Scalar};

impl<T: Scalar> Csr<T> {
    /// The matrix with every value replaced by its complex conjugate; the pattern is shared. A real matrix is its
    /// own. With [`transpose`](Self::transpose) the adjoint, Aᴴ. O(nnz), in parallel.
    ///
    /// ```
    /// use girih_formats::{Complex, Csr};
    ///
    /// let a = Csr::from_triplets(1, 2, [(0, 1, Complex::new(2.0f32, 3.0))])?;
    /// assert_eq!(a.conj().transpose().get(1, 0), Some(Complex::new(2.0, -3.0)));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[must_use]
    pub fn conj(&self) -> Self {
        match T::DTYPE.is_complex() {
            true => self.with_each_value(T::conj),
            false => self.clone(),
        }
    }

    /// The same pattern, with what `map` makes of each value.
    pub(crate) fn with_each_value<U: Scalar>(&self, map: impl Fn(T) -> U + Sync + Send) -> Csr<U> {
        let mut values: Vec<U> = bytemuck::zeroed_vec(self.nnz());
        self.values.par_iter().with_min_len(1 << 14).map(|v| map(*v)).write_to(&mut values);
        Csr {
            nrows: self.nrows,
            ncols: self.ncols,
            row_ptr: self.row_ptr.clone(),
            col_idx: self.col_idx.clone(),
            values: values.into(),
        }
    }
}

impl<T: Real> Csr<T> {
    /// The same matrix in another value type, rounded to nearest even; the pattern is shared. Imaginary parts of a
    /// complex type are zero.
    #[must_use]
    pub fn cast<U: Scalar>(&self) -> Csr<U> {
        self.with_each_value(|v| U::from_c64(v.to_c64()))
    }

    /// The same matrix in another value type, as [`cast`](Self::cast) makes it, and what became of its
    /// values: how many overflow, vanish or become subnormal. O(nnz), in parallel.
    ///
    /// ```
    /// use girih_formats::{Csr, f16};
    ///
    /// let a = Csr::try_new(1, 3, vec![0, 3], vec![0, 1, 2], vec![1.5f64, 1e6, 1e-9])?;
    /// let (narrow, found) = a.cast_counted::<f16>();
    /// assert_eq!((narrow.values()[1], found.overflowed), (f16::INFINITY, 1));
    /// assert_eq!((narrow.values()[2], found.vanished), (f16::ZERO, 1));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[must_use]
    pub fn cast_counted<U: Scalar>(&self) -> (Csr<U>, Narrowing) {
        (self.cast(), Narrowing::of(&self.values, U::DTYPE))
    }
}

impl<T: ComplexScalar> Csr<T> {
    /// The real parts; the pattern is shared, and entries whose real part is zero stay. O(nnz), in parallel.
    ///
    /// ```
    /// use girih_formats::{Complex, Csr};
    ///
    /// let a = Csr::from_triplets(1, 2, [(0, 1, Complex::new(2.0f64, 3.0))])?;
    /// assert_eq!((a.re().get(0, 1), a.im().get(0, 1)), (Some(2.0), Some(3.0)));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[must_use]
    pub fn re(&self) -> Csr<T::Part> {
        self.with_each_value(T::re)
    }

    /// The imaginary parts, as [`re`](Self::re) gives the real ones.
    #[must_use]
    pub fn im(&self) -> Csr<T::Part> {
        self.with_each_value(T::im)
    }

    /// The same matrix in the other complex type, or its own, rounded to nearest even; the pattern is shared.
    #[must_use]
    pub fn cast_complex<U: ComplexScalar>(&self) -> Csr<U> {
        self.with_each_value(|v| U::from_c64(v.to_c64()))
    }
}
