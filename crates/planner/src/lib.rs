//! Plans: a matrix in the layout that a machine multiplies fastest, with who computes what.

#![forbid(unsafe_code)]

mod error;
mod plan;
mod schedule;

pub use error::PlanError;
pub use plan::Plan;
pub use schedule::{Schedule, Task};
