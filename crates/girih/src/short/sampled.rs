//! Sampled products: the gradient of a product by A's values.

use girih_backend::ndarray::Array2;
use girih_backend::{BackendError, DenseScalar, DenseView, DenseViewMut, SddmmBackend};
use girih_formats::{Csr, Scalar};

use super::{Operand, SpmmError};

/// The backend that samples: the CPU's where this build has it.
#[cfg(feature = "cpu")]
fn sampler() -> impl SddmmBackend {
    girih_backend_cpu::CpuBackend::new()
}

#[cfg(not(feature = "cpu"))]
fn sampler() -> impl SddmmBackend {
    girih_backend::ReferenceBackend
}

/// `(X·Yᵀ) ⊙ pattern(A)`: a matrix with the entries of A, whose values are inner products of rows of X (m×d)
/// and Y (k×d).
///
/// The values of A do not count. The pattern is shared with A. O(nnz·d), on the CPU, with the rounding of
/// products: values have the accumulation type.
///
/// ```
/// use girih::ndarray::array;
/// use girih::prelude::*;
///
/// // The gradient of the sum of G ⊙ (A·B) by the values of A.
/// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let (g, b) = (array![[1.0f32, 2.0], [3.0, 4.0]], array![[1.0f32, 0.0], [0.0, 1.0], [1.0, 1.0]]);
/// let by_values = girih::sddmm(&a, &g, &b)?;
/// assert_eq!((by_values.row(0), by_values.row(1)), ((&[0, 2][..], &[1.0, 3.0][..]), (&[1][..], &[4.0][..])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If X or Y has another number of rows than A has rows or columns, or the two differ in columns.
#[expect(clippy::needless_pass_by_value, reason = "operands are references and views")]
pub fn sddmm<A, T, X, Y>(a: &Csr<A>, x: X, y: Y) -> Result<Csr<T::Acc>, SpmmError>
where
    A: Scalar,
    T: DenseScalar,
    X: Operand<Value = T>,
    Y: Operand<Value = T>,
{
    let mut s = Array2::from_elem((a.nnz(), 1), T::Acc::ZERO);
    let into = T::erase_acc_mut(s.view_mut());
    let (x, y) = (T::erase(x.matrix()), T::erase(y.matrix()));
    sampler().sddmm(a.pattern(), 1.0, x, y, 0.0, into)?;
    let values = s.into_raw_vec_and_offset().0;
    Ok(a.with_values(values).map_err(girih_planner::PlanError::from)?)
}

/// `S = α·(X·Yᵀ) ⊙ pattern(A) + β·S`, where `s` holds the values of S in the order of A's entries.
///
/// ```
/// use girih::prelude::*;
///
/// let a = Csr::from_triplets(2, 2, [(0, 1, 0.0f64), (1, 0, 0.0)])?;
/// let (x, y, mut s) = ([1.0, 2.0], [3.0, 4.0], [100.0, 200.0]);
/// girih::sddmm_into(&a, 10.0, &x[..], &y[..], 1.0, &mut s[..])?;
/// assert_eq!(s, [140.0, 260.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`SddmmBackend::sddmm`].
pub fn sddmm_into<'x, 'y, 's, A: Scalar>(
    a: &Csr<A>,
    alpha: f64,
    x: impl Into<DenseView<'x>>,
    y: impl Into<DenseView<'y>>,
    beta: f64,
    s: impl Into<DenseViewMut<'s>>,
) -> Result<(), BackendError> {
    sampler().sddmm(a.pattern(), alpha, x.into(), y.into(), beta, s.into())
}
