//! The machine an estimate is for, as plain data: built in, or from a file of the user's.

mod cpu;
mod family;
mod file;
mod fit;
mod host;
mod rates;

use girih_formats::{DType, FormatKind, FormatSpec};
use serde::{Deserialize, Serialize};

pub use cpu::{CpuFacts, MeasuredRates};
pub use family::CpuSignature;
pub use file::DeviceFileError;
pub use fit::{Fit, Quality, Terms};
pub use host::{Cache, caches, cpu_name};
pub use rates::{PerDType, PerFormat};

use crate::precision::Precision;

/// What sort of machine it is: which kernels run, and how tasks come to workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// Cores with SIMD.
    Cpu,
    /// A CUDA device: multiprocessors with shared memory.
    Cuda,
}

/// How far moving data and arithmetic go on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overlap {
    /// A product takes as long as the busiest of memory, cache and arithmetic.
    Full,
    /// It takes as long as all of them together.
    None,
}

/// Which unit multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Entry by entry: SIMD on a CPU, CUDA cores on a GPU.
    Entries,
    /// Dense tiles: register tiles on a CPU, tensor cores on a GPU.
    Tiles,
}

/// What the cost model knows of a machine. Nothing here is probed: a plan made anywhere for a
/// given `DeviceSpec` is the same plan.
///
/// Rates and times are those of all workers together, and of kernels, not of data sheets, unless
/// the device's file says otherwise. Their ratios decide a choice.
///
/// ```
/// use girih_planner::DeviceSpec;
///
/// let h200 = DeviceSpec::builtin("h200").unwrap();
/// assert_eq!(h200.workers, 132);
/// // What is written is a file that can be edited and read back.
/// assert_eq!(DeviceSpec::from_toml(&h200.to_toml())?, h200);
/// # Ok::<(), girih_planner::device::DeviceFileError>(())
/// ```
// Device files and plan files hold it as TOML: a new field takes a default, so that older files load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DeviceSpec {
    /// A name for people, at most 128 bytes and without control characters.
    pub name: String,
    /// What sort of machine.
    pub kind: DeviceKind,
    /// Of a GPU, its compute capability times ten: 90 for Hopper; 0 for a CPU.
    pub compute_capability: u32,
    /// Bits of a SIMD register of a CPU; 0 for a GPU.
    pub simd_bits: u32,
    /// Workers: cores, or multiprocessors.
    pub workers: u32,
    /// Bytes of shared memory a block of threads can have; 0 for a CPU.
    pub shared_bytes_per_block: u64,
    /// Bytes of shared memory of a multiprocessor; 0 for a CPU.
    pub shared_bytes_per_worker: u64,
    /// Bytes per second from main memory.
    pub memory_bandwidth: f64,
    /// Bytes per second from the last cache that all workers share: L2 of a GPU.
    pub cache_bandwidth: f64,
    /// Bytes that cache holds.
    pub cache_bytes: u64,
    /// Bytes that the cache of one worker holds: L2 of a core, L1 of a multiprocessor.
    #[serde(default)]
    pub private_cache_bytes: u64,
    /// Seconds from asking that cache for a row of B until it is there; 0 where hardware prefetches.
    pub cache_latency_seconds: f64,
    /// Flops per second of kernels that work entry by entry.
    pub sparse_flops: PerDType,
    /// Flops per second of kernels that work on dense tiles. Fill-in counts as work. For f32 on a
    /// GPU it is the rate of TF32; 0 where there is no such unit.
    pub tile_flops: PerDType,
    /// The share of those rates that the kernels of a format reach; 1 unless it says otherwise.
    #[serde(default)]
    pub efficiency: PerFormat,
    /// Seconds that a multiplied value takes however narrow B is. Kernels that work entry by entry
    /// pay them besides the flops, for finding the entry; in a dense tile they are the least that
    /// the flops take, since lanes beyond n idle. 0 unless it says otherwise.
    #[serde(default)]
    pub value_seconds: PerFormat,
    /// Seconds that a row of C, and a window of several, takes besides the tiles.
    pub window_seconds: f64,
    /// Seconds that a BMat tile takes besides its entries.
    #[serde(default)]
    pub bmat_tile_seconds: f64,
    /// Seconds of one worker to begin a task.
    pub task_seconds: f64,
    /// Seconds of a product besides everything else: starting threads, launching a kernel.
    pub launch_seconds: f64,
    /// Bytes per second of operands on the host, to a GPU and back; 0 for a CPU.
    #[serde(default)]
    pub host_bandwidth: f64,
    /// How far moving and computing overlap.
    pub overlap: Overlap,
    /// What calibration found, for some formats and value types: it goes before the rates.
    #[serde(default)]
    pub fits: Vec<Fit>,
}

