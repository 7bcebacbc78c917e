//! Scratch for packed panels of B; [which](crate::lowering::packing) are packed is decided elsewhere.

use std::sync::{Mutex, MutexGuard, TryLockError};

use girih_formats::Scalar;

use crate::exec::scratch::aligned::Aligned;
use crate::lowering::Panels;

/// Scratch for packed panels of B: their rows next to each other, a few lines wide.
///
/// Where rows of A meet rows of B far apart, more of B passes through the caches than they hold. A
/// panel of a few columns is small enough to stay there; packed, its rows fill cache lines and pages
/// that in B itself hold other columns too.
#[derive(Debug)]
pub(crate) struct Packing<T: Scalar> {
    /// One, or as many as threads that each have a panel of their own.
    scratch: Vec<Mutex<Aligned<T>>>,
}

impl<T: Scalar> Packing<T> {
    /// Scratch for panels; `None` where there is no memory for it.
    pub(crate) fn new(panels: &Panels) -> Option<Self> {
        let len = panels.rows.checked_mul(panels.row_stride())?;
        let one = || Aligned::zeroed(len).ok().map(Mutex::new);
        let scratch = (0..panels.copies).map(|_| one()).collect::<Option<_>>()?;
        Some(Self { scratch })
    }

    /// Scratch for a panel; `None` while other products use all of it, which may be further up on this very
    /// thread's stack.
    pub(crate) fn scratch(&self) -> Option<MutexGuard<'_, Aligned<T>>> {
        self.scratch.iter().find_map(|scratch| match scratch.try_lock() {
            Ok(scratch) => Some(scratch),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
    }
}
