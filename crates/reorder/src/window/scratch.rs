//! Scratch memory that tasks hand to one another.

use std::sync::{Mutex, PoisonError};

/// A stack of scratch values: as many are ever made as tasks run at a time.
pub(super) struct Pool<S>(Mutex<Vec<S>>);

impl<S> Pool<S> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Runs a task with a scratch value that an earlier task has left, or a new one. A task must
    /// leave it as good as new.
    pub(super) fn with<R>(&self, new: impl FnOnce() -> S, task: impl FnOnce(&mut S) -> R) -> R {
        let left = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = left.unwrap_or_else(new);
        let result = task(&mut scratch);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        result
    }
}
