//! What is calibrated, and how.

use girih::{CudaOptions, DType, DeviceSpec, Precision};

/// What is calibrated, and how.
#[derive(Clone, Debug)]
pub struct CalibrateConfig {
    /// Where products run.
    pub backend: CalibrateBackend,
    /// The rates that are not fitted. `None` is this CPU, measured, or the CUDA device as it is built in.
    pub device: Option<DeviceSpec>,
    /// Value types.
    pub dtypes: Vec<DType>,
    /// How far products in f32 may round their operands. Fits of the device in other precisions are kept.
    pub precision: Precision,
    /// Columns of B.
    pub n: Vec<usize>,
    /// Seconds to spend on each product.
    pub seconds: f64,
    /// How often all products are timed. The least time of each counts.
    pub passes: u32,
    /// Fewer and smaller matrices.
    pub quick: bool,
    /// How the CUDA backend is set up.
    pub cuda: CudaOptions,
}

/// The backends that can be calibrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalibrateBackend {
    /// The CPU backend, on all threads.
    Cpu,
    /// The CUDA backend.
    Cuda,
}
