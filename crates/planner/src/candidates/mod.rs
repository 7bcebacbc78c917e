//! Schedules that kernels honour, for the windows a format would have: cut, and compared by replay.

mod schedules;
mod windows;

pub(crate) use schedules::{Compared, Cut, compare};
pub use schedules::{ScheduleKind, ScheduleOption};
pub(crate) use windows::{HybridWindows, counted_windows};
