//! What multiplies on a device, and what the device can reach.

use std::sync::Arc;

use girih::backend::BackendError;
use girih::cuda::low_level::takes_b_as_it_is;
use girih::cuda::{CudaError, CudaPrepared, DeviceInfo};
use girih::formats::for_any_tiling;
use girih::{
    CudaBackend, CudaOptions, DType, DeviceSpec, FormatKind, FormatSpec, Plan, Rounding,
    SpmmBackend, Tiling,
};
use girih_cuda_libraries::{
    CsrAlgorithm, CublasLt, CublasLtOptions, CudaRoofline, CusparseBackend, CusparseOptions,
    DenseYardstick,
};

/// A backend or library that multiplies operands on a device.
#[derive(Debug)]
pub(crate) enum Device {
    Cuda(CudaBackend),
    Cusparse(CusparseBackend),
    /// The dense product of A with all its zeros.
    Dense(DenseYardstick, CublasLtOptions),
}

impl Device {
    /// cuSPARSE with each of its algorithms for CSR, the deterministic one with and without an analysis.
    pub(crate) fn cusparse(options: &CudaOptions) -> Vec<Self> {
        let ways = [
            (CsrAlgorithm::One, false),
            (CsrAlgorithm::Two, false),
            (CsrAlgorithm::Three, false),
            (CsrAlgorithm::Three, true),
        ];
        let way = |(csr, preprocess)| {
            Self::Cusparse(CusparseBackend::new(
                CusparseOptions::default()
                    .libraries(options.libraries.clone())
                    .device(options.device)
                    .csr(csr)
                    .preprocess(preprocess)
                    .tf32(true),
            ))
        };
        ways.map(way).into()
    }

    /// cuBLASLt in f32 and, for f32, in TF32.
    pub(crate) fn dense(options: &CudaOptions) -> Vec<Self> {
        let way = |tf32| {
            let (libraries, device) = (options.libraries.clone(), options.device);
            let options = CublasLtOptions::default().libraries(libraries).device(device).tf32(tf32);
            Self::Dense(DenseYardstick::new(options.clone()), options)
        };
        [false, true].map(way).into()
    }

    /// The device that girih's own kernels run on, as planners know it; `None` for others' kernels.
    pub(crate) fn gpu(&self) -> Option<Result<DeviceSpec, BackendError>> {
        let Self::Cuda(backend) = self else { return None };
        Some(backend.device().map(DeviceInfo::spec).map_err(|error| BackendError::Unavailable {
            backend: backend.name().to_owned(),
            reason: error.to_string(),
        }))
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Cuda(backend) => backend.name(),
            Self::Cusparse(backend) => backend.name(),
            Self::Dense(..) => "cublaslt",
        }
    }

    /// Which of several ways it multiplies a format in.
    pub(crate) fn way(&self, spec: FormatSpec, dtype: DType) -> Option<&'static str> {
        match self {
            Self::Cuda(_) => None,
            Self::Cusparse(backend) => {
                let CusparseOptions { csr, preprocess, .. } = backend.options();
                match (spec.kind(), dtype, csr, preprocess) {
                    (FormatKind::Csr, _, CsrAlgorithm::One, _) => Some("csr 1"),
                    (FormatKind::Csr, _, CsrAlgorithm::Two, _) => Some("csr 2"),
                    (FormatKind::Csr, _, CsrAlgorithm::Three, false) => Some("csr 3"),
                    (FormatKind::Csr, _, CsrAlgorithm::Three, true) => Some("csr 3 analysed"),
                    (FormatKind::BlockedEll, DType::F32, ..) => Some("tf32"),
                    _ => None,
                }
            }
            Self::Dense(_, options) => (options.tf32 && dtype == DType::F32).then_some("tf32"),
        }
    }

    /// Describes the device, for people.
    ///
    /// # Errors
    /// If it can't run.
    pub(crate) fn describe(&self) -> Result<String, BackendError> {
        match self {
            Self::Cuda(backend) => Ok(backend.capabilities()?.device),
            Self::Cusparse(backend) => Ok(backend.capabilities()?.device),
            Self::Dense(dense, _) => dense.describe().map_err(|error| {
                let (backend, reason) = (self.name().to_owned(), error.to_string());
                BackendError::Unavailable { backend, reason }
            }),
        }
    }

    /// Whether this is another way of what one of its siblings does with such plans.
    pub(crate) fn repeats(&self, plan: &Plan) -> bool {
        let (kind, dtype) = (plan.spec().kind(), plan.dtype());
        match self {
            Self::Cuda(_) => false,
            Self::Cusparse(backend) => {
                let CusparseOptions { csr, preprocess, .. } = *backend.options();
                let is_half = matches!(dtype, DType::F16 | DType::Bf16);
                match kind {
                    FormatKind::Csr => is_half && csr != CsrAlgorithm::Three,
                    _ => csr != CsrAlgorithm::Three || preprocess,
                }
            }
            Self::Dense(_, options) => {
                kind != FormatKind::Csr || (options.tf32 && dtype != DType::F32)
            }
        }
    }

    /// Why it can't multiply a plan by operands on the device, if so.
    pub(crate) fn refusal(&self, plan: &Plan) -> Option<String> {
        let supported = match self {
            Self::Cuda(backend) => backend.supports(plan),
            Self::Cusparse(backend) => backend.supports(plan),
            Self::Dense(_, options) => {
                let (dtype, precision) = (plan.dtype(), plan.precision());
                return (options.tf32 && !precision.allows_tf32(dtype)).then(|| {
                    format!("it rounds f32 to TF32, and products are to be in {precision}")
                });
            }
        };
        supported.and_then(|()| takes_b_as_it_is(plan)).err().map(|error| error.to_string())
    }

    pub(crate) fn rounding(&self, plan: &Plan) -> Rounding {
        match self {
            Self::Cuda(backend) => backend.rounding(plan),
            Self::Cusparse(backend) => backend.rounding(plan),
            Self::Dense(dense, _) => dense.rounding(plan.dtype()),
        }
    }

    pub(crate) fn prepare(&self, plan: &Plan) -> Result<CudaPrepared, BackendError> {
        match self {
            Self::Cuda(backend) => backend.prepare_device(plan),
            Self::Cusparse(backend) => backend.prepare_device(plan),
            Self::Dense(dense, _) => dense.prepare_device(plan),
        }
    }
}

