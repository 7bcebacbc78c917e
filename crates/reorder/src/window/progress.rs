//! Reports how far a refinement is to the caller of the ordering.

use std::sync::mpsc;

/// Parts of a sweep that are reported one by one: an ordering then has a hundred parts or so.
const PARTS: u64 = 8;

/// Sweeps that a refinement is through with, of those it takes at the most. A sweep that turns out needless
/// counts as done.
pub(super) struct RefinementProgress<'a> {
    tell: Option<&'a mut dyn FnMut(u64, u64)>,
    /// Sweeps that are over, and those there are at the most.
    sweeps: u64,
    total: u64,
    /// Parts that were reported.
    parts: u64,
}

impl<'a> RefinementProgress<'a> {
    /// Tells nobody.
    pub(super) fn nobody() -> Self {
        Self { tell: None, sweeps: 0, total: 0, parts: 0 }
    }

    /// Tells the parts that are done, and that there are in `sweeps` sweeps; begins with none.
    pub(super) fn to(tell: &'a mut dyn FnMut(u64, u64), sweeps: usize) -> Self {
        let total = sweeps as u64;
        tell(0, total * PARTS);
        Self { tell: Some(tell), sweeps: 0, total, parts: 0 }
    }

    /// Of the sweep under way, `dealt` pairs of windows of `pairs` are dealt.
    pub(super) fn within(&mut self, dealt: usize, pairs: usize) {
        self.reach(self.sweeps * PARTS + dealt as u64 * PARTS / pairs.max(1) as u64);
    }

    /// As many more sweeps are over as were reserved for what has ended.
    pub(super) fn over(&mut self, sweeps: usize) {
        self.sweeps += sweeps as u64;
        self.reach(self.sweeps * PARTS);
    }

    /// Sweeps that are over.
    pub(super) fn sweeps(&self) -> usize {
        self.sweeps as usize
    }

    fn reach(&mut self, parts: u64) {
        let Some(tell) = &mut self.tell else { return };
        let parts = parts.min(self.total * PARTS);
        if parts > self.parts {
            self.parts = parts;
            tell(parts, self.total * PARTS);
        }
    }
}

/// Does `work` on the pool, and hands what it tells to `observer` on the thread that called.
pub(super) fn on_pool<R: Send>(
    observer: &dyn Fn(u64, u64),
    work: impl FnOnce(&mut dyn FnMut(u64, u64)) -> R + Send,
) -> R {
    // A thread of the pool must not wait for the others: it may be the only one.
    if rayon::current_thread_index().is_some() {
        return work(&mut |done, total| observer(done, total));
    }
    let (reported, heard) = mpsc::channel();
    let mut result = None;
    rayon::in_place_scope(|scope| {
        let result = &mut result;
        scope.spawn(move |_| {
            *result = Some(work(&mut |done, total| {
                // The other end outlives the scope.
                let _ = reported.send((done, total));
            }));
        });
        heard.iter().for_each(|(done, total)| observer(done, total));
    });
    let Some(result) = result else { unreachable!("a scope ends after what was spawned in it") };
    result
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::thread;

    use super::*;

    #[test]
    fn parts_are_told_once_and_end_at_their_total() {
        let mut heard = Vec::new();
        let mut tell = |done, total| heard.push((done, total));
        let mut progress = RefinementProgress::to(&mut tell, 3);
        progress.within(1, 100);
        progress.within(50, 100);
        progress.within(100, 100);
        progress.over(2);
        assert_eq!(progress.sweeps(), 2);
        progress.within(1, 1);
        progress.over(1);
        assert_eq!(heard, [(0, 24), (4, 24), (8, 24), (16, 24), (24, 24)]);
    }

    #[test]
    fn the_observer_is_called_on_the_thread_that_asked() {
        let here = thread::current().id();
        let heard = RefCell::new(Vec::new());
        let observer = |done, total| {
            assert_eq!(thread::current().id(), here);
            heard.borrow_mut().push((done, total));
        };
        let found = on_pool(&observer, |tell| {
            (0..=3).for_each(|done| tell(done, 3));
            rayon::current_thread_index().is_some()
        });
        assert!(found);
        assert_eq!(heard.into_inner(), [(0, 3), (1, 3), (2, 3), (3, 3)]);
    }

    #[test]
    fn a_pool_of_one_thread_does_not_wait_for_itself() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let found = pool.install(|| {
            let heard = RefCell::new(0);
            on_pool(&|done, _| *heard.borrow_mut() += done, |tell| tell(7, 7));
            heard.into_inner()
        });
        assert_eq!(found, 7);
    }
}
