//! The threads of a product: the one that calls, and those that help it.

use std::cell::Cell;
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use std::{hint, thread};

use girih_parallel::{Threads, current_num_threads, for_each_below, on_threads};
use rayon::prelude::*;
use rayon::{Scope, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder, Yield};

use super::shares::{Awaited, Indices, Items, WorkShare, run_from};
use crate::thresholds::{THREADS_PATIENCE, THREADS_PAUSES};

/// How long threads wait for each other before they park.
const PATIENCE: Duration = Duration::from_micros(THREADS_PATIENCE);

/// The threads of a product. The calling thread is one of them: to wake another in its place, and be woken by
/// it, takes as long as a short product.
#[derive(Clone, Debug)]
pub(crate) enum Team {
    /// As many threads as the caller's rayon pool has. Outside of every pool as many as the global pool has:
    /// the caller, and helpers that all such callers share.
    Current,
    /// The caller alone.
    Alone,
    /// The caller and helpers.
    With(Arc<Helpers>),
}

/// Threads that help the calling thread.
#[derive(Debug)]
pub(crate) struct Helpers {
    pool: ThreadPool,
    /// Whether they stay awake for a while after a product.
    awake: bool,
}

/// Callers outside of every rayon pool, and their helpers. They have none if threads can't be started.
static OUTSIDE: LazyLock<Team> =
    LazyLock::new(|| Team::with_threads(current_num_threads()).unwrap_or(Team::Alone));

impl Team {
    /// The caller and `threads - 1` helpers. Helpers park [`PATIENCE`] after the last product; at once if
    /// there are more threads than processors.
    ///
    /// # Errors
    /// If they can't be started.
    pub(crate) fn with_threads(threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let helpers = match threads.saturating_sub(1) {
            0 => return Ok(Self::Alone),
            helpers => ThreadPoolBuilder::new().num_threads(helpers),
        };
        let pool = helpers.thread_name(|i| format!("girih-{i}")).build()?;
        let awake = thread::available_parallelism().is_ok_and(|cpus| threads <= cpus.get());
        Ok(Self::With(Arc::new(Helpers { pool, awake })))
    }

    /// The number of threads.
    pub(crate) fn threads(&self) -> usize {
        match self {
            Self::Current => current_num_threads(),
            Self::Alone => 1,
            Self::With(helpers) => helpers.count(),
        }
    }

    /// Runs `f` on every index below `count`, `grain` or more of them on one thread in a row.
    ///
    /// Allocates nothing on a thread of the pool that is used, else a little for each thread.
    pub(crate) fn for_each(&self, count: usize, grain: usize, f: impl Fn(usize) + Sync) {
        self.for_each_index(count, grain, &f);
    }

    /// [`for_each`](Self::for_each), compiled once.
    fn for_each_index(&self, count: usize, grain: usize, f: &(dyn Fn(usize) + Sync)) {
        match self.here() {
            Self::Current if self.threads().min(count / grain.max(1)) > 1 => {
                for_each_below(count, grain.max(1), f);
            }
            Self::Alone | Self::Current => (0..count).for_each(f),
            Self::With(helpers) => helpers.for_each_below(count, grain, f),
        }
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
        let helpers = match self.here() {
            Self::Alone => {
                return items.chunks_mut(len).enumerate().for_each(|(i, chunk)| f(i, chunk));
            }
            Self::Current => {
                return items.par_chunks_mut(len).enumerate().for_each(|(i, chunk)| f(i, chunk));
            }
            Self::With(helpers) => helpers,
        };
        let own = items.len().div_ceil(len).div_ceil(self.threads()).max(1);
        let parts = items.chunks_mut(own * len).enumerate();
        let share = |(i, part): (usize, _)| {
            WorkShare(Items::new(i * own..(i + 1) * own, <[T]>::chunks_mut(part, len)))
        };
        let shares: Vec<_> = parts.map(share).collect();
        helpers.work_off(&shares, |chunks| chunks.work_off(&f));
    }

    /// Runs `f` with the loops that it starts on these threads; those of a pool's thread stay in the pool.
    pub(crate) fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        match self.here() {
            Self::Current => f(),
            Self::Alone => on_threads(Arc::new(Alone), f),
            Self::With(helpers) => on_threads(helpers.clone(), f),
        }
    }

    /// The team of a caller outside of every pool; `Current` for a caller whose pool splits work by itself.
    fn here(&self) -> &Self {
        match self {
            Self::Current if rayon::current_thread_index().is_none() => &OUTSIDE,
            team => team,
        }
    }
}

/// The calling thread.
#[derive(Debug)]
struct Alone;

