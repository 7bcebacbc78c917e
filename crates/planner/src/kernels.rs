//! What backends have: the one source from which a planner takes formats, kernels and schedules.
//!
//! The planner knows no kernel. A backend describes its own as a [`KernelCatalog`], from tables and
//! without a device at hand, and the planner calls it: which formats to price, whether a kernel
//! takes this one, in which configuration it would run, and which schedules it honours. The backend
//! answers with the functions that it executes by, so that what is priced is what runs.

use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

use girih_formats::{DType, FormatSpec};
use serde::{Deserialize, Serialize};

use crate::device::{DeviceKind, DeviceSpec};
use crate::precision::Precision;
use crate::schedule::{ScheduleKind, Task, Windows};

/// What of a schedule is handed to a worker at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// Whole tasks.
    Tasks,
    /// Each window of a task, or its part of one, by itself: a task says only how long windows are cut.
    Windows,
}

/// The kernels of a backend, described without a device at hand.
///
/// Every answer is a pure function of its arguments: the same on every machine.
pub trait KernelCatalog: Debug + Send + Sync {
    /// The name of the backend that has these kernels.
    fn backend(&self) -> &'static str;

    /// The formats to price where the choice is free. Of equal times the first wins.
    fn candidates(&self, device: &DeviceSpec, dtype: DType) -> Vec<FormatSpec>;

    /// Whether there is a kernel for a format on a device, for formats that a caller fixed too.
    ///
    /// # Errors
    /// What is missing, in one sentence without the format's name.
    fn check(&self, device: &DeviceSpec, spec: FormatSpec, dtype: DType) -> Result<(), String>;

    /// The kinds of schedule that the kernels of a format execute as they are, in the order in which
    /// equal ones are preferred; at least one. [`ScheduleKind::Split`] with
    /// [`Reduction::Atomic`](crate::schedule::Reduction::Atomic) is listed only where additions are atomic.
    fn schedules(&self, spec: FormatSpec) -> Vec<ScheduleKind>;

    /// Blocks of threads that a schedule's tasks become for each block of columns, counted before anything
    /// is laid out: kernels may group small tasks, as the device has it. O(windows + tasks).
    fn blocks(
        &self,
        _: &DeviceSpec,
        _: (FormatSpec, DType),
        _: &dyn Windows,
        tasks: &[Task],
    ) -> u64 {
        tasks.len() as u64
    }

    /// What is handed to a worker at a time: tasks, unless a kernel spreads their windows.
    fn dispatch(&self, _: FormatSpec) -> Dispatch {
        Dispatch::Tasks
    }

    /// The configuration that a product runs in; `None` where kernels have only one and keep nothing
    /// in shared memory.
    fn config(&self, device: &DeviceSpec, work: &KernelWork) -> Option<KernelConfig>;

    /// The catalog of the kernels that multiply f32 in a precision: they round operands no further, and its
    /// [`check`](Self::check) refuses formats that have none. `None`, the default, where all kernels multiply
    /// f32 as it is.
    fn in_precision(&self, _: Precision) -> Option<Kernels> {
        None
    }
}

/// The kernels that a plan is made for, shared. Two are equal if they are of the same backend.
#[derive(Clone, Debug)]
pub struct Kernels(Arc<dyn KernelCatalog>);

impl Kernels {
    /// Those of a backend.
    #[must_use]
    pub fn new(catalog: impl KernelCatalog + 'static) -> Self {
        Self(Arc::new(catalog))
    }

    /// Those of them that honour a precision: [`KernelCatalog::in_precision`].
    #[must_use]
    pub fn in_precision(&self, precision: Precision) -> Self {
        self.0.in_precision(precision).unwrap_or_else(|| self.clone())
    }
}

impl Default for Kernels {
    /// [`AnyKernels`].
    fn default() -> Self {
        Self::new(AnyKernels)
    }
}

impl PartialEq for Kernels {
    fn eq(&self, other: &Self) -> bool {
        self.backend() == other.backend()
    }
}

impl Deref for Kernels {
    type Target = dyn KernelCatalog;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// The numbers of a product that decide a kernel's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelWork {
    /// The format with its sizes.
    pub spec: FormatSpec,
    /// The value type of A and B.
    pub dtype: DType,
    /// Columns of B and C (n).
    pub n: usize,
    /// What the tasks of the schedule become: [`KernelCatalog::blocks`].
    pub tasks: u64,
    /// Tiles of all windows.
    pub tiles: u64,
    /// Columns of A (k).
    pub ncols: usize,
}

/// How a product is cut into blocks of threads, and what a block keeps in shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KernelConfig {
    /// The entry point.
    pub entry: String,
    /// Columns of C that a block computes.
    pub block_cols: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Stages of the ring between loading and multiplying.
    pub stages: u32,
    /// Tiles of A in a stage; 0 where that is not known.
    pub stage_tiles: u32,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u64,
    /// Blocks that a multiprocessor runs at once.
    pub blocks_per_worker: u32,
    /// Rows of C for which all of B is fetched once, whatever columns they hold; 0 where each window fetches
    /// the rows of B that it holds columns of.
    pub rows_together: u32,
}

impl KernelConfig {
    /// One block per multiprocessor at a time, and nothing said yet of its size.
    ///
    /// ```
    /// use girih_planner::kernels::KernelConfig;
    ///
    /// let config = KernelConfig::new("spmm").block_cols(128).threads(384).stages(3);
    /// assert_eq!(config.passes(130), 2);
    /// ```
    #[must_use]
    pub fn new(entry: impl Into<String>) -> Self {
        Self {
            entry: entry.into(),
            block_cols: 1,
            threads: 0,
            stages: 0,
            stage_tiles: 0,
            shared_bytes: 0,
            blocks_per_worker: 1,
            rows_together: 0,
        }
    }

