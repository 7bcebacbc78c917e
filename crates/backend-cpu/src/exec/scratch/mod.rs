//! Memory that products use meanwhile and that holds nothing between two.
//!
//! All of it begins with a cache line. [`ScratchPool`] lends buffers to products: packed panels of B, copies
//! of a B that kernels can't read in place, sums of split windows. [`ThreadScratch`] is what each thread
//! keeps for itself.

mod aligned;
mod panels;
mod per_thread;
mod pool;

pub(crate) use panels::PanelScratch;
pub(crate) use per_thread::ThreadScratch;
pub(crate) use pool::{LentBuffer, ScratchPool};