impl Threads for Alone {
    fn count(&self) -> usize {
        1
    }

    fn for_each_below(&self, count: usize, _: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..count).for_each(f);
    }
}

impl Threads for Helpers {
    fn count(&self) -> usize {
        self.pool.current_num_threads() + 1
    }

    fn for_each_below(&self, count: usize, min_len: usize, f: &(dyn Fn(usize) + Sync)) {
        let grain = min_len.max(1);
        match self.count().min(count / grain) {
            0 | 1 => (0..count).for_each(f),
            threads => {
                let shares = Indices::shares(count, threads);
                self.work_off(&shares, |share| share.work_off(grain, f));
            }
        }
    }
}

impl Helpers {
    /// Runs one share per thread; the caller takes the first.
    fn work_off<S: Sync>(&self, shares: &[WorkShare<S>], work: impl Fn(&S) + Sync) {
        let (work, awaited) = (&work, &Awaited::new(shares.len().saturating_sub(1)));
        let help = move |own| {
            run_from(shares, own, work);
            if self.awake && !AWAKE.get() {
                rayon::spawn(stay_awake);
            }
            awaited.done();
        };
        self.pool.in_place_scope(|scope| {
            spawn_each(scope, 1..shares.len(), help);
            run_from(shares, 0, work);
            let mut pause = Pause::default();
            let begin = Instant::now();
            awaited.wait(|| {
                pause.once();
                begin.elapsed() < PATIENCE
            });
            // Rayon's job ends a moment after what it runs; sleeping until then would take longer.
            (0..2).for_each(|_| hint::spin_loop());
        });
    }
}

/// Spawns one job for each index. No job waits for another, as jobs that split do: a waiting job would pick
/// up the one that keeps a helper awake.
fn spawn_each<'a>(
    scope: &Scope<'a>,
    indices: Range<usize>,
    job: impl Fn(usize) + Copy + Send + 'a,
) {
    indices.for_each(|i| scope.spawn(move |_| job(i)));
}

thread_local! {
    /// Whether this thread is in [`stay_awake`].
    static AWAKE: Cell<bool> = const { Cell::new(false) };
}

/// Keeps a helper awake for a while after its last product, since waking it takes as long as a short product.
fn stay_awake() {
    if AWAKE.replace(true) {
        return;
    }
    let (mut begin, mut pause) = (Instant::now(), Pause::default());
    while begin.elapsed() < PATIENCE {
        if rayon::yield_now() == Some(Yield::Executed) {
            (begin, pause) = (Instant::now(), Pause::default());
        } else {
            pause.once();
        }
    }
    AWAKE.set(false);
}

/// The pauses of a thread that waits for another.
#[derive(Default)]
struct Pause {
    /// Pauses since the thread last yielded its processor.
    pauses: u32,
}

impl Pause {
    /// Pauses as briefly as the processor can: the other thread is a few microseconds away. Yields now and
    /// then, since the other thread may wait for this very processor.
    fn once(&mut self) {
        if self.pauses < THREADS_PAUSES {
            self.pauses += 1;
            hint::spin_loop();
        } else {
            self.pauses = 0;
            thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

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
        for team in [
            Team::Current,
            Team::Alone,
            Team::with_threads(2).unwrap(),
            Team::with_threads(5).unwrap(),
        ] {
            for (count, grain) in [(0, 1), (1, 1), (2, 1), (7, 3), (100, 7), (1000, 0), (64, 100)] {
                assert_eq!(counts(&team, count, grain), vec![1; count], "{team:?}");
                let inside = rayon::scope(|_| counts(&team, count, grain));
                assert_eq!(inside, vec![1; count], "{team:?} called from a pool");
            }
        }
    }

    #[test]
    fn every_chunk_is_run_once() {
        for team in [
            Team::Current,
            Team::Alone,
            Team::with_threads(2).unwrap(),
            Team::with_threads(5).unwrap(),
        ] {
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
    fn callers_outside_of_pools_have_helpers_and_those_inside_their_pool() {
        let team = Team::Current;
        assert!(!matches!(team.here(), Team::Current));
        assert_eq!(team.here().threads(), current_num_threads());
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(|| {
            assert!(matches!(team.here(), Team::Current));
            assert_eq!(team.threads(), 3);
        });
    }

    #[test]
    fn a_caller_works_while_all_helpers_are_busy() {
        let team = Team::with_threads(2).unwrap();
        let Team::With(helpers) = &team else { unreachable!("two threads") };
        let (free, done) = (std::sync::Barrier::new(2), AtomicUsize::new(0));
        helpers.pool.in_place_scope(|scope| {
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
