//! Sampled products: `S = α·(X·Yᵀ) ⊙ pattern + β·S`.

use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, SampledShape, SddmmBackend, check_sddmm,
    no_complex_samples,
};
use girih_formats::{CsrPattern, DType, RealNumber, Scalar};
use girih_planner::DeviceSpec;
use ndarray::{ArrayView2, CowArray, Ix2};

use crate::kernels::{CpuScalar, Kernels, check_value_type};
use crate::thresholds::{THREADS_GRAIN, THREADS_SAMPLED, THREADS_SHARED};
use crate::{CpuBackend, NAME};

/// Runs on the threads of products, in tasks of equally many entries. Rows of X and Y with unit stride are read in
/// place; others are copied first. The bits are the same on every instruction set that fuses multiply and add.
impl SddmmBackend for CpuBackend {
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
            DType::F32 => typed::<f32>,
            #[cfg(feature = "f64")]
            DType::F64 => typed::<f64>,
            #[cfg(feature = "half")]
            DType::F16 => typed::<half::f16>,
            #[cfg(feature = "half")]
            DType::Bf16 => typed::<half::bf16>,
            dtype @ (DType::C32 | DType::C64) => return Err(no_complex_samples(dtype).by(NAME)),
            #[cfg(not(all(feature = "f64", feature = "half")))]
            dtype => return check_value_type(dtype).map_err(|unsupported| unsupported.by(NAME)),
        };
        run(self, pattern, alpha, x, y, beta, s);
        Ok(())
    }

    /// The time on this CPU with all of its cores.
    fn sddmm_estimate(&self, shape: &SampledShape) -> Result<Option<f64>, BackendError> {
        check_value_type(shape.dtype).map_err(|unsupported| unsupported.by(NAME))?;
        Ok(Some(shape.seconds_on(&DeviceSpec::this_cpu())))
    }
}

fn typed<T: CpuScalar + DenseScalar>(
    backend: &CpuBackend,
    pattern: CsrPattern<'_>,
    alpha: f64,
    x: DenseView<'_>,
    y: DenseView<'_>,
    beta: f64,
    s: DenseViewMut<'_>,
) {
    let (Some(x), Some(y), Some(mut s)) = (T::view(x), T::view(y), T::acc_view_mut(s)) else {
        unreachable!("the operands' types were checked")
    };
    let (alpha, beta) = (T::Acc::from_f64(alpha), T::Acc::from_f64(beta));
    let mut s = s.column_mut(0);
    if s.is_empty() {
        return;
    }
    if alpha.is_zero() {
        return s.mapv_inplace(|s| if beta.is_zero() { T::Acc::ZERO } else { beta * s });
    }
    let (x, y) = (unit_stride(&x), unit_stride(&y));
    let kernels = Kernels::<T>::new(backend.isa());
    let entries = |first, s: &mut [_]| {
        kernels.sampled(pattern, [&x.view(), &y.view()], [alpha, beta], first, s);
    };
    let work_each = x.ncols() + THREADS_SAMPLED;
    let sample = |s: &mut [_]| match s.len().saturating_mul(work_each) < THREADS_SHARED {
        true => entries(0, s),
        false => {
            let len = (THREADS_GRAIN / work_each).max(1);
            backend.team().for_each_chunk(s, len, |task, s| entries(task * len, s));
        }
    };
    match s.as_slice_mut() {
        Some(s) => sample(s),
        None => {
            let mut copy = s.to_vec();
            sample(&mut copy);
            s.iter_mut().zip(copy).for_each(|(to, from)| *to = from);
        }
    }
}

/// The same matrix, with the elements of each row next to each other: copied where they are not.
fn unit_stride<'a, T: Scalar>(x: &ArrayView2<'a, T>) -> CowArray<'a, T, Ix2> {
    match x.ncols() < 2 || x.strides()[1] == 1 {
        true => CowArray::from(*x),
        false => CowArray::from(x.as_standard_layout().into_owned()),
    }
}
