//! What there is to choose from: formats with their tile sizes, kernel configurations, schedules —
//! those that are legal for a device.

mod formats;
mod kernel;
mod schedules;
mod shared_memory;

pub use kernel::KernelConfig;
pub use schedules::{ScheduleKind, ScheduleOption};
pub use shared_memory::{Ring, ring};

pub(crate) use formats::{formats, illegal};
pub(crate) use schedules::{Cut, compare, windows};