impl DeviceSpec {
    /// The same machine with some of its figures changed.
    ///
    /// ```
    /// use girih_planner::DeviceSpec;
    ///
    /// let half = DeviceSpec::builtin("h200").unwrap().with(|device| device.workers = 66);
    /// assert_eq!((half.name.as_str(), half.workers), ("NVIDIA H200", 66));
    /// ```
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// A generic CPU: two cores of a server with 512-bit vectors and their share of its memory.
    ///
    /// # Panics
    /// Never: the file is built in, and tested.
    #[must_use]
    pub fn cpu() -> Self {
        Self::builtin("cpu").unwrap_or_else(|| unreachable!("the generic CPU is built in"))
    }

    /// Which unit multiplies the tiles of a format.
    #[must_use]
    pub const fn unit(&self, kind: FormatKind) -> Unit {
        match (self.kind, kind) {
            (_, FormatKind::Csr) => Unit::Entries,
            (DeviceKind::Cpu, FormatKind::BMat | FormatKind::TwoFour) => Unit::Entries,
            _ => Unit::Tiles,
        }
    }

    /// Flops per second that the kernels of a format reach.
    #[must_use]
    pub fn flops(&self, kind: FormatKind, dtype: DType) -> f64 {
        let rates = match self.unit(kind) {
            Unit::Entries => &self.sparse_flops,
            Unit::Tiles => &self.tile_flops,
        };
        rates.get(dtype) * self.efficiency(kind)
    }

    /// Whether the kernels of a format differ by the precision of products in a value type: those that
    /// multiply f32 on tensor cores do.
    #[must_use]
    pub fn has_precisions(&self, kind: FormatKind, dtype: DType) -> bool {
        self.kind == DeviceKind::Cuda && dtype == DType::F32 && kind != FormatKind::Csr
    }

    /// Which unit multiplies the tiles of a format in a precision.
    #[must_use]
    pub fn unit_in(&self, kind: FormatKind, dtype: DType, precision: Precision) -> Unit {
        match precision {
            Precision::F32 if self.has_precisions(kind, dtype) => Unit::Entries,
            _ => self.unit(kind),
        }
    }

    /// Flops per second that the kernels of a format reach in a precision. Three products of TF32 take three
    /// times as long as one, and count as one.
    #[must_use]
    pub fn flops_in(&self, kind: FormatKind, dtype: DType, precision: Precision) -> f64 {
        match precision {
            Precision::F32 if self.has_precisions(kind, dtype) => self.sparse_flops.get(dtype),
            Precision::ThreeTf32 if self.has_precisions(kind, dtype) => {
                self.flops(kind, dtype) / 3.0
            }
            _ => self.flops(kind, dtype),
        }
    }

    fn efficiency(&self, kind: FormatKind) -> f64 {
        self.efficiency.get(kind).unwrap_or(1.0)
    }

    /// Seconds that a multiplied value of a format takes however narrow B is.
    pub(crate) fn value_seconds(&self, kind: FormatKind) -> f64 {
        self.value_seconds.get(kind).unwrap_or(0.0)
    }

