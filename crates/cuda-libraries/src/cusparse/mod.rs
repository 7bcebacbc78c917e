//! cuSPARSE as a backend.

mod arrays;
mod product;
mod sampled;

use std::sync::{Arc, Mutex, OnceLock};

use girih_backend::{BackendError, Capabilities, PreparedSpmm, ProductShape, Rounding};
use girih_backend::{SpmmBackend, Unsupported, no_complex_samples, with_b_permutation};
use girih_backend_cuda::low_level::{Gpu, refused_by, takes_b_as_it_is};
use girih_backend_cuda::{CudaError, CudaPrepared, DeviceInfo, LibrarySearch};
use girih_formats::{CsrPattern, DType, FormatKind};
use girih_planner::Plan;

use crate::library::{Algorithm, Cusparse, Handle};
use arrays::{SparseArrays, refusal};
use product::{CusparseProduct, Settings};
pub use sampled::CusparseSddmm;

/// The name of the backend.
const NAME: &str = "cusparse";

/// cuSPARSE's algorithms for CSR, `CUSPARSE_SPMM_CSR_ALG1` to `3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CsrAlgorithm {
    /// Made for column-major operands. Sums in an order that may differ from run to run.
    One,
    /// Made for row-major operands. Sums in an order that may differ from run to run.
    Two,
    /// Deterministic, and the only one for f16 and bf16. The fastest where products are narrow; for
    /// wide ones the second often is.
    #[default]
    Three,
}

/// How the backend is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CusparseOptions {
    /// Where the library is looked for.
    pub libraries: LibrarySearch,
    /// The index of the device.
    pub device: usize,
    /// How CSR is multiplied.
    pub csr: CsrAlgorithm,
    /// Whether the library analyses a CSR matrix when it is prepared, for products as wide as the plan
    /// expects with row-major operands; other products go without. It can be faster or slower.
    pub preprocess: bool,
    /// Whether Blocked-ELL in f32 may be multiplied in TF32, as the library does on tensor cores.
    pub tf32: bool,
}

impl CusparseOptions {
    /// With libraries from elsewhere.
    #[must_use]
    pub fn libraries(self, libraries: LibrarySearch) -> Self {
        Self { libraries, ..self }
    }

    /// On another device, by its index.
    #[must_use]
    pub fn device(self, device: usize) -> Self {
        Self { device, ..self }
    }

    /// With another algorithm for CSR.
    #[must_use]
    pub fn csr(self, csr: CsrAlgorithm) -> Self {
        Self { csr, ..self }
    }

    /// With or without an analysis of CSR matrices.
    #[must_use]
    pub fn preprocess(self, preprocess: bool) -> Self {
        Self { preprocess, ..self }
    }

    /// With or without TF32 for f32 in Blocked-ELL.
    #[must_use]
    pub fn tf32(self, tf32: bool) -> Self {
        Self { tf32, ..self }
    }
}

/// Multiplies with NVIDIA's cuSPARSE: plans in CSR, BCSR (its BSR) and Blocked-ELL, of every value
/// type, on a CUDA device.
///
/// CSR may have its rows in any order, tiles must have them in their own; schedules are the library's
/// business. A NaN or Inf in row 0 of B reaches rows of C that hold no entry there, which is the
/// library's doing (12.6, CSR) and no other backend's. Operands have whole blocks of rows
/// ([`CudaPrepared::operand_rows`]), contiguous rows or contiguous columns. Nothing is looked for before
/// it is used; clones share all.
#[derive(Clone, Debug)]
pub struct CusparseBackend(Arc<BackendState>);

#[derive(Debug)]
struct BackendState {
    options: CusparseOptions,
    gpu: OnceLock<Result<Arc<Gpu>, Arc<CudaError>>>,
    library: OnceLock<Result<Arc<Cusparse>, Arc<CudaError>>>,
    handle: OnceLock<Result<Arc<Mutex<Handle>>, Arc<CudaError>>>,
}

