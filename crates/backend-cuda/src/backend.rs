//! The backend: what it can do, and how a plan is prepared.

use std::sync::{Arc, OnceLock};

use cudarc::driver::CudaContext;
use girih_backend::{
    Aggregation, BackendError, Capabilities, DenseView, DenseViewMut, Epilogue, Lowering,
    PreparedSpmm, Rounding, SampledShape, SddmmBackend, SpmmBackend, Unsupported,
    b_permutation_lowering, check_sddmm, no_complex_samples, with_b_permutation,
};
use girih_formats::{CsrPattern, DType};
use girih_planner::cost::{seconds_on, transfer_seconds};
use girih_planner::{DeviceSpec, Plan};

use crate::ablation::Variant;
use crate::device::{Gpu, LoadedKernel, LoadedKernels, load_entries, machine};
use crate::error::{Arch, refused};
use crate::jit::Jit;
use crate::kernels::sm90_dense_gemm::FullBlocks;
use crate::kernels::{self, Kernel, csr_sddmm, csr_spmm, supported};
use crate::launch::Machine;
use crate::prepared::sddmm_layout::Choice;
use crate::prepared::{self, Launched, Multiplier, Source, device_plan};
use crate::{
    CsrLayout, CtaOrder, CudaError, CudaOptions, CudaPrepared, CudaSddmm, DeviceInfo, NAME,
    SddmmLayout,
};

/// Multiplies on a CUDA device.
///
/// Making one costs nothing and needs nothing; the driver, the device and the compiler are looked for
/// when its [capabilities](SpmmBackend::capabilities) are read or a plan is prepared.
///
/// Clones share the device and the kernels.
#[derive(Clone, Debug)]
pub struct CudaBackend(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    index: usize,
    csr_layout: Option<CsrLayout>,
    cta_order: Option<CtaOrder>,
    jit: Arc<Jit>,
    gpu: OnceLock<Result<Arc<Gpu>, Arc<CudaError>>>,
    loaded: LoadedKernels,
}

impl CudaBackend {
    /// The backend on a device.
    #[must_use]
    pub fn new(options: CudaOptions) -> Self {
        let CudaOptions { libraries, cache, sources, device, csr_layout, cta_order } = options;
        Self(Arc::new(Shared {
            index: device,
            csr_layout,
            cta_order,
            jit: Jit::new(libraries, cache, sources).into(),
            gpu: OnceLock::new(),
            loaded: LoadedKernels::default(),
        }))
    }

    /// What the device is.
    ///
    /// # Errors
    /// If there is no driver or no such device.
    pub fn device(&self) -> Result<&DeviceInfo, Arc<CudaError>> {
        Ok(&self.gpu()?.info)
    }

    /// The device's context, to allocate operands in.
    ///
    /// # Errors
    /// If there is no driver or no such device.
    pub fn context(&self) -> Result<&Arc<CudaContext>, Arc<CudaError>> {
        Ok(&self.gpu()?.context)
    }

    /// The compiler and its cache.
    #[must_use]
    pub fn jit(&self) -> &Jit {
        &self.0.jit
    }

    /// Prepares a plan for products of device operands; [`prepare`](SpmmBackend::prepare) with the type
    /// known.
    ///
    /// # Errors
    /// If the backend is not available, can't run the plan, or the plan does not fit the device. Nor is
    /// a plan prepared that [permutes](Plan::b_permutation) B, which is done on the host.
    pub fn prepare_device(&self, plan: &Plan) -> Result<CudaPrepared, BackendError> {
        self.prepare_device_with(plan, FullBlocks::Fastest)
    }

    /// [`prepare_device`](Self::prepare_device), and what multiplies a plan in BCSR whose blocks are all
    /// there is the caller's choice: to measure one kernel, or one configuration, beside another.
    ///
    /// # Errors
    /// As for `prepare_device`; a configuration for other value types does not compile.
    pub fn prepare_device_with(
        &self,
        plan: &Plan,
        full: FullBlocks,
    ) -> Result<CudaPrepared, BackendError> {
        supported::takes_b_as_it_is(plan).map_err(|unsupported| unsupported.by(NAME))?;
        self.prepare_tiles(plan, full)
    }

