//! Where candidates are timed, and how many.

use girih::CudaOptions;

/// Where candidates are timed, and how many.
#[derive(Clone, Debug)]
pub struct TuneConfig {
    /// What multiplies.
    pub backend: TuneBackend,
    /// Columns of B; `None` for those that the plan was made for.
    pub n: Option<usize>,
    /// Candidates, the plan itself not counted.
    pub top: usize,
    /// Seconds to spend on each.
    pub seconds: f64,
    /// The most bytes that the tiles of a candidate may take; `None` for the plan's own limit.
    pub memory_limit: Option<u64>,
    /// The seed of B.
    pub seed: u64,
    /// How the CUDA backend is set up.
    pub cuda: CudaOptions,
}

/// The backends that plans can be tuned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuneBackend {
    /// The CPU backend, on all threads.
    Cpu,
    /// The CUDA backend, with operands on the device.
    Cuda,
}
