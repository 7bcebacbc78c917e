//! Which of a planner's refusals a benchmark can pass over.

use girih::PlanError;
use girih::formats::FormatError;
use girih::reorder::ReorderError;

/// Whether the combination of matrix, format and device is not supported, or takes more memory than it
/// may. Other combinations may still be planned.
pub fn is_unsupported(error: &PlanError) -> bool {
    match error {
        PlanError::Format(FormatError::Parameter { .. }) => false,
        PlanError::Ordering(
            ReorderError::TooManyColumns { .. } | ReorderError::TooLarge { .. },
        ) => true,
        PlanError::Format(_) | PlanError::Refused { .. } | PlanError::NothingFits { .. } => true,
        _ => false,
    }
}

/// Whether a plan needs more memory than it may take.
pub fn is_above_memory_limit(error: &PlanError) -> bool {
    matches!(error, PlanError::Refused { .. } | PlanError::NothingFits { .. })
        && error.to_string().contains("the limit is")
}
