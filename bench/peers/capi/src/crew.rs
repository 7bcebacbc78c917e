//! Threads for something short that is done again and again.

use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder, Yield};

use crate::error::Outcome;

/// How long helpers stay awake after a round, in which the next one may come.
const PATIENCE: Duration = Duration::from_micros(100);

/// Whoever calls, and helpers.
#[derive(Debug)]
pub(crate) struct Crew {
    /// `None` for the caller alone.
    helpers: Option<ThreadPool>,
}

impl Crew {
    pub(crate) fn new(threads: usize) -> Outcome<Self> {
        let helpers = match threads.saturating_sub(1) {
            0 => None,
            helpers => Some(ThreadPoolBuilder::new().num_threads(helpers).build()?),
        };
        Ok(Self { helpers })
    }

    pub(crate) fn threads(&self) -> usize {
        1 + self.helpers.as_ref().map_or(0, ThreadPool::current_num_threads)
    }

    /// Has every thread, by its number, do its part at the same time; the caller's is 0.
    pub(crate) fn run(&self, part: impl Fn(usize) + Sync) {
        let Some(helpers) = &self.helpers else { return part(0) };
        let part = &part;
        helpers.in_place_scope(|scope| {
            for thread in 1..self.threads() {
                scope.spawn(move |_| {
                    part(thread);
                    rayon::spawn(stay_awake);
                });
            }
            part(0);
        });
    }
}

fn stay_awake() {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE && rayon::yield_now() != Some(Yield::Executed) {}
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_part_is_done_once_a_round() {
        for threads in [1, 2, 5] {
            let crew = Crew::new(threads).unwrap();
            assert_eq!(crew.threads(), threads);
            let done: Vec<_> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
            (0..100).for_each(|_| {
                crew.run(|thread| {
                    done[thread].fetch_add(1, Ordering::Relaxed);
                });
            });
            assert!(done.into_iter().all(|count| count.into_inner() == 100));
        }
    }
}
