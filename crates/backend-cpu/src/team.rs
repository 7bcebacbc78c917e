//! The threads of a product: the one that calls, and those that help it.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{hint, thread};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder, Yield};

/// How long threads wait for each other before they sleep: a few times as long as waking takes.
const PATIENCE: Duration = Duration::from_micros(100);

/// The threads of a product. Whoever calls is one of them, since to wait for a thread to take over,
/// and then to be woken, takes as long as a short product.
#[derive(Clone, Debug)]
pub(crate) enum Team {
    /// As many as the rayon pool has that the caller is in, or the global one.
    Current,
    /// The caller alone.
    Alone,
    /// The caller and a pool of helpers.
    With(Arc<ThreadPool>),
}

/// Indices that are one thread's to begin with. Apart from others', so that threads don't wait for
/// each other's cache lines.
#[repr(align(128))]
struct Share {
    next: AtomicUsize,
    end: usize,
}

impl Share {
    /// Takes the next `grain` indices, if there are any.
    fn take(&self, grain: usize) -> Option<Range<usize>> {
        // Nothing but the indices themselves passes between threads here.
        let start = self.next.fetch_add(grain, Ordering::Relaxed);
        (start < self.end).then(|| start..self.end.min(start + grain))
    }
}

impl Team {
    /// The caller and `threads` - 1 helpers, who sleep between products.
    ///
    /// # Errors
    /// If they can't be started.
    pub(crate) fn of(threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let helpers = match threads.saturating_sub(1) {
            0 => return Ok(Self::Alone),
            helpers => ThreadPoolBuilder::new().num_threads(helpers),
        };
        Ok(Self::With(Arc::new(helpers.thread_name(|i| format!("girih-{i}")).build()?)))
    }

    /// How many there are.
    pub(crate) fn threads(&self) -> usize {
        match self {
            Self::Current => rayon::current_num_threads(),
            Self::Alone => 1,
            Self::With(helpers) => helpers.current_num_threads() + 1,
        }
    }

    /// Runs `f` on every index below `count`, `grain` or more of them on one thread in a row.
    ///
    /// Allocates nothing on a thread of the pool that is used, else a little for each thread.
    pub(crate) fn for_each(&self, count: usize, grain: usize, f: impl Fn(usize) + Sync + Send) {
        let grain = grain.max(1);
        let threads = self.threads().min(count / grain);
        if threads < 2 {
            return (0..count).for_each(f);
        }
        if self.is_callers_pool() {
            return (0..count).into_par_iter().with_min_len(grain).for_each(f);
        }
        let end = |i: usize| (count as u128 * i as u128 / threads as u128) as usize;
        let share = |i| Share { next: AtomicUsize::new(end(i)), end: end(i + 1) };
        let shares: Vec<_> = (0..threads).map(share).collect();
        // What a thread finds of its own, then what others have not got to.
        let run = |own: usize| {
            let (others, first) = shares.split_at(own);
            for share in first.iter().chain(others) {
                while let Some(indices) = share.take(grain) {
                    indices.for_each(&f);
                }
            }
        };
        let help = |i| {
            run(i);
            // Among several, one that waits for another in the middle of a product would pick this up.
            if matches!(self, Self::With(one) if one.current_num_threads() == 1) && !AWAKE.get() {
                rayon::spawn(stay_awake);
            }
        };
        self.beside(|| run(0), || (1..threads).into_par_iter().with_max_len(1).for_each(help));
    }

    /// Runs `f` on every chunk of `len` of `items`, the last of which may be shorter, with its index.
    ///
    /// Allocates as [`for_each`](Self::for_each) does.
    pub(crate) fn for_each_chunk<T: Send>(
        &self,
        items: &mut [T],
        len: usize,
        f: impl Fn(usize, &mut [T]) + Sync + Send,
    ) {
        if self.is_callers_pool() {
            return items.par_chunks_mut(len).enumerate().for_each(|(i, chunk)| f(i, chunk));
        }
        let own = items.len().div_ceil(len).div_ceil(self.threads());
        let (mine, others) = items.split_at_mut(items.len().min(own * len));
        let here = || mine.chunks_mut(len).enumerate().for_each(|(i, chunk)| f(i, chunk));
        let there = |(i, chunk): (usize, &mut [T])| f(own + i, chunk);
        self.beside(here, || others.par_chunks_mut(len).enumerate().for_each(there));
    }

