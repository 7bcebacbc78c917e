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
pub mod kernels;
mod observed;
mod options;
mod ordering;
mod plan;
mod planner;
mod progress;
mod schedule;
pub mod simulate;

pub use candidates::{ScheduleKind, ScheduleOption};
pub use cost::{
    Cost, Footprint, LinearCost, Resource, Workload, linear_cost, price, seconds_on, terms,
    transfer_seconds,
};
pub use device::{
    Cache, CpuFacts, CpuSignature, DeviceFileError, DeviceKind, DeviceSpec, Fit, MeasuredRates,
    Overlap, PerDType, PerFormat, Quality, Terms, Unit, caches, cpu_name,
};
pub use error::{PlanError, ScheduleError};
pub use explain::{Candidate, Explanation, Outcome};
pub use file::{
    AttachedArray, AttachedData, AttachedElement, Attachment, AttachmentError, LoadOptions,
    PlanFileError, PlanFileInfo, SectionInfo,
};
pub use fingerprint::Fingerprint;
pub use kernels::{KernelCatalog, KernelConfig, KernelWork, Kernels};
pub use observed::Observed;
pub use options::{FormatChoice, PlanOptions};
pub use ordering::{Considered, Reorder, Space};
pub use plan::Plan;
pub use planner::Planner;
pub use progress::{Progress, Share, Stage};
pub use schedule::{
    COLUMN_UNIT, ColRange, Columns, Partitioning, Reduction, Schedule, Task, TaskSize, TilePtr,
    Windows,
};
