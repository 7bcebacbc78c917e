//! Orderings of the rows and columns of sparse matrices, and metrics of what they gain.
//!
//! An ordering is a [`Permutation`]: it is computed from a pattern ([`rcm()`], [`simple`]), judged
//! without permuting anything ([`metrics`]), applied to matrices, vectors and dense operands, or
//! handed to a tiling as a row layout ([`Permutation::to_row_layout`]). What makes windowed tilings
//! small is not an order but a partition, and [`window()`] gives a row layout at once; [`blocks()`] deals
//! rows and columns into blocks.
//!
//! ```
//! use girih_generate::laplacian_5pt;
//! use girih_reorder::{metrics, rcm, simple};
//!
//! let grid = laplacian_5pt::<f32>(40, 10)?;
//! let shuffled = simple::random(400, 1)?.apply_symmetric(&grid)?;
//! let order = rcm(shuffled.pattern())?;
//! let effect = metrics::effect(shuffled.pattern(), &order, &order)?;
//! assert!(effect.before.bandwidth > 300);
//! assert!(effect.after.bandwidth <= 11);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod error;
mod method;
pub mod metrics;
mod occupied;
mod permutation;
mod rcm;
mod reordering;
mod rng;
pub mod simple;
mod window;

pub use error::ReorderError;
pub use method::{Method, WINDOW_ROWS};
pub use occupied::check_cols;
pub use permutation::Permutation;
pub use rcm::{rcm, rcm_rows_cols};
pub use reordering::Reordering;
pub use window::{
    BlockOptions, BlockOrdering, BlockStats, WindowEffort, WindowOptions, WindowOrdering,
    WindowStart, WindowStats, blocks, sampled_windows, window, window_observed,
};