    /// Whether the caller is a thread of the pool that is used, which then splits work by itself.
    fn is_callers_pool(&self) -> bool {
        matches!(self, Self::Current) && rayon::current_thread_index().is_some()
    }

    /// Runs `here` on the calling thread, and `there` on another if there is one.
    fn beside(&self, here: impl FnOnce(), there: impl FnOnce() + Send) {
        let done = &AtomicBool::new(false);
        let here = || {
            here();
            let begin = Instant::now();
            while !done.load(Ordering::Relaxed) && begin.elapsed() < PATIENCE {
                // A helper may have been woken on this very processor.
                thread::yield_now();
            }
            // Rayon's job is done a moment after what it runs, and to sleep till then takes longer.
            (0..16).for_each(|_| hint::spin_loop());
        };
        let there = || {
            there();
            done.store(true, Ordering::Relaxed);
        };
        match self {
            Self::Alone => {
                there();
                here();
            }
            Self::With(helpers) => helpers.in_place_scope(|scope| {
                scope.spawn(|_| there());
                here();
            }),
            Self::Current => rayon::in_place_scope(|scope| {
                scope.spawn(|_| there());
                here();
            }),
        }
    }
}

thread_local! {
    /// Whether this thread waits for a product to help with, and perhaps helps with one meanwhile.
    static AWAKE: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the only helper awake for a while after its last product: to wake it takes as long as a short one.
fn stay_awake() {
    if AWAKE.replace(true) {
        return;
    }
    let (mut begin, mut idle) = (Instant::now(), 0_u32);
    while begin.elapsed() < PATIENCE {
        if rayon::yield_now() == Some(Yield::Executed) {
            (begin, idle) = (Instant::now(), 0);
        } else if idle < 16 {
            idle += 1;
            (0..8).for_each(|_| hint::spin_loop());
        } else {
            // The caller may be on this very processor. But others that wait so don't give it back.
            idle = 0;
            thread::yield_now();
        }
    }
    AWAKE.set(false);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(team: &Team, count: usize, grain: usize) -> Vec<usize> {
        let counts: Vec<_> = (0..count).map(|_| AtomicUsize::new(0)).collect();
        team.for_each(count, grain, |i| {
            counts[i].fetch_add(1, Ordering::Relaxed);
        });
        counts.into_iter().map(AtomicUsize::into_inner).collect()
    }

    #[test]
    fn every_index_is_run_once() {
        for team in [Team::Current, Team::Alone, Team::of(2).unwrap(), Team::of(5).unwrap()] {
            for (count, grain) in [(0, 1), (1, 1), (2, 1), (7, 3), (100, 7), (1000, 0), (64, 100)] {
                assert_eq!(counts(&team, count, grain), vec![1; count], "{team:?}");
                let inside = rayon::scope(|_| counts(&team, count, grain));
                assert_eq!(inside, vec![1; count], "{team:?} called from a pool");
            }
        }
    }

    #[test]
    fn every_chunk_is_run_once() {
        for team in [Team::Current, Team::Alone, Team::of(2).unwrap(), Team::of(5).unwrap()] {
            for (count, len) in [(0, 1), (1, 1), (2, 1), (7, 3), (100, 7), (64, 100)] {
                let mut items = vec![0; count];
                let add = |i: usize, chunk: &mut [usize]| {
                    assert!(chunk.len() == len || i == (count - 1) / len);
                    chunk.iter_mut().for_each(|item| *item += i + 1);
                };
                team.for_each_chunk(&mut items, len, add);
                assert!(items.iter().enumerate().all(|(i, &item)| item == i / len + 1), "{team:?}");
                rayon::scope(|_| team.for_each_chunk(&mut items, len, add));
                assert!(items.iter().enumerate().all(|(i, &item)| item == 2 * (i / len + 1)));
            }
        }
    }

    #[test]
    fn a_caller_works_while_all_helpers_are_busy() {
        let team = Team::of(2).unwrap();
        let Team::With(helpers) = &team else { unreachable!("two threads") };
        let (free, done) = (std::sync::Barrier::new(2), AtomicUsize::new(0));
        helpers.in_place_scope(|scope| {
            scope.spawn(|_| {
                free.wait();
            });
            team.for_each(10, 1, |_| {
                // The only helper waits until the last index is run.
                if done.fetch_add(1, Ordering::Relaxed) == 9 {
                    free.wait();
                }
            });
        });
        assert_eq!(done.into_inner(), 10);
    }
}
