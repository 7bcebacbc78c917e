//! What a plan would execute on this machine.

use std::fmt::{self, Display};

use girih::backend::Lowering;
use girih::planner::Plan;
use girih::planner::file::Attachment;
use serde::Serialize;

use super::cuda;
use crate::error::CliError;

/// What the backend that runs a plan here would execute, or why none would.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Lowered {
    Lowering(Lowering),
    NotLowered(String),
}

/// Lowers a plan on the backend that `girih spmm` would take, which may prepare it.
///
/// # Errors
/// If the settings of the CUDA backend are wrong.
pub(crate) fn here(plan: &Plan) -> Result<Lowered, CliError> {
    let registry = girih::backends_with(cuda::options()?);
    let lowered = registry.best_for(plan).and_then(|selected| selected.backend.lower(plan));
    Ok(match lowered {
        Ok(lowering) => Lowered::Lowering(lowering),
        Err(error) => Lowered::NotLowered(error.to_string()),
    })
}

/// What the backend that `girih spmm` would take keeps with a plan for this machine; `None` if nothing.
///
/// # Errors
/// If no backend of this machine runs the plan, or it cannot be laid out.
pub(crate) fn layout(plan: &Plan) -> Result<Option<Attachment>, CliError> {
    let registry = girih::backends_with(cuda::options()?);
    let kept = registry.best_for(plan).and_then(|selected| selected.backend.layout(plan));
    kept.map_err(|e| CliError::failed("cannot lay the plan out for this machine").because(e))
}

impl Display for Lowered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lowering(lowering) => write!(f, "this machine would execute it by {lowering}"),
            Self::NotLowered(why) => write!(f, "this machine cannot execute it: {why}"),
        }
    }
}
