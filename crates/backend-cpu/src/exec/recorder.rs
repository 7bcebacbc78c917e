//! What ran, as kernels say it, against what the lowering says.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

/// What kernels did in products on one prepared plan.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Ran>);

/// The kernels that ran, by which names kernels go themselves, and what they prefetched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ran {
    pub(crate) kernels: BTreeSet<&'static str>,
    pub(crate) prefetched_a: bool,
    pub(crate) prefetched_b: bool,
    pub(crate) whole_rows: bool,
    pub(crate) gathered: bool,
    pub(crate) past_caches: bool,
    /// Widths of panels of B that were packed.
    pub(crate) packed: BTreeSet<usize>,
    pub(crate) threads: Vec<ThreadId>,
}

impl Recorder {
    pub(crate) fn leaked() -> &'static Self {
        Box::leak(Box::default())
    }

    fn with(&self, f: impl FnOnce(&mut Ran)) {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A kernel ran, here, and asked for so much [ahead](crate::kernels::ahead).
    pub(crate) fn kernel(&self, name: &'static str, ask: u8, past_caches: bool) {
        use crate::kernels::ahead::{NOTHING, ROWS};
        let thread = thread::current().id();
        self.with(|ran| {
            ran.kernels.insert(name);
            ran.prefetched_a |= ask != NOTHING;
            ran.prefetched_b |= ask == ROWS;
            ran.past_caches |= past_caches;
            if !ran.threads.contains(&thread) {
                ran.threads.push(thread);
            }
        });
    }

    pub(crate) fn whole_rows(&self) {
        self.with(|ran| ran.whole_rows = true);
    }

    pub(crate) fn gathered(&self) {
        self.with(|ran| ran.gathered = true);
    }

    pub(crate) fn packed(&self, width: usize) {
        self.with(|ran| {
            ran.packed.insert(width);
        });
    }

    /// What ran since the last time.
    pub(crate) fn take(&self) -> Ran {
        let mut ran = Ran::default();
        self.with(|found| ran = std::mem::take(found));
        ran
    }
}
