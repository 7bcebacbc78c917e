//! Plans: a matrix in the layout that a machine multiplies fastest, with who computes what.

#![deny(unsafe_code)]

pub mod calibrate;
mod candidates;
mod choice;
mod cost;
mod device;
mod error;
mod explain;
pub mod file;
mod fingerprint;
mod options;
mod ordering;
mod plan;
mod planner;
mod schedule;
pub mod simulate;

pub use candidates::{KernelConfig, Ring, ScheduleKind, ScheduleOption, ring};
pub use cost::{Cost, Footprint, LinearCost, Resource, Workload, linear_cost, price, terms};
pub use device::{
    CpuFacts, DeviceFileError, DeviceKind, DeviceSpec, Fit, MeasuredRates, Overlap, PerDType,
    PerFormat, Quality, Terms, Unit,
};
pub use error::{PlanError, ScheduleError};
pub use explain::{Candidate, Explanation, Outcome};
pub use file::{LoadOptions, PlanFileError};
pub use fingerprint::Fingerprint;
pub use options::{FormatChoice, PlanOptions};
pub use ordering::{Considered, Reorder, Space};
pub use plan::Plan;
pub use planner::Planner;
pub use schedule::{
    COLUMN_UNIT, ColRange, Columns, Partitioning, Reduction, Schedule, Task, TaskSize, TilePtr,
    Windows,
};