    /// Prepares a pattern for sampled products of X and Y of a value type: compiles the kernel, unless the cache
    /// has it, and uploads the pattern. O(rows + nnz · log). For loops that sample one pattern again and again.
    ///
    /// Entries are shared out in the [layout](SddmmLayout) that is estimated to be faster for 64 columns of X and Y;
    /// [`CudaSddmm::lowering`] says which.
    ///
    /// # Errors
    /// If the backend is not available, values are complex, or the pattern does not fit the device.
    pub fn prepare_sddmm(
        &self,
        pattern: CsrPattern<'_>,
        dtype: DType,
    ) -> Result<CudaSddmm, BackendError> {
        self.prepare_sddmm_in(pattern, dtype, &SddmmLayout::default())
    }

    /// [`prepare_sddmm`](Self::prepare_sddmm) in a layout of the caller's choice, or for another number of columns.
    ///
    /// # Errors
    /// As for `prepare_sddmm`; [`BackendError::Unsupported`] if windows are requested of a value type or on a device
    /// that there is no kernel of them for, or if they are not of 16 of the pattern's rows.
    pub fn prepare_sddmm_in(
        &self,
        pattern: CsrPattern<'_>,
        dtype: DType,
        layout: &SddmmLayout,
    ) -> Result<CudaSddmm, BackendError> {
        if dtype.is_complex() {
            return Err(no_complex_samples(dtype).by(NAME));
        }
        let failed = |error: Arc<CudaError>| refused(error, "prepare the pattern");
        let gpu = self.gpu().map_err(failed)?;
        let choice = Choice::of(pattern, dtype, gpu.info.arch, layout);
        let choice = choice.map_err(|unsupported| unsupported.by(NAME))?;
        let kernel = self.load(&choice.kernel(dtype)).map_err(failed)?;
        CudaSddmm::new(gpu.clone(), kernel, pattern, dtype, choice)
            .map_err(|error| failed(error.into()))
    }

    /// [`prepare_device`](Self::prepare_device), for products by a step of an [ablation](crate::ablation). Rows of
    /// B must begin on 16 bytes and be contiguous; of other B, products may take what they would without it.
    ///
    /// # Errors
    /// As for `prepare_device`, and if the variant is not for the format and value type of the plan.
    pub fn prepare_variant(
        &self,
        plan: &Plan,
        variant: Variant,
    ) -> Result<CudaPrepared, BackendError> {
        supported::takes_b_as_it_is(plan)
            .and_then(|()| variant.supports(plan))
            .map_err(|unsupported| unsupported.by(NAME))?;
        self.prepare_by(plan, variant.into())
    }

    /// How products by a step of an ablation round: as those of [plans](SpmmBackend::rounding) do, but for steps that
    /// leave sums of e4m3 to tensor cores.
    #[must_use]
    pub fn variant_rounding(&self, plan: &Plan, variant: Variant) -> Rounding {
        prepared::rounding(plan, Some(variant))
    }

    /// Prepares the tiles of a plan, whatever their columns are.
    fn prepare_tiles(&self, plan: &Plan, full: FullBlocks) -> Result<CudaPrepared, BackendError> {
        self.prepare_by(plan, full.into())
    }

    fn prepare_by(
        &self,
        plan: &Plan,
        multiplier: Multiplier,
    ) -> Result<CudaPrepared, BackendError> {
        self.supports(plan).map_err(|unsupported| unsupported.by(NAME))?;
        let failed = |error: Arc<CudaError>| refused(error, "prepare the plan");
        let gpu = self.gpu().map_err(failed)?;
        let machine = self.machine(&gpu.info.spec());
        let device_plan = device_plan(plan, machine, multiplier);
        let kernels: Vec<_> =
            device_plan.kernels.iter().map(|kernel| self.kernel(gpu, kernel)).collect();
        let entries = device_plan.entries(plan.options().n);
        let entries = entries.map_err(|error| failed(error.into()))?;
        load_entries(&kernels, &entries).map_err(failed)?;
        let shape = device_plan.shape;
        let product = Launched::new(gpu, self.clone(), kernels, device_plan)
            .map_err(|error| failed(error.into()))?;
        let source = Source::new(plan, machine, multiplier);
        Ok(CudaPrepared::launched(gpu.clone(), shape, product, source))
    }

