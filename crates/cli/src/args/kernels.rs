//! The flags of `girih kernels`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use girih::cuda::Arch;

use super::Json;

/// Compile the CUDA kernels ahead of time, list them, or check them
///
/// Without this command, each entry point of a kernel is compiled when a product first needs it, in some tenths of a
/// second. A machine without a compiler can use a cache that was built elsewhere, by any version of the compiler.
#[derive(Debug, Args)]
pub(crate) struct KernelsArgs {
    #[command(subcommand)]
    pub(crate) action: KernelsAction,
    /// Architecture to compile for [default: the device's own, or that of Hopper]
    #[arg(long, global = true, value_name = "ARCH")]
    pub(crate) arch: Option<Arch>,
    /// Folder of compiled kernels [default: as `girih backends` shows]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) cache: Option<PathBuf>,
    /// Take the kernels with a bias and an activation too, which are as many again. Without a compiler, products
    /// with them need these in the cache
    #[arg(long, global = true)]
    pub(crate) epilogues: bool,
    /// Take the kernels whose C is of f16 or bf16, as A and B are. Without a compiler, such products need these in the
    /// cache
    #[arg(long, global = true)]
    pub(crate) rounded: bool,
    /// Take the kernels for the maximum, minimum and mean of a row's products too. Without a compiler, these need
    /// them in the cache
    #[arg(long, global = true)]
    pub(crate) aggregations: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum KernelsAction {
    /// Compile every kernel in every configuration into the cache
    Build,
    /// List every kernel, and whether the cache has it, whole or by entry
    List,
    /// Compile every kernel again, and check its registers, spills and shared memory. Where nvdisasm is
    /// installed, check also the instructions that the kernel promises
    Check,
}
