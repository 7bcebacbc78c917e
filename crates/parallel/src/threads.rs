//! Whose threads loops run on.

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::Arc;

/// Threads for loops, other than rayon's.
pub trait Threads: Debug + Send + Sync {
    /// How many there are, the calling thread included.
    fn count(&self) -> usize;

    /// Calls `f` with each index below `count`, at least `min_len` of them in a row on a thread.
    fn for_each_below(&self, count: usize, min_len: usize, f: &(dyn Fn(usize) + Sync));
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Threads>>> = const { RefCell::new(None) };
}

/// Runs `f` with all loops that it starts on this thread on `threads`. Loops that these threads start in turn run
/// where they would without.
///
/// Rayon's threads sleep between loops, and waking them takes as long as a short loop. Who keeps threads awake can
/// have loops run on those.
///
/// Sorting stays on rayon's threads.
pub fn on_threads<R>(threads: Arc<dyn Threads>, f: impl FnOnce() -> R) -> R {
    let _restored = Restored(CURRENT.replace(Some(threads)));
    f()
}

/// Puts the threads from before back, also after a panic.
struct Restored(Option<Arc<dyn Threads>>);

impl Drop for Restored {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// The threads that loops of this thread run on; `None` for rayon's.
pub(crate) fn current() -> Option<Arc<dyn Threads>> {
    CURRENT.with_borrow(Clone::clone)
}

/// The number of threads that loops of this thread run on.
#[must_use]
pub fn current_num_threads() -> usize {
    current().map_or_else(rayon::current_num_threads, |threads| threads.count())
}
