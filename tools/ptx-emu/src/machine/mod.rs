//! The machine that executes programs.
//!
//! A grid is cut into clusters, which share nothing but global memory and run in parallel. A
//! [`Cluster`] owns everything its CTAs share (shared memory, barriers, pending asynchronous
//! operations); its [`Warp`]s are kept apart from it, so that an instruction gets both its warp and
//! the cluster to change.

mod barrier;
mod cluster;
mod context;
mod device;
mod gpu;
mod grid;
mod kernel;
mod launch;
mod launch_error;
pub(crate) mod operation;
mod preset;
mod random;
pub(crate) mod registers;
mod run;
pub(crate) mod spin;
mod statistics;
mod turn;
mod wait;
pub(crate) mod warp;

pub(crate) use barrier::Reduced;
pub(crate) use cluster::Cluster;
pub(crate) use context::Context;
pub use context::{Schedule, Timing};
pub use device::Device;
pub use gpu::{Buffer, Gpu};
pub(crate) use kernel::{Code, Kernel, Location, ModuleVariable, Parameter, Relocation};
pub use launch::{Arg, DEFAULT_STEP_LIMIT, Launch, Launched};
pub use launch_error::LaunchError;
pub(crate) use statistics::Opcodes;
pub use statistics::{Executions, Statistics};
pub(crate) use wait::WaitFor;
pub(crate) use warp::{Warp, lanes};
