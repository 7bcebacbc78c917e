//! Tasks that do not fit a tiling.

use thiserror::Error;

/// Tasks that do not cover a tiling exactly once, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("schedule: task {task} {reason}")]
pub struct ScheduleError {
    /// Position of the first offending task; the number of tasks if the end is missing.
    pub task: usize,
    /// What is wrong with it.
    pub reason: &'static str,
}
