//! What [`shares`](super::shares) and [`lending`](super::lending) pass between threads. `tools/models`
//! compiles these two with loom's types in the place of these.

pub(crate) use std::sync::atomic::{AtomicUsize, Ordering};
pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
