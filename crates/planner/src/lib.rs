//! Plans: a matrix in the layout that a machine multiplies fastest, and the schedule of its tasks.
//!
//! A [`Planner`] turns a matrix and [`PlanOptions`] into a [`Plan`]. The root holds what most callers
//! need; the modules hold the rest:
//!
//! | module | holds |
//! |---|---|
//! | [`calibrate`] | fits a device's cost model to measured products |
//! | [`cost`] | the cost model: workloads, estimates, the footprint of B |
//! | [`device`] | descriptions of machines, and how to read and write them |
//! | [`explanation`] | why a plan is what it is: candidates, orderings, schedules |
//! | [`mod@file`] | plan files: their format, attachments, what they say of themselves |
//! | [`kernels`] | what a backend can run, as a planner sees it |
//! | [`ordering`] | the order of a plan's rows: what options may call for |
//! | [`precision`] | how products of f32 may round |
//! | [`progress`] | what a planner is doing, for observers |
//! | [`schedule`] | tasks and how they are cut |
//! | [`simulate`] | replays of schedules on simulated workers |

#![deny(unsafe_code)]

pub mod calibrate;
mod candidates;
mod choice;
pub mod cost;
pub mod device;
mod error;
pub mod explanation;
pub mod file;
mod fingerprint;
pub mod kernels;
mod new_values;
mod options;
pub mod ordering;
mod plan;
mod planner;
pub mod precision;
pub mod progress;
pub mod schedule;
pub mod simulate;

pub use device::DeviceSpec;
pub use error::PlanError;
pub use explanation::Explanation;
pub use fingerprint::Fingerprint;
pub use kernels::Kernels;
pub use new_values::NewValues;
pub use options::{FormatChoice, Op, PlanOptions};
pub use ordering::{Reorder, Space};
pub use plan::Plan;
pub use planner::Planner;
pub use precision::Precision;
pub use schedule::Schedule;
