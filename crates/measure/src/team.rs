//! Threads that products are called on.

use std::time::{Duration, Instant};

use girih::backend::BackendError;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::MeasureError;

/// A pool of threads. One of them calls products; all of them plan, prepare and permute.
///
/// A CPU backend has threads of its own, as in a program that multiplies outside of a pool.
#[derive(Debug)]
pub(crate) struct Team {
    pool: ThreadPool,
}

impl Team {
    /// Starts `threads` threads.
    ///
    /// # Errors
    /// If the system refuses to start them.
    pub(crate) fn new(threads: usize) -> Result<Self, MeasureError> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|source| MeasureError::Threads { threads, source })?;
        Ok(Self { pool })
    }

    pub(crate) fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Runs `f` on one of the threads.
    pub(crate) fn run<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.pool.install(f)
    }

    /// The time of `calls` products one after the other, called by one of the threads.
    pub(crate) fn time(
        &self,
        calls: u32,
        mut product: impl FnMut() -> Result<(), BackendError> + Send,
    ) -> Result<Duration, BackendError> {
        self.run(|| {
            let start = Instant::now();
            for _ in 0..calls {
                product()?;
            }
            Ok(start.elapsed())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_counts_its_calls_and_passes_errors_on() {
        for threads in [1, 2] {
            let team = Team::new(threads).unwrap();
            assert_eq!(team.threads(), threads);
            let mut calls = 0;
            team.time(5, || {
                calls += 1;
                assert_eq!(girih_parallel::current_num_threads(), threads);
                Ok(())
            })
            .unwrap();
            assert_eq!(calls, 5);
            let fails = || Err(BackendError::NoBackend { rejected: Vec::new() });
            assert!(team.time(1, fails).is_err());
        }
    }
}
