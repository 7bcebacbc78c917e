//! Schedules that kernels honour, for the windows a format would have: cut, and compared by replay.

mod schedules;
mod windows;

pub use schedules::ScheduleOption;
pub(crate) use schedules::{Compared, Cut, compare};
pub(crate) use windows::{HybridWindows, counted_windows};
