//! What options rule out.

use girih_formats::stats::{FormatStats, SharedStats};
use girih_formats::{FormatKind, FormatSpec};

use crate::PlanOptions;
use crate::cost::{Workload, multiplied};
use crate::explain::{Bytes, Seconds};

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
    let needed = stats.bytes;
    options.memory_limit.filter(|&limit| needed > limit).map(|limit| {
        let (n, l) = (Bytes(needed), Bytes(limit));
        format!("its tiles need {needed} bytes ({n}) and the limit is {limit} ({l})")
    })
}

/// Seconds that counting the unions of an entry's windows takes, on one core.
const COUNT_SECONDS: f64 = 3e-9;

/// What is left of the time for planning: by estimate, never by a clock, so that the same options give
/// the same plan.
pub(super) struct Budget {
    limit: Option<f64>,
    left: f64,
    spent: f64,
    per_count: f64,
    /// Heights of windows and widths of blocks that were counted.
    counted: Vec<(usize, usize)>,
}

impl Budget {
    pub(super) fn new(options: &PlanOptions, shared: &SharedStats<'_>) -> Self {
        let limit = options.planning_seconds;
        Self {
            limit,
            left: limit.unwrap_or(f64::INFINITY),
            spent: shared.pattern().nnz() as f64 * COUNT_SECONDS,
            per_count: shared.pattern().nnz() as f64 * COUNT_SECONDS,
            // The workload's own.
            counted: vec![(16, 1)],
        }
    }

    /// Seconds of one count.
    pub(super) fn per_count(&self) -> f64 {
        self.per_count
    }

    /// Seconds of all counts so far, the workload's own included.
    pub(super) fn spent(&self) -> f64 {
        self.spent
    }

    /// Takes what counting a format costs, if that was not counted for another.
    ///
    /// # Errors
    /// If not enough is left.
    pub(super) fn spend(&mut self, spec: FormatSpec) -> Result<(), String> {
        let width = match spec {
            FormatSpec::Bcsr { block_cols, .. } => block_cols,
            FormatSpec::BlockedEll { block_size } => block_size,
            FormatSpec::Wcsr { .. } | FormatSpec::BMat { .. } => 1,
            // Counted by their rows, which is next to nothing.
            FormatSpec::Csr | FormatSpec::TwoFour => return Ok(()),
        };
        debug_assert_ne!(spec.kind(), FormatKind::Csr);
        let key = (spec.window_rows(), width);
        if self.counted.contains(&key) {
            return Ok(());
        }
        match self.limit {
            Some(limit) if self.per_count > self.left => Err(format!(
                "counting it takes about {} and less is left of the {} for planning",
                Seconds(self.per_count),
                Seconds(limit)
            )),
            _ => {
                self.left -= self.per_count;
                self.spent += self.per_count;
                self.counted.push(key);
                Ok(())
            }
        }
    }
}