    /// What of a device decides launches.
    fn machine(&self, device: &DeviceSpec) -> Machine {
        let &DeviceSpec { workers: multiprocessors, cache_bytes, .. } = device;
        let [memory_bandwidth, cache_bandwidth] =
            [device.memory_bandwidth, device.cache_bandwidth].map(|rate| rate as u64);
        Machine {
            multiprocessors,
            cache_bytes,
            memory_bandwidth,
            cache_bandwidth,
            csr_layout: self.0.csr_layout,
            cta_order: self.0.cta_order,
            copies_b: true,
        }
    }

    /// The device itself, for [products of one's own](crate::low_level).
    ///
    /// # Errors
    /// If there is no driver or no such device.
    pub fn gpu(&self) -> Result<&Arc<Gpu>, Arc<CudaError>> {
        let opened = self.0.gpu.get_or_init(|| match Gpu::open(self.0.index) {
            Ok(gpu) => Ok(Arc::new(gpu)),
            Err(error) => Err(Arc::new(error)),
        });
        opened.as_ref().map_err(Arc::clone)
    }

    /// A kernel in one configuration on the device, with all its entry points: loaded before, or from the cache, or
    /// compiled now.
    ///
    /// # Errors
    /// If there is no device, if the kernel is not in the cache and there is no compiler or it does not compile,
    /// or if the driver refuses.
    pub fn load(&self, kernel: &Kernel) -> Result<Arc<LoadedKernel>, Arc<CudaError>> {
        let kernel = self.kernel(self.gpu()?, kernel);
        kernel.load_all()?;
        Ok(kernel)
    }

    /// A kernel in one configuration on the device, whose entry points are loaded when they are first needed.
    pub(crate) fn kernel(&self, gpu: &Arc<Gpu>, kernel: &Kernel) -> Arc<LoadedKernel> {
        self.0.loaded.get(kernel, &self.0.jit, gpu)
    }

    /// Whether kernels can be had for an architecture: from a compiler, or all of them from the cache.
    fn check_kernels(&self, arch: Arch, kernels: &[Kernel]) -> Result<(), Arc<CudaError>> {
        let Err(error) = self.0.jit.nvrtc().map(|_| ()) else { return Ok(()) };
        for kernel in kernels.iter().filter(|kernel| kernel.is_for(arch)) {
            if self.0.jit.cached(kernel, arch)?.is_none() {
                return Err(error);
            }
        }
        Ok(())
    }
}

impl Default for CudaBackend {
    /// Device 0, libraries where the loader finds them, no cache.
    fn default() -> Self {
        Self::new(CudaOptions::default())
    }
}

impl SpmmBackend for CudaBackend {
    fn name(&self) -> &str {
        NAME
    }

    fn capabilities(&self) -> Result<Capabilities, BackendError> {
        let unavailable = |error: Arc<CudaError>| BackendError::Unavailable {
            backend: NAME.to_owned(),
            reason: error.to_string(),
        };
        let info = self.device().map_err(unavailable)?;
        self.check_kernels(info.arch, &kernels::all()).map_err(unavailable)?;
        let DeviceInfo { index, name, arch, multiprocessors, memory_bytes, .. } = info;
        let gib = *memory_bytes as f64 / f64::from(1 << 30);
        let device = format!(
            "device {index}: {name}, {arch}, {multiprocessors} multiprocessors, {gib:.0} GiB"
        );
        Ok(Capabilities::new(supported::formats(*arch), DType::ALL, device))
    }

    /// Plans in CSR of any value type, also of complex ones; in f16, bf16 and f32 also plans in BCSR with blocks of 64×64,
    /// in BMat, and in WCSR with windows of 8 to 64 rows in steps of 8; in f16 and bf16 also plans in 2:4, and with values
    /// in e4m3 of f32 too. All but CSR
    /// need compute capability 9.0. Where no device is found, that is not checked. Rows may be in any order.
    ///
    /// In another [precision](girih_planner::Precision) than the default, f32 is multiplied in CSR and BMat
    /// alone.
    ///
    /// Schedules that cut windows by columns are refused but in BMat. Those that add parts of windows
    /// [atomically](girih_planner::schedule::Reduction::Atomic) are refused but in WCSR.
    fn supports(&self, plan: &Plan) -> Result<(), Unsupported> {
        let arch = self.device().ok().map(|device| device.arch);
        supported::supports(plan, arch)
            .and_then(|()| supported::takes_csr_layout(plan, self.0.csr_layout))
            .and_then(|()| supported::takes_cta_order(plan, self.0.cta_order))
    }

