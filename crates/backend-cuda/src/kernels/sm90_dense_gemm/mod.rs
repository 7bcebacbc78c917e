//! Products of plans in BCSR whose blocks are all there, on Hopper, by `sm90_dense_gemm.cu`.
//!
//! Dense is BCSR at 100 %: the kernel reads the blocks where `sm90_bcsr_spmm` does, so that both kernels
//! serve one plan and each product takes the one that takes fewer cycles by its counts ([`cost`]). Blocks
//! that are missing would have to be stored as zeros, and those would let a NaN of B into rows of C that
//! have no entry there; so a matrix that lacks one is none for it.

mod config;
mod cost;
#[cfg(test)]
mod entries;
#[cfg(test)]
mod faults;
mod launch;
mod params;

pub use config::{DenseConfig, Rung};
pub(crate) use config::{configs, ladder_kernels};
pub(crate) use cost::Full;
pub(crate) use launch::{device_plan, entries, is_full};

/// Which kernel multiplies a plan in BCSR whose blocks are all there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FullBlocks {
    /// The one that takes fewer cycles by its counts of flops and bytes, in the configuration that does.
    #[default]
    Fastest,
    /// The kernel for blocks, as if some were missing.
    Blocks,
    /// The dense kernel in one configuration: for measurements. B that no tensor copy can move is multiplied
    /// by the kernel for blocks where the configuration takes no other.
    Dense(DenseConfig),
}
