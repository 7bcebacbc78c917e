//! What can go wrong between a matrix and a plan.

use girih_formats::{FormatError, FormatSpec};
use girih_reorder::ReorderError;
use thiserror::Error;

use crate::file::PlanFileError;
use crate::schedule::ScheduleError;

/// A plan that cannot be made, saved or loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The matrix or a conversion is at fault.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The order cannot be computed, or is of another matrix.
    #[error(transparent)]
    Ordering(#[from] ReorderError),
    /// The tasks do not fit the tiling.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A plan file is at fault.
    #[error(transparent)]
    File(#[from] PlanFileError),
    /// An option is out of its range.
    #[error("option {option}: {reason}")]
    Options {
        /// Which option.
        option: &'static str,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The requested format cannot be used.
    #[error("{spec} cannot be used: {reason}")]
    Refused {
        /// The format.
        spec: FormatSpec,
        /// Why not, and what to do.
        reason: String,
    },
    /// No format satisfies the options.
    #[error("no format satisfies the options: {reasons}")]
    NothingFits {
        /// Every candidate with the reason it was rejected.
        reasons: String,
    },
    /// The plan was made without the map that new values need.
    #[error("the plan keeps no slot map; plan again with `keep_slot_map` to refresh its values")]
    NoSlotMap,
    /// Values of another matrix were offered.
    #[error("the matrix has another pattern or value type than the one the plan was made from")]
    OtherMatrix,
}
