//! A benchmark's suite, from a file.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use girih_measure::bench::{Suite, SuiteReport};

use crate::error::CliError;

/// The largest file of a suite.
const MAX_BYTES: u64 = 1 << 20;

/// The text of a regular file that is not too large.
fn text(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("it is larger than a suite can be"));
    }
    Ok(text)
}

/// The suite in a file, and its name and description for the report.
///
/// # Errors
/// If the file cannot be read or is not a suite.
pub(crate) fn read(path: &Path) -> Result<(Suite, SuiteReport), CliError> {
    let text = text(path).map_err(|e| CliError::input_from(path, e))?;
    let suite: Suite = text.parse().map_err(|e| CliError::input_from(path, e))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let report = SuiteReport { name, description: suite.description.clone() };
    Ok((suite, report))
}