impl CusparseBackend {
    /// The backend on a device.
    #[must_use]
    pub fn new(options: CusparseOptions) -> Self {
        Self(Arc::new(BackendState {
            options,
            gpu: OnceLock::new(),
            library: OnceLock::new(),
            handle: OnceLock::new(),
        }))
    }

    /// How it is set up.
    #[must_use]
    pub fn options(&self) -> &CusparseOptions {
        &self.0.options
    }

    /// The library.
    ///
    /// # Errors
    /// If it is nowhere, or too old.
    pub fn library(&self) -> Result<&Arc<Cusparse>, Arc<CudaError>> {
        let load = || Ok(Arc::new(Cusparse::load(&self.0.options.libraries)?));
        self.0.library.get_or_init(|| load().map_err(Arc::new)).as_ref().map_err(Arc::clone)
    }

    /// Prepares a plan for products of device operands; [`prepare`](SpmmBackend::prepare) with the type
    /// known.
    ///
    /// # Errors
    /// If the backend is not available, can't run the plan, or the plan does not fit the device. Nor is
    /// a plan prepared that [permutes](Plan::b_permutation) B, which is done on the host.
    pub fn prepare_device(&self, plan: &Plan) -> Result<CudaPrepared, BackendError> {
        takes_b_as_it_is(plan).map_err(|unsupported| unsupported.by(NAME))?;
        self.prepare_tiles(plan)
    }

    /// Prepares a pattern for sampled products of X and Y with `d` columns of a value type: uploads it, allocates the
    /// library's buffer, and has the pattern analysed. O(nnz).
    ///
    /// # Errors
    /// If the backend is not available, the pattern has 2³¹ entries or more or does not fit the device, or the
    /// library does not sample such values.
    pub fn prepare_sddmm(
        &self,
        pattern: CsrPattern<'_>,
        dtype: DType,
        d: usize,
    ) -> Result<CusparseSddmm, BackendError> {
        if dtype.is_complex() {
            return Err(no_complex_samples(dtype).by(NAME));
        }
        let failed = |error: Arc<CudaError>| refused_by(NAME, error, "prepare the pattern");
        let (gpu, library) = (self.gpu().map_err(failed)?, self.library().map_err(failed)?);
        let handle = self.handle().map_err(failed)?.clone();
        CusparseSddmm::new(gpu, library, handle, pattern, dtype, d)
            .map_err(|error| failed(error.into()))
    }

    /// Prepares the tiles of a plan, whatever their columns are.
    fn prepare_tiles(&self, plan: &Plan) -> Result<CudaPrepared, BackendError> {
        self.supports(plan).map_err(|unsupported| unsupported.by(NAME))?;
        let failed = |error: Arc<CudaError>| refused_by(NAME, error, "prepare the plan");
        let (gpu, library) = (self.gpu().map_err(failed)?, self.library().map_err(failed)?);
        let handle = self.handle().map_err(failed)?;
        let arrays = SparseArrays::new(plan);
        let shape = ProductShape { m: plan.nrows(), k: plan.ncols(), dtype: arrays.dtype };
        let rows = arrays.rows;
        let settings = Settings {
            algorithm: self.algorithm(plan.spec().kind()),
            preprocess: self.0.options.preprocess && plan.spec().kind() == FormatKind::Csr,
            n: plan.options().n,
        };
        let product = CusparseProduct::new(gpu, library, handle.clone(), &arrays, settings)
            .map_err(|error| failed(error.into()))?;
        Ok(CudaPrepared::of_product(NAME, gpu.clone(), shape, rows, Box::new(product)))
    }

    fn gpu(&self) -> Result<&Arc<Gpu>, Arc<CudaError>> {
        let open = || Ok(Arc::new(Gpu::open(self.0.options.device)?));
        self.0.gpu.get_or_init(|| open().map_err(Arc::new)).as_ref().map_err(Arc::clone)
    }

    fn handle(&self) -> Result<&Arc<Mutex<Handle>>, Arc<CudaError>> {
        let start = || {
            let (gpu, library) = (self.gpu()?, self.library()?);
            gpu.bind().map_err(Arc::new)?;
            Ok(Arc::new(Mutex::new(Handle::new(library.clone())?)))
        };
        self.0.handle.get_or_init(start).as_ref().map_err(Arc::clone)
    }

