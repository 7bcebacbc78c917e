//! What `crates/backend-cpu/src/exec/sync.rs` takes from the standard library, from loom.

pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering};
pub(crate) use loom::sync::{Mutex, MutexGuard};
pub(crate) use std::sync::{PoisonError, TryLockError};
