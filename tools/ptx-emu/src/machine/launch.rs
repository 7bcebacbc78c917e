//! Launching kernels.

use std::sync::Arc;

use super::statistics::Statistics;
use super::{Context, Gpu, Kernel, LaunchError, Schedule, Timing, grid};
use crate::memory::SHARED_START;
use crate::program::{Module, Preset};

/// An argument of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arg(pub(super) Vec<u8>);

impl Arg {
    /// The bytes of a parameter, as the host lays them out.
    #[must_use]
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }
}

macro_rules! args {
    ($($ty:ty),*) => {
        $(impl From<$ty> for Arg {
            fn from(value: $ty) -> Self {
                Self(value.to_le_bytes().to_vec())
            }
        })*
    };
}

args!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, half::f16, half::bf16);

/// How a kernel is launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    cluster: Option<[u32; 3]>,
    dynamic_shared: u32,
    shared_opt_in: Option<u32>,
    large_clusters: bool,
    cooperative: bool,
    timing: Timing,
    schedule: Schedule,
    step_limit: u64,
    workers: Option<usize>,
    registers: Option<u32>,
    races: bool,
    poison: bool,
}

/// Instructions that the warps of a cluster may execute unless a launch says otherwise.
pub const DEFAULT_STEP_LIMIT: u64 = 1 << 32;

impl Launch {
    /// A grid of CTAs of one warp.
    #[must_use]
    pub fn grid(x: u32, y: u32, z: u32) -> Self {
        Self {
            grid: [x, y, z],
            block: [32, 1, 1],
            cluster: None,
            dynamic_shared: 0,
            shared_opt_in: None,
            large_clusters: false,
            cooperative: false,
            timing: Timing::default(),
            schedule: Schedule::default(),
            step_limit: DEFAULT_STEP_LIMIT,
            workers: None,
            registers: None,
            races: true,
            poison: true,
        }
    }

    /// Threads of a CTA.
    #[must_use]
    pub fn block(self, x: u32, y: u32, z: u32) -> Self {
        Self { block: [x, y, z], ..self }
    }

    /// CTAs of a cluster. Kernels with `.reqnctapercluster` need not be told.
    #[must_use]
    pub fn cluster(self, x: u32, y: u32, z: u32) -> Self {
        Self { cluster: Some([x, y, z]), ..self }
    }

    /// Allows clusters of more than 8 CTAs, as `cudaFuncAttributeNonPortableClusterSizeAllowed`
    /// does.
    #[must_use]
    pub fn large_clusters(self) -> Self {
        Self { large_clusters: true, ..self }
    }

    /// All CTAs run at once, as `cudaLaunchCooperativeKernel` makes them: a grid's threads may wait for
    /// each other. `%envreg1` and `%envreg2` then have the address of a workspace, as the driver's code
    /// for `cooperative_groups` wants it.
    #[must_use]
    pub fn cooperative(self) -> Self {
        Self { cooperative: true, ..self }
    }

    /// Bytes of dynamic shared memory.
    #[must_use]
    pub fn dynamic_shared(self, bytes: u32) -> Self {
        Self { dynamic_shared: bytes, ..self }
    }

    /// The dynamic shared memory that the kernel has opted in to
    /// (`cudaFuncAttributeMaxDynamicSharedMemorySize`): beyond it, and beyond 48 KiB, a launch
    /// fails. Unless told, kernels are taken to have opted in to all there is.
    #[must_use]
    pub fn shared_opt_in(self, bytes: u32) -> Self {
        Self { shared_opt_in: Some(bytes), ..self }
    }

