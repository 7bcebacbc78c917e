//! Times of products, by turns.

use std::time::{Duration, Instant};

use girih::backend::BackendError;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::CliError;

/// The shortest sample: below, the clock shows.
const SAMPLE: Duration = Duration::from_millis(2);

/// Samples that a case has at least.
const MIN_SAMPLES: usize = 3;

/// Threads: one calls products, all plan, prepare and permute. A CPU backend has helpers of its own, as in
/// a program that multiplies outside of a pool.
#[derive(Debug)]
pub(in crate::commands) struct Team {
    pool: ThreadPool,
}

impl Team {
    /// # Errors
    /// If the system refuses so many threads.
    pub(in crate::commands) fn new(threads: usize) -> Result<Self, CliError> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| {
            CliError::failed(format!("cannot start {threads} threads; give fewer --threads"))
                .because(e)
        })?;
        Ok(Self { pool })
    }

    pub(in crate::commands) fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Runs `f` on one of the threads.
    pub(in crate::commands) fn run<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.pool.install(f)
    }

    /// The time of `calls` products one after the other, called by one of the threads.
    pub(in crate::commands) fn time(
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

/// The samples of a case.
#[derive(Debug)]
pub(in crate::commands) struct Samples {
    /// Products in each.
    pub(in crate::commands) calls: u32,
    /// Seconds per product.
    seconds: Vec<f64>,
    spent: Duration,
}

impl Samples {
    /// For a product that took `once`.
    pub(in crate::commands) fn of(once: Duration) -> Self {
        let calls = (SAMPLE.as_secs_f64() / once.as_secs_f64().max(1e-9)).ceil();
        Self { calls: calls.clamp(1.0, 1e5) as u32, seconds: Vec::new(), spent: Duration::ZERO }
    }

    pub(in crate::commands) fn push(&mut self, time: Duration) {
        self.spent += time;
        self.seconds.push(time.as_secs_f64() / f64::from(self.calls));
    }

    /// Whether there are enough for a budget in seconds.
    pub(in crate::commands) fn enough(&self, budget: f64) -> bool {
        self.seconds.len() >= MIN_SAMPLES && self.spent.as_secs_f64() >= budget
    }

    /// What they say.
    pub(in crate::commands) fn summary(&self) -> Summary {
        let mut sorted = self.seconds.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        Summary {
            samples: sorted.len(),
            min: quantile(&sorted, 0.0),
            q1: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            q3: quantile(&sorted, 0.75),
        }
    }
}

/// The spread of a case's samples, in seconds per product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::commands) struct Summary {
    pub(in crate::commands) samples: usize,
    pub(in crate::commands) min: f64,
    pub(in crate::commands) q1: f64,
    pub(in crate::commands) median: f64,
    pub(in crate::commands) q3: f64,
}

/// A quantile of sorted values, between neighbours in proportion; NaN of none.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = share * last as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

/// Takes samples of all cases by turns until each has enough: forwards and backwards, so that none
/// always comes after the same other.
///
/// # Errors
/// The first of a sample.
pub(in crate::commands) fn by_turns<C, E>(
    cases: &mut [C],
    enough: impl Fn(&C) -> bool,
    mut sample: impl FnMut(&mut C) -> Result<(), E>,
) -> Result<(), E> {
    let mut forwards = true;
    while !cases.iter().all(&enough) {
        for i in 0..cases.len() {
            let case = if forwards { i } else { cases.len() - 1 - i };
            if !enough(&cases[case]) {
                sample(&mut cases[case])?;
            }
        }
        forwards = !forwards;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_their_neighbours() {
        let mut samples = Samples::of(Duration::from_secs(1));
        assert_eq!(samples.calls, 1);
        for seconds in [5, 1, 2, 4] {
            samples.push(Duration::from_secs(seconds));
        }
        let expected = Summary { samples: 4, min: 1.0, q1: 1.75, median: 3.0, q3: 4.25 };
        assert_eq!(samples.summary(), expected);
        assert!(samples.enough(12.0) && !samples.enough(12.5));
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn short_products_are_timed_together() {
        let mut samples = Samples::of(Duration::from_micros(30));
        assert_eq!(samples.calls, 67);
        samples.push(Duration::from_micros(670));
        assert!((samples.summary().median - 1e-5).abs() < 1e-12);
        assert!(!samples.enough(0.0), "one sample is not enough");
        assert_eq!(Samples::of(Duration::ZERO).calls, 100_000);
    }

    #[test]
    fn cases_take_turns_until_each_has_enough() {
        let mut order = Vec::new();
        let mut cases = [("a", 1), ("b", 3), ("c", 2)];
        by_turns(
            &mut cases,
            |case| case.1 == 0,
            |case| {
                case.1 -= 1;
                order.push(case.0);
                Ok::<(), ()>(())
            },
        )
        .unwrap();
        assert_eq!(order.concat(), "abccbb");
    }

    #[test]
    fn a_team_counts_its_calls_and_passes_errors_on() {
        for threads in [1, 2] {
            let team = Team::new(threads).unwrap();
            assert_eq!(team.threads(), threads);
            let mut calls = 0;
            team.time(5, || {
                calls += 1;
                assert_eq!(rayon::current_num_threads(), threads);
                Ok(())
            })
            .unwrap();
            assert_eq!(calls, 5);
            let fails = || Err(BackendError::NoBackend { rejected: Vec::new() });
            assert!(team.time(1, fails).is_err());
        }
    }
}