/// Why a case is passed over: it takes too much of the device's memory, or a library does not support it.
/// `None` for other errors, which end the benchmark.
pub(crate) fn skip_reason(error: &BackendError) -> Option<String> {
    let BackendError::Failed { source, .. } = error else { return None };
    let error = source.downcast_ref::<Arc<CudaError>>()?;
    let skips = match &**error {
        CudaError::Memory { .. } => true,
        CudaError::Library { unsupported, .. } => *unsupported,
        _ => false,
    };
    skips.then(|| error.to_string())
}

/// Measures a device; tensor cores too, where cuBLASLt is there.
///
/// # Errors
/// If the device or the compiler is missing.
pub(crate) fn roofline(options: CudaOptions) -> Result<CudaRoofline, BackendError> {
    let dense = CublasLt::load(&options.libraries).ok().map(Arc::new);
    CudaRoofline::measure(&CudaBackend::new(options), dense.as_ref())
}

/// Rows of B that a product reads, each counted as often as a tile names it. `None` for formats whose
/// tiles do not say.
pub(crate) fn named_rows(plan: &Plan) -> Option<u64> {
    let tiling = plan.tiling();
    let per_tile = match plan.spec().kind() {
        FormatKind::BMat | FormatKind::TwoFour => return None,
        FormatKind::Hybrid => {
            return for_any_tiling!(tiling, tiling => match tiling {
                Tiling::Hybrid(a) => Some((a.packed_cols() + a.col_idx().len()) as u64),
                _ => None,
            });
        }
        _ => plan.spec().tile().cols,
    };
    Some(tiling.tile_ptr(tiling.n_windows()) * per_tile as u64)
}

#[cfg(test)]
mod tests {
    use girih::{Csr, RowLayout};

    use super::*;

    #[test]
    fn rows_of_b_are_counted_by_tile() {
        let a = Csr::try_new(3, 5, vec![0, 2, 3, 4], vec![0, 4, 1, 0], vec![1.0f32; 4]).unwrap();
        let rows = |spec, window| {
            let layout = RowLayout::natural(3, window).unwrap();
            named_rows(&Plan::from_tiling(Tiling::from_csr(&a, spec, layout).unwrap()))
        };
        assert_eq!(rows(FormatSpec::Csr, 1), Some(4));
        // Blocks (0, 0), (0, 2), (1, 0).
        assert_eq!(rows(FormatSpec::Bcsr { block_rows: 2, block_cols: 2 }, 2), Some(6));
        // Columns {0, 1, 4} and {0}, each padded to 2.
        assert_eq!(rows(FormatSpec::Wcsr { window_rows: 2, pad_cols: 2 }, 2), Some(6));
        assert_eq!(rows(FormatSpec::TwoFour, 1), None);
    }

    #[test]
    fn each_way_is_a_case_where_it_differs() {
        let options = CudaOptions::default();
        let a = Csr::try_new(1, 1, vec![0, 1], vec![0], vec![half::bf16::ONE]).unwrap();
        let layout = RowLayout::natural(1, 1).unwrap();
        let plan = |spec| Plan::from_tiling(Tiling::from_csr(&a, spec, layout.clone()).unwrap());
        let cases = |devices: Vec<Device>, plan: &Plan| {
            devices.iter().filter(|device| !device.repeats(plan)).count()
        };
        let csr = plan(FormatSpec::Csr);
        let bcsr = plan(FormatSpec::Bcsr { block_rows: 1, block_cols: 1 });
        assert_eq!(cases(Device::cusparse(&options), &csr), 2);
        assert_eq!(cases(Device::cusparse(&options), &bcsr), 1);
        assert_eq!(cases(Device::dense(&options), &csr), 1);
        assert_eq!(cases(Device::dense(&options), &bcsr), 0);
    }
}
