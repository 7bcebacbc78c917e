//! What kernels report in tests, to be compared with the lowering.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use crate::kernels::prefetch::Prefetch;

/// What kernels did in products on one prepared plan.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Trace>);

/// The names of the kernels that ran, and what they did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) kernels: BTreeSet<&'static str>,
    pub(crate) prefetched_a: bool,
    pub(crate) prefetched_b: bool,
    pub(crate) whole_rows: bool,
    pub(crate) packed_strips: bool,
    pub(crate) past_caches: bool,
    /// Widths of panels of B that were packed.
    pub(crate) packed: BTreeSet<usize>,
    pub(crate) threads: Vec<ThreadId>,
}

impl Recorder {
    pub(crate) fn leaked() -> &'static Self {
        Box::leak(Box::default())
    }

    fn with(&self, f: impl FnOnce(&mut Trace)) {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Records that a kernel runs on this thread, and what it prefetches [ahead](crate::kernels::prefetch).
    pub(crate) fn kernel(&self, name: &'static str, prefetch: Prefetch, past_caches: bool) {
        let thread = thread::current().id();
        self.with(|trace| {
            trace.kernels.insert(name);
            trace.prefetched_a |= prefetch != Prefetch::Nothing;
            trace.prefetched_b |= prefetch == Prefetch::Rows;
            trace.past_caches |= past_caches;
            if !trace.threads.contains(&thread) {
                trace.threads.push(thread);
            }
        });
    }

    pub(crate) fn whole_rows(&self) {
        self.with(|trace| trace.whole_rows = true);
    }

    pub(crate) fn gathered(&self) {
        self.with(|trace| trace.packed_strips = true);
    }

    pub(crate) fn packed(&self, width: usize) {
        self.with(|trace| {
            trace.packed.insert(width);
        });
    }

    /// What was recorded since the last call.
    pub(crate) fn take(&self) -> Trace {
        let mut trace = Trace::default();
        self.with(|found| trace = std::mem::take(found));
        trace
    }
}
