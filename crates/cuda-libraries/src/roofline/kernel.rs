//! What a device can do at most: the kernels of `roofline.cu`.

use girih_backend_cuda::cudarc::driver::DeviceRepr;
use girih_backend_cuda::kernels::{Budget, Kernel};

/// Threads of a block.
pub(crate) const THREADS: u32 = 256;
/// Chains of multiply-adds of a thread.
pub(crate) const CHAINS: u64 = 8;

pub(crate) const TRIAD: &str = "roofline_triad";
pub(crate) const READ: &str = "roofline_read";
pub(crate) const FMA_F32: &str = "roofline_fma_f32";
pub(crate) const FMA_F64: &str = "roofline_fma_f64";
pub(crate) const FILL: &str = "roofline_fill";

/// The kernel that measures a device, to be compiled ahead of time.
#[must_use]
pub fn kernel() -> Kernel {
    Kernel {
        stem: "roofline",
        config: "any".to_owned(),
        source: include_str!("roofline.cu"),
        defines: Vec::new(),
        only: None,
        budget: Budget {
            registers: 64,
            shared: 0,
            dynamic_shared: 0,
            entries: &[TRIAD, READ, FMA_F32, FMA_F64, FILL],
            instructions: &["LDG.E.NA.128", "STG.E.128", "FFMA", "DFMA"],
        },
    }
}

/// What the entry points are passed: `Params` in CUDA. Lengths count vectors of 16 bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Params {
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) c: u64,
    pub(crate) n: u64,
    pub(crate) times: u64,
    pub(crate) seed: u64,
}

// SAFETY: it is laid out as C does, without padding, and is what the entry points take.
unsafe impl DeviceRepr for Params {}

const _: () = assert!(size_of::<Params>() == 48);
