//! Plans whose arrays are borrowed from a mapped file: the one module of the crate with `unsafe`.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use super::source::MapSource;
use super::{LoadOptions, PlanFileError};
use crate::plan::Plan;

impl LoadOptions {
    /// Maps a plan file and borrows its arrays: no copy, and with
    /// [`check_hashes`](Self::check_hashes) off nothing is read but indices, for the structural
    /// checks. The mapping lives as long as the last [`Buffer`](girih_formats::Buffer) into it.
    ///
    /// # Errors
    /// If the file cannot be mapped or is not a sound plan.
    ///
    /// # Safety
    /// While the plan, or a buffer cloned from it, lives, nobody may change or truncate the file.
    /// A change could undo what validation promised to the kernels, and reading past a truncation
    /// ends the process (SIGBUS). Files written by [`Plan::save`] are replaced by renaming and not
    /// changed in place, so saving over a mapped plan is sound. The mapping holds a shared lock on the file
    /// (`flock` on Unix), for programs that ask for one before they write. Where this cannot be promised,
    /// [`read`](Self::read).
    pub unsafe fn map(self, path: impl AsRef<Path>) -> Result<Plan, PlanFileError> {
        // SAFETY: the caller promises what `map_file` requires.
        unsafe { self.map_file(path.as_ref()) }
    }

    /// # Safety
    /// As [`map`](Self::map).
    unsafe fn map_file(self, path: &Path) -> Result<Plan, PlanFileError> {
        let file = File::open(path).map_err(|e| PlanFileError::io("open", &path.display(), e))?;
        self.check_len(&file, path)?;
        // Held by the mapping, on systems whose mappings hold the file: whoever changes plans in place and asks
        // for the lock waits. Where there are no locks, there is the promise.
        if let Err(TryLockError::WouldBlock) = file.try_lock_shared() {
            return Err(PlanFileError::Locked { place: path.display().to_string() });
        }
        // SAFETY: the caller promises that the file is neither changed nor truncated while the
        // mapping lives.
        let map = unsafe { Mmap::map(&file) }
            .map_err(|e| PlanFileError::io("map", &path.display(), e))?;
        self.load(&MapSource(Arc::new(map))).map(|(plan, _)| plan)
    }
}
