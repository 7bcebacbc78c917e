//! Sampled products: the gradient of a product by A's values.

use std::sync::LazyLock;

use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, SampledShape, Samplers, SddmmBackend, zeros,
};
use girih_formats::{Csr, Scalar};

use super::{Operand, SpmmError};

/// Seconds on the processor below which no device is opened: that takes longer.
const WORTH_A_DEVICE: f64 = 0.01;

/// The samplers that need nothing but the processor.
static ON_HOST: LazyLock<Samplers> = LazyLock::new(crate::host_samplers);

/// The [`samplers`](crate::samplers) of this machine.
static HERE: LazyLock<Samplers> = LazyLock::new(|| {
    let samplers = crate::host_samplers();
    #[cfg(feature = "cuda")]
    let samplers = samplers.prefer("cuda", super::DEVICE.clone());
    samplers
});

/// The backend that samples a product of operands on the host.
fn sampler(shape: &SampledShape) -> Result<&'static dyn SddmmBackend, BackendError> {
    let on_host = ON_HOST.best_for(shape)?;
    let is_short = on_host.estimates.iter().any(|one| one.seconds < WORTH_A_DEVICE);
    Ok(if is_short { on_host.backend } else { HERE.best_for(shape)?.backend })
}

/// `(X·Yᵀ) ⊙ pattern(A)`: a matrix with the entries of A, whose values are inner products of rows of X (m×d)
/// and Y (k×d).
///
/// The values of A do not count. The pattern is shared with A. O(nnz·d), with the rounding of products: values have
/// the accumulation type.
///
/// The backend of this machine samples that is estimated fastest, copies to a device and back included, as
/// [`Samplers::best_for`] chooses among [`samplers`](crate::samplers). No device is opened for what takes the CPU less
/// than 10 ms. For operands on a device, or one pattern again and again, `CudaBackend::prepare_sddmm` keeps the
/// pattern there.
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
/// If X or Y has another number of rows than A has rows or columns, or the two differ in columns;
/// [`BackendError::NoBackend`] if none can sample here, and what the chosen one fails for.
#[expect(clippy::needless_pass_by_value, reason = "operands are references and views")]
pub fn sddmm<A, T, X, Y>(a: &Csr<A>, x: X, y: Y) -> Result<Csr<T::Acc>, SpmmError>
where
    A: Scalar,
    T: DenseScalar,
    X: Operand<Value = T>,
    Y: Operand<Value = T>,
{
    let mut s = zeros("S", (a.nnz(), 1))?;
    let into = T::erase_acc_mut(s.view_mut());
    let (x, y) = (T::erase(x.matrix()), T::erase(y.matrix()));
    let shape = SampledShape::of(a.pattern(), x.dim().1, x.dtype());
    sampler(&shape)?.sddmm(a.pattern(), 1.0, x, y, 0.0, into)?;
    let values = s.into_raw_vec_and_offset().0;
    Ok(a.with_values(values)?)
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
/// As [`SddmmBackend::sddmm`] of the backend that [`sddmm`] would choose, and [`BackendError::NoBackend`].
pub fn sddmm_into<'x, 'y, 's, A: Scalar>(
    a: &Csr<A>,
    alpha: f64,
    x: impl Into<DenseView<'x>>,
    y: impl Into<DenseView<'y>>,
    beta: f64,
    s: impl Into<DenseViewMut<'s>>,
) -> Result<(), BackendError> {
    let (x, y) = (x.into(), y.into());
    let shape = SampledShape::of(a.pattern(), x.dim().1, x.dtype());
    sampler(&shape)?.sddmm(a.pattern(), alpha, x, y, beta, s.into())
}

#[cfg(test)]
mod tests {
    use girih_formats::DType;

    use super::*;

    #[test]
    fn short_products_ask_for_no_device_and_long_ones_for_the_fastest() {
        let a = Csr::<f32>::identity(10).unwrap();
        let small = SampledShape::of(a.pattern(), 8, DType::F32);
        let mut large = small;
        (large.nnz, large.d) = (1 << 30, 1 << 10);
        // Nothing is sampled: the choice alone is looked at.
        for (shape, samplers) in [(small, &ON_HOST), (large, &HERE)] {
            let expected = samplers.best_for(&shape).unwrap().backend;
            let chosen = sampler(&shape).unwrap();
            assert!(std::ptr::addr_eq(chosen, expected), "{shape:?}: {chosen:?}");
        }
    }
}