    /// When asynchronous operations complete.
    #[must_use]
    pub fn timing(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    /// In which order warps execute.
    #[must_use]
    pub fn schedule(self, schedule: Schedule) -> Self {
        Self { schedule, ..self }
    }

    /// Instructions that the warps of a cluster may execute together before the launch is given up.
    #[must_use]
    pub fn step_limit(self, instructions: u64) -> Self {
        Self { step_limit: instructions, ..self }
    }

    /// Threads of this process to run on; all of rayon's unless told. With one, clusters run in the
    /// order of the grid, so that even sums of floating-point atomics are the same every time.
    #[must_use]
    pub fn workers(self, workers: usize) -> Self {
        Self { workers: Some(workers), ..self }
    }

    /// Registers that each thread starts with, as the assembler would report them: what `setmaxnreg`
    /// counts from where no directive of the kernel determines it.
    #[must_use]
    pub fn registers(self, registers: u32) -> Self {
        Self { registers: Some(registers), ..self }
    }

    /// Whether races between ordinary accesses are looked for; they are unless told.
    #[must_use]
    pub fn races(self, races: bool) -> Self {
        Self { races, ..self }
    }

    /// Whether reads of memory that nobody wrote are reported; they are unless told.
    #[must_use]
    pub fn poison(self, poison: bool) -> Self {
        Self { poison, ..self }
    }
}

/// A launch that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launched {
    /// What it executed.
    pub statistics: Statistics,
    /// What it printed.
    pub output: Vec<u8>,
}

impl Gpu {
    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// A launch that the device would refuse, or the reports of what the kernel did wrong. After a
    /// fault, memory is as the kernel left it.
    pub fn launch(
        &mut self,
        module: &Module,
        kernel: &str,
        launch: &Launch,
        args: &[Arg],
    ) -> Result<Launched, LaunchError> {
        let Some(kernel) = module.kernel(kernel) else {
            let known: Vec<_> = module.entries().map(|entry| entry.name()).collect();
            let (name, known) = (kernel.to_owned(), known.join(", "));
            return Err(LaunchError::UnknownKernel { name, known });
        };
        let cluster = self.check(kernel, launch)?;
        let params = lay_out(kernel, args)?;
        let variables = self.load(&kernel.variables)?;
        let asks = |(_, preset): &(_, Preset)| matches!(preset, Preset::Environment(1 | 2));
        let workspace = if launch.cooperative && kernel.presets.iter().any(asks) {
            self.workspace()
        } else {
            0
        };
        let attributes = &kernel.attributes;
        let context = Arc::new(Context {
            kernel: Arc::clone(kernel),
            device: *self.device(),
            grid: launch.grid,
            block: launch.block,
            cluster,
            explicit_cluster: launch.cluster.is_some()
                || attributes.required_cluster.is_some()
                || attributes.explicit_cluster,
            params,
            dynamic_shared: launch.dynamic_shared,
            global: self.global().clone(),
            variables,
            workspace,
            timing: launch.timing,
            schedule: launch.schedule,
            step_limit: launch.step_limit,
            registers: launch.registers,
            races: launch.races,
            poison: launch.poison,
            published: Default::default(),
        });
        let result = grid::run(&context, launch.workers);
        for allocation in self.global().allocations() {
            allocation.forget_accesses();
        }
        let (counts, output) = result?;
        Ok(Launched { statistics: Statistics::new(kernel, &counts), output })
    }

