//! Mapping a plan file, at the user's word: the one module of the input with `unsafe`.
#![expect(unsafe_code, reason = "a mapping is only as sound as the user's promise behind --mmap")]

use std::io;
use std::path::Path;

use girih::planner::Plan;
use girih::planner::file::{LoadOptions, PlanFileError};

use crate::error::CliError;
use crate::system::signals;

/// Maps a plan file with full checks. For `--mmap` only, whose help states the condition.
///
/// # Errors
/// If other users may write the file; inside, if it cannot be mapped or is no sound plan.
pub(crate) fn map(
    path: &Path,
    options: LoadOptions,
) -> Result<Result<Plan, PlanFileError>, CliError> {
    if others_may_write(path).map_err(|e| CliError::input_from(path, e))? {
        return Err(CliError::input(format!(
            "{}: other users may change this file while it is mapped; leave --mmap out, or make the file yours \
             and take the permission to write away from all others",
            path.display()
        )));
    }
    signals::explain_truncation();
    // SAFETY: whoever gives --mmap promises, as its help says, that nobody changes the file while
    // the command runs; the command itself replaces files by renaming only.
    Ok(unsafe { options.map(path) })
}

/// Whether users other than this one and the system's may write a file. Of a group the user is to judge: many
/// systems have one for each user.
#[cfg(unix)]
fn others_may_write(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path)?;
    // SAFETY: the function has no preconditions, and does not fail.
    let user = unsafe { libc::geteuid() };
    Ok(found.mode() & 0o002 != 0 || (found.uid() != user && found.uid() != 0))
}

#[cfg(not(unix))]
fn others_may_write(_: &Path) -> io::Result<bool> {
    Ok(false)
}
