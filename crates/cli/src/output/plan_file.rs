//! Plans in files and streams.

use std::fs::File;
use std::io::BufWriter;

use girih::planner::Plan;
use girih::planner::file::PlanFileError;

use super::file::Output;

/// Writes a plan, and returns the number of bytes.
///
/// # Errors
/// If the plan cannot be written.
pub(crate) fn save(plan: &Plan, output: &Output) -> Result<u64, PlanFileError> {
    if !output.is_streamed() {
        return plan.save(output);
    }
    let place = output.as_ref().display().to_string();
    let file = File::create(output);
    let file = file.map_err(|source| PlanFileError::Io { action: "open", place, source })?;
    plan.write_to(BufWriter::with_capacity(1 << 16, file))
}
