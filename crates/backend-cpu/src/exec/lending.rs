//! Things that are lent to one user at a time, without waiting. `tools/models` runs this under every order in
//! which threads can meet.

use super::sync::{Mutex, MutexGuard, TryLockError};

/// Things of which each serves one user at a time.
///
/// Nothing here ever waits: the user may be further up on this very thread's stack, if rayon has lent its
/// thread to this one.
#[derive(Debug)]
pub(crate) struct Lending<B>(Vec<Mutex<B>>);

impl<B> Lending<B> {
    /// Lends these.
    pub(crate) fn new(all: impl IntoIterator<Item = B>) -> Self {
        Self(all.into_iter().map(Mutex::new).collect())
    }

    /// One of them until what is returned is dropped; `None` while all are lent.
    pub(crate) fn lend(&self) -> Option<MutexGuard<'_, B>> {
        self.0.iter().find_map(|one| match one.try_lock() {
            Ok(one) => Some(one),
            // Nothing that is lent holds anything that a panic could have left half written.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
    }
}
