//! Samples of times, taken by turns, and their quantiles.

use std::time::Duration;

/// The shortest sample. The clock's own step shows in shorter ones.
const SAMPLE: Duration = Duration::from_millis(2);

/// The least number of samples of a case.
const MIN_SAMPLES: usize = 3;

/// The samples of a case.
#[derive(Debug)]
pub(crate) struct Samples {
    /// Products in each.
    pub(crate) calls: u32,
    /// Seconds per product.
    seconds: Vec<f64>,
    spent: Duration,
}

impl Samples {
    /// No samples yet, of a product that took `once`.
    pub(crate) fn for_product(once: Duration) -> Self {
        let calls = (SAMPLE.as_secs_f64() / once.as_secs_f64().max(1e-9)).ceil();
        Self { calls: calls.clamp(1.0, 1e5) as u32, seconds: Vec::new(), spent: Duration::ZERO }
    }

    pub(crate) fn push(&mut self, time: Duration) {
        self.spent += time;
        self.seconds.push(time.as_secs_f64() / f64::from(self.calls));
    }

    /// Whether there are enough for a budget in seconds.
    pub(crate) fn enough(&self, budget: f64) -> bool {
        self.seconds.len() >= MIN_SAMPLES && self.spent.as_secs_f64() >= budget
    }

    /// Their quantiles.
    pub(crate) fn summary(&self) -> Summary {
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
pub(crate) struct Summary {
    pub(crate) samples: usize,
    pub(crate) min: f64,
    pub(crate) q1: f64,
    pub(crate) median: f64,
    pub(crate) q3: f64,
}

/// A quantile of sorted values, between neighbours in proportion; NaN of none.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = share * last as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

/// Takes samples of all cases by turns until each has enough. Every other round goes backwards, so that
/// no case always follows the same one.
///
/// # Errors
/// The first error of a sample.
pub(crate) fn by_turns<C, E>(
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
        let mut samples = Samples::for_product(Duration::from_secs(1));
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
        let mut samples = Samples::for_product(Duration::from_micros(30));
        assert_eq!(samples.calls, 67);
        samples.push(Duration::from_micros(670));
        assert!((samples.summary().median - 1e-5).abs() < 1e-12);
        assert!(!samples.enough(0.0), "one sample is not enough");
        assert_eq!(Samples::for_product(Duration::ZERO).calls, 100_000);
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
}
