//! What can go wrong between a matrix and a plan, or a plan and its file.

use girih_formats::FormatError;
use thiserror::Error;

/// A plan that cannot be made, saved or loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The matrix or a conversion is at fault.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A schedule does not cover the tiling exactly once, in order.
    #[error("schedule: task {task} {reason}")]
    Schedule {
        /// Position of the first offending task; the number of tasks if the end is missing.
        task: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}