    fn algorithm(&self, kind: FormatKind) -> Algorithm {
        match (kind, self.0.options.csr) {
            (FormatKind::Bcsr, _) => Algorithm::Bsr,
            (FormatKind::BlockedEll, _) => Algorithm::BlockedEll,
            (_, CsrAlgorithm::One) => Algorithm::Csr1,
            (_, CsrAlgorithm::Two) => Algorithm::Csr2,
            (_, CsrAlgorithm::Three) => Algorithm::Csr3,
        }
    }
}

impl SpmmBackend for CusparseBackend {
    fn name(&self) -> &str {
        NAME
    }

    fn capabilities(&self) -> Result<Capabilities, BackendError> {
        let unavailable = |error: Arc<CudaError>| BackendError::Unavailable {
            backend: NAME.to_owned(),
            reason: error.to_string(),
        };
        let DeviceInfo { index, name, .. } = self.gpu().map_err(unavailable)?.info();
        let (major, minor, patch) = self.library().map_err(unavailable)?.version();
        let formats = [FormatKind::Csr, FormatKind::Bcsr, FormatKind::BlockedEll];
        let device = format!("device {index}: {name}, cuSPARSE {major}.{minor}.{patch}");
        Ok(Capabilities::new(formats, DType::ALL, device))
    }

    /// Plans in CSR with rows in any order, of complex values too, and in BCSR and Blocked-ELL with rows in their own.
    fn supports(&self, plan: &Plan) -> Result<(), Unsupported> {
        let CusparseOptions { csr, tf32, .. } = self.0.options;
        let is_half = matches!(plan.dtype(), DType::F16 | DType::Bf16);
        let dtype = plan.dtype();
        let reason = match plan.spec().kind() {
            kind if dtype.is_complex() && kind != FormatKind::Csr => {
                format!("cuSPARSE is called for complex values in CSR here, and these are {dtype}")
            }
            FormatKind::Csr if is_half && csr != CsrAlgorithm::Three => {
                format!("cuSPARSE multiplies {dtype} by its third algorithm for CSR alone")
            }
            FormatKind::BlockedEll if !plan.precision().allows_tf32(dtype) => {
                let precision = plan.precision();
                let reason = format!(
                    "cuSPARSE multiplies f32 in Blocked-ELL in TF32, and products are to be in {precision}"
                );
                return Err(Unsupported::Precision { precision, reason });
            }
            FormatKind::BlockedEll if dtype == DType::F32 && !tf32 => {
                "cuSPARSE multiplies f32 in Blocked-ELL on tensor cores, in TF32, which was not allowed"
                    .to_owned()
            }
            _ => return refusal(plan).map_or(Ok(()), Err),
        };
        Err(Unsupported::ValueType { dtype, reason })
    }

    /// Where tensor cores multiply, f32 is rounded to TF32, by which rule is not documented, and sums
    /// are truncated.
    fn rounding(&self, plan: &Plan) -> Rounding {
        let exact = Rounding::exact_inputs(plan.dtype());
        match (plan.spec().kind(), plan.dtype()) {
            (FormatKind::Csr, _) | (_, DType::F64) | (FormatKind::Bcsr, DType::F32) => exact,
            (_, dtype @ DType::F32) => {
                Rounding::tensor_cores(dtype, 0.5f64.powi(10), TENSOR_CORE_UNIT)
            }
            (_, dtype) => Rounding::tensor_cores(dtype, 0.0, TENSOR_CORE_UNIT),
        }
    }

    /// Uploads the plan's tiles and allocates the library's buffer: O(nnz).
    fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
        with_b_permutation(NAME, plan, Box::new(self.prepare_tiles(plan)?))
    }
}

/// The relative error of an addition in a tensor core, which keeps one or two bits below those of f32
/// and truncates: 2⁻²².
pub(crate) const TENSOR_CORE_UNIT: f64 = 1.0 / 4_194_304.0;
