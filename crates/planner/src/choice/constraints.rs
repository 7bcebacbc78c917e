//! What options rule out.

use girih_formats::FormatSpec;
use girih_formats::stats::{FormatStats, SharedStats};

use crate::cost::{Workload, multiplied};
use crate::explanation::{Bytes, Seconds};
use crate::options::PlanOptions;

/// Why the options rule a format out, and what to do; `None` if they don't.
pub(super) fn objection(
    options: &PlanOptions,
    workload: &Workload,
    stats: &FormatStats,
) -> Option<String> {
    let fill_in = multiplied(workload.nnz, stats) - workload.nnz as u64;
    if options.exact_nonfinite && fill_in > 0 {
        return Some(format!(
            "{fill_in} fill-in zeros would let NaN and Inf reach more rows; csr and bmat have none"
        ));
    }
    over_limit(options, stats.bytes)
}

/// Why tiles of `needed` bytes are ruled out; `None` if they are not.
pub(crate) fn over_limit(options: &PlanOptions, needed: u64) -> Option<String> {
    options.memory_limit.filter(|&limit| needed > limit).map(|limit| {
        let (n, l) = (Bytes(needed), Bytes(limit));
        format!("its tiles need {needed} bytes ({n}) and the limit is {limit} ({l})")
    })
}

/// Seconds that counting the unions of an entry's windows takes, on one core.
const COUNT_SECONDS: f64 = 3e-9;

/// Seconds of cutting and replaying a task. A core of a Zen 5 took 26 to 53 ns, more for more workers.
const REPLAY_SECONDS: f64 = 60e-9;

/// What is left of the time for planning: by estimate, never by a clock, so that the same options give
/// the same plan.
pub(super) struct Budget {
    limit: Option<f64>,
    left: f64,
    counting: f64,
    spent: f64,
    per_count: f64,
    /// Heights of windows and widths of blocks that were counted.
    counted: Vec<(usize, usize)>,
}

impl Budget {
    pub(super) fn new(options: &PlanOptions, shared: &SharedStats<'_>) -> Self {
        let limit = options.planning_seconds;
        let per_count = shared.pattern().nnz() as f64 * COUNT_SECONDS;
        // The workload's own count was made already.
        Self {
            limit,
            left: limit.map_or(f64::INFINITY, |limit| (limit - per_count).max(0.0)),
            counting: per_count,
            spent: per_count,
            per_count,
            counted: vec![(16, 1)],
        }
    }

    /// Seconds of all counts so far, the workload's own included.
    pub(super) fn counting(&self) -> f64 {
        self.counting
    }

    /// Seconds of all counts and replays so far.
    pub(super) fn spent(&self) -> f64 {
        self.spent
    }

    /// Takes what counting a format costs, if that was not counted for another.
    ///
    /// # Errors
    /// If not enough is left, and it need not be done.
    pub(super) fn count(&mut self, spec: FormatSpec, need: Need) -> Result<(), String> {
        // Others are counted by their rows, which is next to nothing.
        let Some(width) = spec.tile().union_width else { return Ok(()) };
        let key = (spec.window_rows(), width);
        if self.counted.contains(&key) {
            return Ok(());
        }
        self.take(self.per_count, "counting it", need)?;
        self.counting += self.per_count;
        self.counted.push(key);
        Ok(())
    }

    /// Takes what replaying `tasks` tasks costs.
    ///
    /// # Errors
    /// If not enough is left, and it need not be done.
    pub(super) fn replay(&mut self, tasks: u64, need: Need) -> Result<(), String> {
        self.take(tasks as f64 * REPLAY_SECONDS, "replaying its schedules", need)
    }

    fn take(&mut self, seconds: f64, what: &str, need: Need) -> Result<(), String> {
        if let Some(limit) = self.limit.filter(|_| need == Need::IfTime && seconds > self.left) {
            return Err(format!(
                "{what} takes about {}, and less is left of the {} for planning",
                Seconds(seconds),
                Seconds(limit)
            ));
        }
        self.left = (self.left - seconds).max(0.0);
        self.spent += seconds;
        Ok(())
    }
}

/// Whether something is done whatever it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// There would be no plan without it.
    Always,
    /// Only if enough is left.
    IfTime,
}