    /// The calibrated fit for a format, a value type and a precision; where there is none for its sizes, that
    /// for the nearest height of windows, whose kernels are closer than any [rate](Self::flops) is.
    ///
    /// A type without any fit takes those of the type that is multiplied the most like it: bf16 those of f16
    /// and the other way round, and on a CPU both those of f32. A precision takes no fit of another, where
    /// kernels [differ](Self::has_precisions).
    #[must_use]
    pub fn fit(&self, spec: FormatSpec, dtype: DType, precision: Precision) -> Option<&Fit> {
        let (rows, dtype) = (spec.window_rows(), self.fitted_as(dtype));
        let same = precision == Precision::Tf32 || !self.has_precisions(spec.kind(), dtype);
        let of_kind = self
            .fits
            .iter()
            .filter(|fit| fit.spec.kind() == spec.kind() && fit.dtype == dtype)
            .filter(|fit| fit.precision.map_or(same, |of| of == precision));
        of_kind.min_by_key(|fit| (fit.spec != spec, fit.spec.window_rows().abs_diff(rows)))
    }

    /// The value type whose fits count for `dtype`: itself where it has any, else the first with fits of
    /// those that are multiplied alike. A CUDA device multiplies both types of 16 bits alike; a CPU widens
    /// them to f32. A complex type is multiplied as its parts are. Rates alone do not know what a product costs however small it is, and would take formats
    /// that are ten times slower.
    fn fitted_as(&self, dtype: DType) -> DType {
        let dtype = dtype.part();
        let others: &[DType] = match (self.kind, dtype) {
            (DeviceKind::Cuda, DType::Bf16) => &[DType::F16],
            (DeviceKind::Cpu, DType::F16) => &[DType::Bf16, DType::F32],
            (DeviceKind::Cpu, DType::Bf16) => &[DType::F16, DType::F32],
            _ => &[],
        };
        let has_fits = |dtype: &DType| self.fits.iter().any(|fit| fit.dtype == *dtype);
        std::iter::once(dtype).chain(others.iter().copied()).find(has_fits).unwrap_or(dtype)
    }

    /// Seconds that a product takes at the least in a format that was not fitted: those of launching, or
    /// what the cheapest of the formats that were fitted costs, so that no other seems to cost nothing.
    #[must_use]
    pub(crate) fn product_seconds(&self, dtype: DType) -> f64 {
        let fits = self.fits.iter().filter(|fit| fit.dtype == self.fitted_as(dtype));
        let least = fits.map(|fit| fit.seconds.product).reduce(f64::min);
        self.launch_seconds.max(least.unwrap_or(0.0))
    }

    /// Whether every number can be computed with, and the name can be shown and stored.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let dtypes = |rates: &PerDType| DType::REAL.map(|dtype| rates.get(dtype));
        let formats = |rate: &dyn Fn(FormatKind) -> f64| FormatKind::ALL.map(rate);
        let is_rate = |x: &f64| x.is_finite() && *x > 0.0;
        let is_time = |x: &f64| x.is_finite() && *x >= 0.0;
        let positive = dtypes(&self.sparse_flops)
            .iter()
            .chain(&formats(&|kind| self.efficiency(kind)))
            .chain(&[self.memory_bandwidth, self.cache_bandwidth])
            .all(is_rate);
        if !positive {
            return Err("bandwidths, flop rates and efficiencies must be positive and finite");
        }
        if !dtypes(&self.tile_flops).iter().all(is_time) {
            return Err("flop rates of tiles must be finite and not negative");
        }
        let times = [
            self.window_seconds,
            self.bmat_tile_seconds,
            self.task_seconds,
            self.launch_seconds,
            self.cache_latency_seconds,
            self.host_bandwidth,
        ];
        if !formats(&|kind| self.value_seconds(kind)).iter().chain(&times).all(is_time) {
            return Err("overheads must be finite and not negative");
        }
        if !(1..=1 << 20).contains(&self.workers) {
            return Err("there must be 1 to 2²⁰ workers");
        }
        let bytes = [
            self.shared_bytes_per_block,
            self.shared_bytes_per_worker,
            self.cache_bytes,
            self.private_cache_bytes,
        ];
        if bytes.iter().any(|&bytes| i64::try_from(bytes).is_err()) {
            return Err("memories and caches must have less than 2⁶³ bytes");
        }
        if self.name.len() > 128 || self.name.chars().any(char::is_control) {
            return Err("the name must have at most 128 bytes and no control characters");
        }
        if self.fits.len() > fit::MAX_FITS {
            return Err("there are more than 256 fits");
        }
        self.fits.iter().try_for_each(Fit::check)
    }
}
