//! What is multiplied.

use std::time::Duration;

use girih::formats::Narrowing;
use girih::planner::Plan;

use crate::input::matrix::Matrix;

/// A plan, and where it came from.
pub(super) struct Loaded {
    pub(super) plan: Plan,
    /// The matrix it was made from, if it was made here.
    pub(super) matrix: Option<Matrix>,
    /// What rounding made of the matrix's values, if it was read here.
    pub(super) narrowing: Option<Narrowing>,
    pub(super) load: Duration,
    pub(super) planning: Option<Duration>,
}
