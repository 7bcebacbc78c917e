//! The work of a loop in shares, one for each thread, which threads take from their own first and then from
//! others'.
//!
//! Nothing here makes what one thread wrote visible to another: what starts and joins the threads does.
//! `tools/models` runs this under every order in which threads can meet.

use std::ops::Range;

use super::sync::{AtomicUsize, Mutex, Ordering, PoisonError};

/// The work that one thread begins with, in cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct WorkShare<S>(pub(crate) S);

/// Indices of which threads take the next ones.
#[derive(Debug)]
pub(crate) struct Indices {
    next: AtomicUsize,
    end: usize,
}

impl Indices {
    /// The indices below `count`, in one share for each thread. Their lengths differ by one at most.
    pub(crate) fn shares(count: usize, threads: usize) -> Vec<WorkShare<Self>> {
        let end = |i: usize| (count as u128 * i as u128 / threads as u128) as usize;
        let share = |i| WorkShare(Self { next: AtomicUsize::new(end(i)), end: end(i + 1) });
        (0..threads).map(share).collect()
    }

    /// Takes the next `grain` indices, or as many as are left.
    fn take(&self, grain: usize) -> Option<Range<usize>> {
        // Nothing but the indices themselves passes between threads here.
        let start = self.next.fetch_add(grain, Ordering::Relaxed);
        (start < self.end).then(|| start..self.end.min(start + grain))
    }

    /// Calls `f` with indices until none is left.
    pub(crate) fn work_off(&self, grain: usize, f: &(dyn Fn(usize) + Sync)) {
        while let Some(indices) = self.take(grain) {
            indices.for_each(f);
        }
    }
}

/// Items of which threads take the next one, with its index.
#[derive(Debug)]
pub(crate) struct Items<I>(Mutex<(Range<usize>, I)>);

impl<I: Iterator> Items<I> {
    /// Items of which the first has the first of `indices`.
    pub(crate) fn new(indices: Range<usize>, items: I) -> Self {
        Self(Mutex::new((indices, items)))
    }

    /// Calls `f` with items until none is left.
    pub(crate) fn work_off(&self, f: impl Fn(usize, I::Item)) {
        // Whoever holds the lock cannot panic.
        let next = || {
            let (indices, items) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Some((indices.next()?, items.next()?))
        };
        while let Some((i, item)) = next() {
            f(i, item);
        }
    }
}

/// Runs share `own` and then all others: a thread that finishes its own goes on with what is left of them.
pub(crate) fn run_from<S>(shares: &[WorkShare<S>], own: usize, work: &impl Fn(&S)) {
    let (others, first) = shares.split_at(own);
    first.iter().chain(others).for_each(|WorkShare(share)| work(share));
}

/// Threads that are not done. It says when waiting may end, and no more: who reads what they wrote joins them
/// first.
#[derive(Debug)]
pub(crate) struct Awaited(AtomicUsize);

impl Awaited {
    /// None of `threads` threads is done.
    pub(crate) fn new(threads: usize) -> Self {
        Self(AtomicUsize::new(threads))
    }

    /// One thread is done.
    pub(crate) fn done(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Waits until all are done, but gives up when `pause` says so.
    pub(crate) fn wait(&self, mut pause: impl FnMut() -> bool) {
        while self.0.load(Ordering::Relaxed) > 0 && pause() {}
    }
}