    /// Checks a launch against the device and the kernel's bounds; its cluster's shape.
    fn check(&self, kernel: &Kernel, launch: &Launch) -> Result<[u32; 3], LaunchError> {
        let device = self.device();
        let attributes = &kernel.attributes;
        let shape = |what, found, limit: String| Err(LaunchError::Shape { what, found, limit });
        let Launch { grid, block, .. } = *launch;
        let count = |extents: [u32; 3]| {
            extents.iter().fold(1, |product: u64, &n| product.saturating_mul(u64::from(n)))
        };
        if count(grid) == 0 || count(grid) > u64::from(i32::MAX as u32) {
            return shape("the grid", grid, "1 to 2³¹ - 1 CTAs".to_owned());
        }
        let threads = count(block);
        let most = device.cta_extent;
        if threads == 0
            || threads > u64::from(device.threads_per_cta)
            || (0..3).any(|i| block[i] > most[i])
        {
            let limit = format!("1 to {} threads, within {most:?}", device.threads_per_cta);
            return shape("a CTA", block, limit);
        }
        let threads = threads as u32;
        if let Some(required) = attributes.required_threads
            && required != block
        {
            return shape("a CTA", block, format!("the kernel requires {required:?} (.reqntid)"));
        }
        if let Some(most) = attributes.max_threads
            && threads > most.iter().product()
        {
            return shape("a CTA", block, format!("the kernel allows {most:?} (.maxntid)"));
        }
        let required = attributes.required_cluster;
        let cluster = launch.cluster.or(required).unwrap_or([1; 3]);
        if attributes.explicit_cluster && launch.cluster.is_none() && required.is_none() {
            let limit = "the kernel requires a launch to name one (.explicitcluster)";
            return shape("the cluster", cluster, limit.to_owned());
        }
        if let Some(required) = required
            && required != cluster
        {
            let limit = format!("the kernel requires {required:?} (.reqnctapercluster)");
            return shape("the cluster", cluster, limit);
        }
        let most = match (attributes.max_cluster_rank, launch.large_clusters) {
            (Some(most), _) => most.min(device.largest_cluster),
            (None, true) => device.largest_cluster,
            (None, false) => device.portable_cluster,
        };
        if count(cluster) == 0 || count(cluster) > u64::from(most) {
            return shape("the cluster", cluster, format!("1 to {most} CTAs"));
        }
        if (0..3).any(|i| !grid[i].is_multiple_of(cluster[i])) {
            return shape("the grid", grid, format!("a multiple of the cluster's {cluster:?}"));
        }
        // One CTA of a cluster is resident on each multiprocessor.
        let resident = device.multiprocessors / cluster.iter().product::<u32>();
        if launch.cooperative && count(grid) / count(cluster) > u64::from(resident) {
            let limit = format!("{resident} clusters run at once, and a cooperative grid has to");
            return shape("the grid", grid, limit);
        }
        self.check_resources(kernel, launch, threads)?;
        Ok(cluster)
    }

    fn check_resources(
        &self,
        kernel: &Kernel,
        launch: &Launch,
        threads: u32,
    ) -> Result<(), LaunchError> {
        let device = self.device();
        let static_bytes = kernel.shared_end - SHARED_START;
        let dynamic = launch.dynamic_shared;
        let shared =
            |limit, whose| Err(LaunchError::SharedMemory { static_bytes, dynamic, limit, whose });
        if static_bytes > device.static_shared_per_cta {
            return shared(device.static_shared_per_cta, "static variables may take");
        }
        let align = kernel.dynamic_shared_align.max(16);
        let together = u64::from(kernel.shared_end.next_multiple_of(align) - SHARED_START)
            + u64::from(dynamic);
        if together > u64::from(device.shared_per_cta) {
            return shared(device.shared_per_cta, "a CTA can have");
        }
        if let Some(opt_in) = launch.shared_opt_in {
            let limit = opt_in.max(device.static_shared_per_cta.saturating_sub(static_bytes));
            if dynamic > limit {
                return shared(limit + static_bytes, "the kernel has opted in to");
            }
        }
        if let Some(registers) = kernel.attributes.max_registers
            && registers.next_multiple_of(8) * threads.next_multiple_of(32)
                > device.registers_per_cta
        {
            let limit = device.registers_per_cta;
            return Err(LaunchError::Registers { registers, threads, limit });
        }
        Ok(())
    }
}

/// Parameter space.
fn lay_out(kernel: &Kernel, args: &[Arg]) -> Result<Vec<u8>, LaunchError> {
    if args.len() != kernel.params.len() {
        let (expected, found) = (kernel.params.len(), args.len());
        let kernel = kernel.name.clone();
        return Err(LaunchError::ArgumentCount { kernel, expected, found });
    }
    let mut params = vec![0; kernel.param_bytes as usize];
    for (param, arg) in kernel.params.iter().zip(args) {
        if arg.0.len() != param.bytes as usize {
            return Err(LaunchError::ArgumentSize {
                kernel: kernel.name.clone(),
                name: param.name.clone(),
                expected: param.bytes,
                found: arg.0.len(),
            });
        }
        params[param.offset as usize..][..arg.0.len()].copy_from_slice(&arg.0);
    }
    Ok(params)
}
