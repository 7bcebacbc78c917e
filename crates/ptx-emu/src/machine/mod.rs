//! The machine that executes programs.
//!
//! A grid is cut into clusters, which share nothing but global memory and run in parallel. A
//! [`Cluster`] owns everything its CTAs share (shared memory, barriers, pending asynchronous
//! operations); its [`Warp`]s are kept apart from it, so that an instruction gets both its warp and
//! the cluster to change.

mod cluster;
mod context;
mod device;
mod kernel;
pub(crate) mod operation;
mod preset;
pub(crate) mod registers;
mod wait;
pub(crate) mod warp;

pub(crate) use cluster::{Cluster, Cta};
pub(crate) use context::Context;
pub use context::{Schedule, Timing};
pub use device::Device;
pub(crate) use kernel::{Code, Kernel, Location, ModuleVariable, Parameter, Relocation};
pub(crate) use wait::WaitFor;
pub(crate) use warp::{Warp, lanes};
