//! Sampled products: `S = α·(X·Yᵀ) ⊙ pattern + β·S`, the gradient of a product by A's values.

use std::fmt::Debug;

use girih_formats::{CsrPattern, DType, Real, RealNumber};
use half::{bf16, f16};
use ndarray::{ArrayView2, ArrayViewMut2};

use crate::dense::{DenseScalar, DenseView, DenseViewMut};
use crate::error::{BackendError, Unsupported};
use crate::reference::{NAME, ReferenceBackend};
use crate::sampled_shape::SampledShape;
use crate::shape::check;
use crate::verify::Rounding;

/// A backend that multiplies two dense matrices where a sparse pattern has entries.
///
/// `S = α·(X·Yᵀ) ⊙ pattern + β·S`: entry (i, j) of S is the inner product of row `i` of X and row `j` of Y.
/// It is the gradient of `A·B` by the values of A, with X the gradient by C and Y = B; and the scores of
/// attention along the edges of a graph.
pub trait SddmmBackend: Debug + Send + Sync {
    /// Computes S, whose entries are one column, in the order of the pattern.
    ///
    /// X is m×d and Y k×d, both of one value type, and S has its accumulation type; all may have any strides.
    /// With `β = 0`, S is written without being read; with `α = 0`, neither X nor Y is read. The result has
    /// the same bits on any number of threads. NaN and Inf reach S exactly where the pattern has an entry.
    ///
    /// # Errors
    /// If a shape or a value type does not fit; S is then unchanged.
    fn sddmm(
        &self,
        pattern: CsrPattern<'_>,
        alpha: f64,
        x: DenseView<'_>,
        y: DenseView<'_>,
        beta: f64,
        s: DenseViewMut<'_>,
    ) -> Result<(), BackendError>;

    /// How it rounds entries of a value type, which decides how far they may be from exact ones: the default takes
    /// X and Y as they are, and rounds sums to nearest.
    fn sddmm_rounding(&self, dtype: DType) -> Rounding {
        Rounding::exact_inputs(dtype)
    }

    /// Seconds that a product of operands on the host is estimated to take, copies included: what
    /// [`Samplers`](crate::Samplers) choose by. `None`, the default, where nothing is known.
    ///
    /// # Errors
    /// Why it can't sample at all on this machine, or not such values.
    fn sddmm_estimate(&self, _: &SampledShape) -> Result<Option<f64>, BackendError> {
        Ok(None)
    }
}

/// Checks the operands of a sampled product and gives d. Every backend calls this before it writes anything.
///
/// # Errors
/// [`BackendError::Shape`] or [`BackendError::DType`] naming the operand: X before Y before S.
pub fn check_sddmm(
    pattern: CsrPattern<'_>,
    x: &DenseView<'_>,
    y: &DenseView<'_>,
    s: &DenseViewMut<'_>,
) -> Result<usize, BackendError> {
    let (d, dtype) = (x.dim().1, x.dtype());
    check("X", x.dim(), (pattern.nrows(), d), dtype, dtype)?;
    check("Y", y.dim(), (pattern.ncols(), d), y.dtype(), dtype)?;
    check("S", s.dim(), (pattern.nnz(), 1), s.dtype(), dtype.accumulator())?;
    Ok(d)
}

/// One thread, sums in f64, rounded once.
impl SddmmBackend for ReferenceBackend {
    fn sddmm(
        &self,
        pattern: CsrPattern<'_>,
        alpha: f64,
        x: DenseView<'_>,
        y: DenseView<'_>,
        beta: f64,
        s: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        check_sddmm(pattern, &x, &y, &s)?;
        let run = match x.dtype() {
            DType::F16 => sample_any::<f16>,
            DType::Bf16 => sample_any::<bf16>,
            DType::F32 => sample_any::<f32>,
            DType::F64 => sample_any::<f64>,
            dtype @ (DType::C32 | DType::C64) => return Err(no_complex_samples(dtype).by(NAME)),
        };
        run(pattern, alpha, x, y, beta, s);
        Ok(())
    }
}

/// Why sampled products are of real values: what every backend says.
#[must_use]
pub fn no_complex_samples(dtype: DType) -> Unsupported {
    let reason = format!("products are sampled in real value types only, and values are {dtype}");
    Unsupported::ValueType { dtype, reason }
}

fn sample_any<T: DenseScalar + Real>(
    pattern: CsrPattern<'_>,
    alpha: f64,
    x: DenseView<'_>,
    y: DenseView<'_>,
    beta: f64,
    s: DenseViewMut<'_>,
) {
    let (Some(x), Some(y), Some(s)) = (T::view(x), T::view(y), T::acc_view_mut(s)) else {
        unreachable!("the operands' types were checked")
    };
    sample(pattern, alpha, &x, &y, beta, s);
}

fn sample<T: DenseScalar + Real>(
    pattern: CsrPattern<'_>,
    alpha: f64,
    x: &ArrayView2<'_, T>,
    y: &ArrayView2<'_, T>,
    beta: f64,
    mut s: ArrayViewMut2<'_, T::Acc>,
) {
    for i in 0..pattern.nrows() {
        for at in pattern.row_range(i) {
            let mut sum = 0.0;
            if alpha != 0.0 {
                let (x, y) = (x.row(i), y.row(pattern.col_idx()[at] as usize));
                sum = alpha * x.iter().zip(y).map(|(x, y)| x.to_f64() * y.to_f64()).sum::<f64>();
            }
            let out = &mut s[[at, 0]];
            let before = if beta == 0.0 { 0.0 } else { beta * out.to_f64() };
            *out = T::Acc::from_f64(sum + before);
        }
    }
}
