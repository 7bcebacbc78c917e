//! A device that is emulated: what plans launch, executed by `ptx-emu` on the PTX that NVRTC makes.
//!
//! The host's code is the very code that a driver is given its work by: device plans, launches, parameters,
//! tensor maps. So the conformance suite proves kernels and host together, without a GPU.

mod compiler;
mod conformance;
mod encoder;
mod entries;
pub(crate) mod faults;
mod lowering;
pub(crate) mod operands;
mod panels;
mod plan;
mod sampled;
pub(crate) mod sampled_windows;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

use girih_backend::{
    Aggregation, BackendError, Capabilities, Epilogue, PreparedSpmm, Rounding, SpmmBackend,
    Unsupported, with_b_permutation,
};
use girih_formats::{DType, FormatKind};
use girih_planner::Plan;
use ptx_emu::{Arg, Gpu, LaunchError, Schedule, Timing};

use crate::ablation::Variant;
use crate::kernels::sm90_dense_gemm::FullBlocks;
use crate::kernels::{Kernel, supported};
use crate::launch::Launch;
use crate::launch::Machine;
use crate::prepared::lowering::Recorded;
use crate::prepared::{self, Multiplier, Source, device_plan};
use crate::{Arch, CsrLayout, CtaOrder};
use compiler::Compiler;
use operands::Placing;
pub(crate) use plan::{EmulatedPlan, Failure};

/// When asynchronous operations complete, and in which order warps run.
pub(crate) type Way = (Timing, Schedule);

/// The ways that products are executed in, in turns.
const WAYS: [Way; 5] = [
    (Timing::Late, Schedule::Fixed),
    (Timing::Random(1), Schedule::Random(1)),
    (Timing::Eager, Schedule::Random(2)),
    (Timing::Late, Schedule::Random(3)),
    (Timing::Random(2), Schedule::Fixed),
];

/// Multiprocessors that configurations are chosen for: one, so that not all small products are laid over
/// the narrowest tiles.
const MULTIPROCESSORS: u32 = 1;

/// Bytes of the second-level cache that they are chosen for: so few that not every B stays there.
const CACHE: u64 = 1 << 15;

/// Columns of B that there is memory for a copy of: no whole number of vectors.
const COPIED: usize = 151;

/// What plans are prepared for, with as many multiprocessors.
fn machine(multiprocessors: u32) -> Machine {
    Machine {
        multiprocessors,
        cache_bytes: CACHE,
        memory_bandwidth: 28,
        cache_bandwidth: 68,
        csr_layout: None,
        cta_order: None,
        copies_b: false,
    }
}

/// An H100, emulated.
#[derive(Clone)]
pub(crate) struct Emulated(Arc<EmulatedState>);

struct EmulatedState {
    compiler: Arc<Compiler>,
    placing: Placing,
    ways: &'static [Way],
    csr_layout: Option<CsrLayout>,
    copies_b: bool,
    cta_order: Option<CtaOrder>,
    /// What multiplies plans in BCSR whose blocks are all there.
    full: FullBlocks,
    products: AtomicUsize,
    /// Entry points that were executed, with the names of their kernels.
    executed: Mutex<BTreeSet<(String, String)>>,
    /// The launches of the last product.
    launches: Mutex<Vec<Recorded>>,
}

impl fmt::Debug for Emulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emulated").field("placing", &self.0.placing).finish_non_exhaustive()
    }
}

impl Emulated {
    /// A device that products are executed on in all ways, in turns; `None`, with a note, where there
    /// is no compiler.
    pub(crate) fn new(placing: Placing) -> Option<Self> {
        Some(Self::with(Compiler::built_in()?, placing, &WAYS))
    }

    /// A device for the kernels of a compiler.
    fn with(compiler: Arc<Compiler>, placing: Placing, ways: &'static [Way]) -> Self {
        Self::of(compiler, placing, ways, FullBlocks::Fastest)
    }

    fn of(
        compiler: Arc<Compiler>,
        placing: Placing,
        ways: &'static [Way],
        full: FullBlocks,
    ) -> Self {
        let (products, executed) = (AtomicUsize::new(0), Mutex::default());
        let launches = Mutex::default();
        let (csr_layout, cta_order) = (None, None);
        Self(Arc::new(EmulatedState {
            compiler,
            placing,
            ways,
            csr_layout,
            copies_b: false,
            cta_order,
            full,
            products,
            executed,
            launches,
        }))
    }

    /// A device like this one, whose products in CSR are laid out so.
    pub(crate) fn with_csr_layout(&self, layout: CsrLayout) -> Self {
        self.forced(Some(layout), self.0.cta_order, self.0.copies_b)
    }

    /// A device like this one, whose CTAs go through rows and columns in this order.
    pub(crate) fn with_cta_order(&self, order: CtaOrder) -> Self {
        self.forced(self.0.csr_layout, Some(order), self.0.copies_b)
    }

    /// A device like this one, which copies a B whose rows are no whole vectors.
    pub(crate) fn copying_b(&self) -> Self {
        self.forced(self.0.csr_layout, self.0.cta_order, true)
    }

