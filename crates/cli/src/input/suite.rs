//! A benchmark's suite, from a file.

use std::fs;
use std::path::Path;

use girih_measure::bench::{Suite, SuiteReport};

use crate::error::CliError;

/// The suite in a file, and its name and description for the report.
///
/// # Errors
/// If the file cannot be read or is not a suite.
pub(crate) fn read(path: &Path) -> Result<(Suite, SuiteReport), CliError> {
    let text = fs::read_to_string(path).map_err(|e| CliError::input_from(path, e))?;
    let suite: Suite = text.parse().map_err(|e| CliError::input_from(path, e))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let report = SuiteReport { name, description: suite.description.clone() };
    Ok((suite, report))
}