    /// With this many columns of C for a block.
    #[must_use]
    pub fn block_cols(self, block_cols: u32) -> Self {
        Self { block_cols, ..self }
    }

    /// With this many threads of a block.
    #[must_use]
    pub fn threads(self, threads: u32) -> Self {
        Self { threads, ..self }
    }

    /// With this many stages of the ring.
    #[must_use]
    pub fn stages(self, stages: u32) -> Self {
        Self { stages, ..self }
    }

    /// With this many tiles of A in a stage.
    #[must_use]
    pub fn stage_tiles(self, stage_tiles: u32) -> Self {
        Self { stage_tiles, ..self }
    }

    /// With this many bytes of shared memory of a block.
    #[must_use]
    pub fn shared_bytes(self, shared_bytes: u64) -> Self {
        Self { shared_bytes, ..self }
    }

    /// With this many blocks on a multiprocessor at once.
    #[must_use]
    pub fn blocks_per_worker(self, blocks_per_worker: u32) -> Self {
        Self { blocks_per_worker, ..self }
    }

    /// With this many rows of C for which all of B is fetched once.
    #[must_use]
    pub fn rows_together(self, rows_together: u32) -> Self {
        Self { rows_together, ..self }
    }

    /// Blocks that `n` columns of C take.
    #[must_use]
    pub fn passes(&self, n: usize) -> u32 {
        u32::try_from(n.div_ceil(self.block_cols as usize).max(1)).unwrap_or(u32::MAX)
    }

    /// Columns computed, those beyond the last included.
    #[must_use]
    pub fn padded(&self, n: usize) -> usize {
        n.next_multiple_of(self.block_cols as usize)
    }

    /// Seconds that a multiprocessor takes for a tile at the least, however narrow C is: the latency of the
    /// cache over the tiles on their way at once, in all stages but the one being multiplied (Little's law).
    #[must_use]
    pub fn tile_seconds(&self, device: &DeviceSpec) -> f64 {
        let ahead = self.stages.saturating_sub(1) * self.stage_tiles * self.blocks_per_worker;
        if ahead == 0 { 0.0 } else { device.cache_latency_seconds / f64::from(ahead) }
    }

    /// Seconds that the block of threads which multiplies a window takes for each of its tiles at the least: a
    /// latency of the cache for each stage, as the columns of a stage have to be there before its rows of B
    /// are requested. On an H200 a product in windows of 64 rows took 6.5 µs, and 0.13 µs for each tile of the
    /// longest window, at 8 and at 128 columns of B. That was measured on matrices whose longest windows have 38
    /// to 556 tiles; this says 0.15 µs.
    #[must_use]
    pub fn chain_seconds(&self, device: &DeviceSpec) -> f64 {
        device.cache_latency_seconds / f64::from(self.stage_tiles.max(1))
    }

    /// Bytes per second that can be requested of the cache: no more than what is on its way at once, all
    /// stages but the one being multiplied, per latency (Little's law).
    #[must_use]
    pub fn cache_bandwidth(&self, device: &DeviceSpec) -> f64 {
        if device.cache_latency_seconds <= 0.0 || self.stages < 2 {
            return device.cache_bandwidth;
        }
        let stage = self.shared_bytes as f64 / f64::from(self.stages);
        let ahead = f64::from((self.stages - 1) * self.blocks_per_worker);
        let in_flight = stage * ahead * f64::from(device.workers);
        (in_flight / device.cache_latency_seconds).min(device.cache_bandwidth)
    }
}

/// Kernels for a CPU: every format in every size and real value type, as the CPU backend and the reference
/// backend have them; CSR and BCSR in complex ones. What a planner knows that was given no backend; it knows none for a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnyKernels;

impl KernelCatalog for AnyKernels {
    fn backend(&self) -> &'static str {
        "any"
    }

    fn candidates(&self, _: &DeviceSpec, dtype: DType) -> Vec<FormatSpec> {
        let mut specs = vec![
            FormatSpec::Csr,
            FormatSpec::Bcsr { block_rows: 8, block_cols: 8 },
            FormatSpec::Bcsr { block_rows: 16, block_cols: 16 },
            FormatSpec::Bcsr { block_rows: 64, block_cols: 64 },
            FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 },
            FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
            FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 },
            FormatSpec::BlockedEll { block_size: 16 },
            FormatSpec::BMat { pattern_only: false },
            FormatSpec::TwoFour,
        ];
        specs.retain(|&spec| !dtype.is_complex() || multiplies_complex(spec));
        specs
    }

    fn check(&self, device: &DeviceSpec, spec: FormatSpec, dtype: DType) -> Result<(), String> {
        match device.kind {
            DeviceKind::Cpu if dtype.is_complex() && !multiplies_complex(spec) => {
                Err(format!("it is multiplied in real value types only, and values are {dtype}"))
            }
            DeviceKind::Cpu if matches!(spec, FormatSpec::TwoFourE4m3 { .. }) => {
                Err("values in e4m3 are multiplied on GPUs alone".to_owned())
            }
            DeviceKind::Cpu => Ok(()),
            DeviceKind::Cuda => Err(format!(
                "no kernels for {} were given; `PlanOptions::kernels` takes those of a backend",
                device.name
            )),
        }
    }

    fn schedules(&self, _: FormatSpec) -> Vec<ScheduleKind> {
        vec![ScheduleKind::Tasks]
    }

    fn config(&self, _: &DeviceSpec, _: &KernelWork) -> Option<KernelConfig> {
        None
    }
}

/// Whether kernels for a CPU multiply complex values in a format.
fn multiplies_complex(spec: FormatSpec) -> bool {
    matches!(spec, FormatSpec::Csr | FormatSpec::Bcsr { .. })
}
