//! What kernels report in tests, to be compared with the lowering.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use crate::kernels::prefetch::Prefetch;

/// What kernels did in products on one prepared plan.
#[derive(Debug, Default)]
pub struct Recorder(Mutex<Trace>);

/// The names of the kernels that ran, and what they did.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Names of the kernels that ran.
    pub kernels: BTreeSet<&'static str>,
    /// Whether entries of A were prefetched.
    pub prefetched_a: bool,
    /// Whether rows of B were prefetched.
    pub prefetched_b: bool,
    /// Whether long rows read whole rows of B.
    pub whole_rows: bool,
    /// Whether rows of B were gathered for dense strips.
    pub packed_strips: bool,
    /// Whether C was written past the caches.
    pub past_caches: bool,
    /// Whether vectors began with cache lines, before the first column.
    pub from_lines: bool,
    /// Whether B was widened before.
    pub widened_b: bool,
    /// Whether B was copied into cache lines before.
    pub copied_into_lines: bool,
    /// Widths of panels of B that were packed.
    pub packed: BTreeSet<usize>,
    /// The threads that multiplied.
    pub threads: Vec<ThreadId>,
}

impl Recorder {
    /// A recorder that lives as long as the process.
    pub fn leaked() -> &'static Self {
        Box::leak(Box::default())
    }

    fn with(&self, f: impl FnOnce(&mut Trace)) {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Records that a kernel runs on this thread, and what it prefetches ahead.
    pub fn kernel(&self, name: &'static str, prefetch: Prefetch, past_caches: bool) {
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

    /// Records that a kernel reads whole rows of B.
    pub fn whole_rows(&self) {
        self.with(|trace| trace.whole_rows = true);
    }

    /// Records that vectors begin with cache lines, before the first column, and how C is written.
    pub fn from_lines(&self, past_caches: bool) {
        self.with(|trace| {
            trace.from_lines = true;
            trace.past_caches |= past_caches;
        });
    }

    /// Records that rows of B are gathered for a dense strip.
    pub fn gathered(&self) {
        self.with(|trace| trace.packed_strips = true);
    }

    /// Records that B is widened before it is multiplied.
    pub fn widened_b(&self) {
        self.with(|trace| trace.widened_b = true);
    }

    /// Records that B is copied into cache lines before it is multiplied.
    pub fn copied_into_lines(&self) {
        self.with(|trace| trace.copied_into_lines = true);
    }

    /// Records that a panel of `width` columns of B is packed.
    pub fn packed(&self, width: usize) {
        self.with(|trace| {
            trace.packed.insert(width);
        });
    }

    /// What was recorded since the last call.
    pub fn take(&self) -> Trace {
        let mut trace = Trace::default();
        self.with(|found| trace = std::mem::take(found));
        trace
    }
}
