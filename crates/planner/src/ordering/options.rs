//! What a caller asks of a plan's order.

use girih_reorder::Method;
use serde::{Deserialize, Serialize};

/// In which order a plan's tiles hold the rows of the matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reorder {
    /// The order they have.
    #[default]
    None,
    /// The order they have, or an ordering that the cost estimate says is faster: what was seen is in
    /// the [explanation](crate::Explanation::orderings).
    Auto,
    /// This ordering, even if it makes products slower.
    By(Method),
    /// The order given to [`Planner::plan_reordered`](crate::Planner::plan_reordered).
    Given,
}

impl From<Method> for Reorder {
    fn from(method: Method) -> Self {
        Self::By(method)
    }
}

/// The order in which a plan takes rows of B and gives rows of C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Space {
    /// The matrix's own: products know nothing of the plan's order. Rows of C are scattered as they
    /// are stored; rows of B are found through the tiles' column indices, or permuted where a format
    /// has blocks of columns.
    #[default]
    Caller,
    /// The plan's: `P·C = α·(P·A·Qᵀ)·(Q·B) + β·(P·C)`, for callers who keep their vectors permuted,
    /// say for all steps of a solver. P is [`Plan::row_permutation`](crate::Plan::row_permutation) and
    /// Q [`Plan::col_permutation`](crate::Plan::col_permutation); for a square matrix they are the
    /// same.
    Permuted,
}
