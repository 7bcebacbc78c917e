//! How work is cut into tasks.

use serde::{Deserialize, Serialize};

use super::Reduction;

/// How work is cut into tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScheduleKind {
    /// Tasks of a size: windows grouped, long ones split.
    Tasks,
    /// A task for each window, long ones split at a limit.
    Split(Reduction),
    /// A task for each window.
    Windows,
    /// Partitions for persistent workers (Voltrix's Algorithm 1).
    Partitions,
}

impl ScheduleKind {
    /// A name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tasks => "balanced tasks",
            Self::Split(Reduction::TwoPass) => "split windows, two-pass",
            Self::Split(Reduction::Atomic) => "split windows, atomic",
            Self::Windows => "one window each",
            Self::Partitions => "partitions",
        }
    }
}
