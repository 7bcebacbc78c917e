//! Mapping a plan file, at the user's word: the one module of the crate with `unsafe`.
#![expect(unsafe_code, reason = "a mapping is only as sound as the user's promise behind --mmap")]

use std::path::Path;

use girih::planner::{LoadOptions, Plan, PlanFileError};

/// Maps a plan file with full checks. For `--mmap` only, whose help states the condition.
pub(crate) fn map(path: &Path) -> Result<Plan, PlanFileError> {
    // SAFETY: whoever gives --mmap promises, as its help says, that nobody changes the file while
    // the command runs; the command itself replaces files by renaming only.
    unsafe { LoadOptions::default().map(path) }
}