    /// Every epilogue, of plans of real values in all formats that there are kernels for: it is applied once to each element of C, after
    /// the last part of a split window was added. Where there is neither a compiler nor a cache with the kernels for
    /// it, an epilogue is refused.
    fn supports_epilogue(&self, plan: &Plan, epilogue: &Epilogue<'_>) -> Result<(), Unsupported> {
        let activation = (!epilogue.is_none()).then_some(epilogue.activation);
        supported::takes_epilogue(plan.dtype(), activation)?;
        let (Some(_), Ok(device)) = (activation, self.device()) else { return Ok(()) };
        self.check_kernels(device.arch, &kernels::with_epilogue())
            .map_err(|error| Unsupported::Epilogue { reason: error.to_string() })
    }

    /// The accumulation type, and f16 and bf16 where that is f32, unless parts of windows are added to C atomically. What
    /// stores such a C is compiled when it is first used; where there is neither a compiler nor a cache with them, that
    /// product fails.
    fn supports_output(&self, plan: &Plan, dtype: DType) -> Result<(), Unsupported> {
        supported::takes_output(plan, dtype)
    }

    /// Every aggregation of plans of real values in CSR, and none of others. Where there is neither a compiler nor a cache with the
    /// kernels for it, an aggregation is refused.
    fn supports_aggregation(
        &self,
        plan: &Plan,
        aggregation: Aggregation,
    ) -> Result<(), Unsupported> {
        supported::takes_aggregation(plan, aggregation)?;
        let Ok(device) = self.device() else { return Ok(()) };
        let kernels = csr_spmm::kernels(plan.dtype());
        let kernels = kernels.map(|kernel| kernel.with_aggregation(aggregation));
        self.check_kernels(device.arch, &kernels)
            .map_err(|error| Unsupported::Aggregation { reason: error.to_string() })
    }

    fn rounding(&self, plan: &Plan) -> Rounding {
        prepared::rounding(plan, None)
    }

    /// The product on the device, and copies of B there and of C back.
    fn estimate(&self, plan: &Plan) -> Option<f64> {
        let device = self.device().ok()?.spec();
        Some(seconds_on(plan, &device)? + transfer_seconds(plan, &device))
    }

    /// Compiles what products launch that have as many columns as the plan is made for, unless the cache has it, uploads
    /// the plan's tiles and allocates workspace: O(nnz).
    fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
        with_b_permutation(NAME, plan, Box::new(self.prepare_tiles(plan, FullBlocks::Fastest)?))
    }

    /// What the device that the plan is made for would execute, without one at hand: a pure function of
    /// the plan, O(nnz). A plan for a CPU is lowered for the device of this backend, as it is prepared.
    fn lower(&self, plan: &Plan) -> Result<Lowering, BackendError> {
        let (target, n) = (&plan.options().target, plan.options().n);
        let Some(arch) = Arch::of(target) else { return Ok(self.prepare(plan)?.lowering(n)) };
        supported::supports(plan, Some(arch)).map_err(|unsupported| unsupported.by(NAME))?;
        supported::takes_csr_layout(plan, self.0.csr_layout)
            .and_then(|()| supported::takes_cta_order(plan, self.0.cta_order))
            .map_err(|unsupported| unsupported.by(NAME))?;
        let device_plan = device_plan(plan, self.machine(target), FullBlocks::Fastest.into());
        let machine = machine(&target.name, arch, target.workers);
        let inner = |n| device_plan.describe(Lowering::new(NAME, machine, n));
        Ok(b_permutation_lowering(plan, n, inner))
    }
}

/// Copies the pattern and the operands to the device and S back with every product, which takes far longer than most
/// products: [`CudaBackend::prepare_sddmm`] keeps the pattern there.
impl SddmmBackend for CudaBackend {
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
        let prepared = self.prepare_sddmm_in(pattern, x.dtype(), &SddmmLayout::Entries)?;
        prepared.execute(alpha, x, y, beta, s)
    }

    /// The product on the device, and copies of the pattern, X and Y there and of S back.
    fn sddmm_estimate(&self, shape: &SampledShape) -> Result<Option<f64>, BackendError> {
        let info = self.device().map_err(|error| refused(error, "open the device"))?;
        self.check_kernels(info.arch, &[csr_sddmm::kernel(shape.dtype)])
            .map_err(|error| refused(error, "find the kernel"))?;
        let device = info.spec();
        Ok(Some(shape.seconds_on(&device) + shape.transfer_seconds(&device)))
    }
}