    fn forced(
        &self,
        csr_layout: Option<CsrLayout>,
        cta_order: Option<CtaOrder>,
        copies_b: bool,
    ) -> Self {
        let EmulatedState { compiler, placing, ways, full, .. } = &*self.0;
        Self(Arc::new(EmulatedState {
            compiler: compiler.clone(),
            placing: *placing,
            ways,
            csr_layout,
            copies_b,
            cta_order,
            full: *full,
            products: AtomicUsize::new(0),
            executed: Mutex::default(),
            launches: Mutex::default(),
        }))
    }

    /// The device with operands laid out otherwise.
    pub(crate) fn with_placing(&self, placing: Placing) -> Self {
        let EmulatedState { compiler, ways, full, .. } = &*self.0;
        Self::of(compiler.clone(), placing, ways, *full)
    }

    /// The device with another choice for plans in BCSR whose blocks are all there.
    pub(crate) fn with_full(&self, full: FullBlocks) -> Self {
        let EmulatedState { compiler, placing, ways, .. } = &*self.0;
        Self::of(compiler.clone(), *placing, ways, full)
    }

    /// Entry points that were executed, with the names of their kernels.
    pub(crate) fn executed(&self) -> BTreeSet<(String, String)> {
        self.0.executed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the last product launched.
    fn launches(&self) -> Vec<Recorded> {
        self.0.launches.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Executes a launch of a kernel.
    pub(crate) fn launch(
        &self,
        gpu: &mut Gpu,
        (timing, schedule): Way,
        kernel: &Kernel,
        launch: &Launch<'_>,
    ) -> Result<(), LaunchError> {
        let Launch { entry, grid: [x, y, z], block, cluster, dynamic_shared, params, .. } = *launch;
        let budget = &kernel.budget;
        assert!(dynamic_shared <= budget.dynamic_shared, "{launch:?} is not within {budget:?}");
        let mut executed = self.0.executed.lock().unwrap_or_else(PoisonError::into_inner);
        executed.insert((kernel.to_string(), entry.to_owned()));
        drop(executed);
        let mut emulated = ptx_emu::Launch::grid(x, y, z)
            .block(block, 1, 1)
            .dynamic_shared(dynamic_shared)
            .shared_opt_in(budget.dynamic_shared)
            .timing(timing)
            .schedule(schedule);
        if cluster > 1 {
            emulated = emulated.cluster(cluster, 1, 1);
        }
        let module = self.0.compiler.module(kernel, entry);
        let Some(module) = module.get() else { unreachable!("it was read") };
        gpu.launch(module, entry, &emulated, &[Arg::bytes(params)]).map(|_| ())
    }

    fn prepare_tiles(&self, plan: &Plan) -> EmulatedPlan {
        self.prepare_with(plan, MULTIPROCESSORS, self.0.full)
    }

    /// A plan on a device of which as many multiprocessors are taken to be there, and what multiplies it if
    /// it is full.
    pub(crate) fn prepare_with(
        &self,
        plan: &Plan,
        multiprocessors: u32,
        full: FullBlocks,
    ) -> EmulatedPlan {
        self.prepare_on(plan, machine(multiprocessors), full.into())
    }

    /// A plan for products by a step of an ablation.
    pub(crate) fn prepare_variant(
        &self,
        plan: &Plan,
        multiprocessors: u32,
        variant: Variant,
    ) -> EmulatedPlan {
        self.prepare_on(plan, machine(multiprocessors), variant.into())
    }

    fn prepare_on(&self, plan: &Plan, machine: Machine, multiplier: Multiplier) -> EmulatedPlan {
        let &EmulatedState { csr_layout, cta_order, copies_b, .. } = &*self.0;
        let machine = Machine { csr_layout, cta_order, ..machine };
        let mut device_plan = device_plan(plan, machine, multiplier);
        if copies_b {
            let is_csr = plan.spec().kind() == FormatKind::Csr;
            device_plan = device_plan.copying_b(COPIED, is_csr, u64::MAX);
        }
        let source = Source::new(plan, machine, multiplier);
        EmulatedPlan { device: self.clone(), device_plan, source }
    }
}

impl SpmmBackend for Emulated {
    fn name(&self) -> &str {
        "emulated"
    }

    fn capabilities(&self) -> Result<Capabilities, BackendError> {
        Ok(Capabilities::new(supported::formats(Arch::SM_90A), DType::ALL, "an emulated H100"))
    }

    fn supports(&self, plan: &Plan) -> Result<(), Unsupported> {
        supported::supports(plan, Some(Arch::SM_90A))
    }

    fn supports_epilogue(&self, plan: &Plan, epilogue: &Epilogue<'_>) -> Result<(), Unsupported> {
        let activation = (!epilogue.is_none()).then_some(epilogue.activation);
        supported::takes_epilogue(plan.dtype(), activation)
    }

    fn supports_output(&self, plan: &Plan, dtype: DType) -> Result<(), Unsupported> {
        supported::takes_output(plan, dtype)
    }

    fn supports_aggregation(
        &self,
        plan: &Plan,
        aggregation: Aggregation,
    ) -> Result<(), Unsupported> {
        supported::takes_aggregation(plan, aggregation)
    }

    fn rounding(&self, plan: &Plan) -> Rounding {
        prepared::rounding(plan, None)
    }

    fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
        self.supports(plan).map_err(|unsupported| unsupported.by(self.name()))?;
        with_b_permutation(self.name(), plan, Box::new(self.prepare_tiles(plan)))
    }
}
