//! What became of what was considered.

use serde::{Deserialize, Serialize};

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It is the plan's format.
    Chosen,
    /// It was estimated slower than the chosen one; or as fast and later in the fixed order; or, the
    /// same format with smaller tiles, less than 2 % faster.
    Lost,
    /// It cannot serve.
    Rejected {
        /// Why not.
        reason: String,
    },
}
