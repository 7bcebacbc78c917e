//! What a run found.

use std::fmt;

use girih_formats::{DType, FormatKind};

use super::Coverage;

/// The outcome of a run of the suite.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Products and refusals checked.
    pub checks: usize,
    /// Times that a prepared plan took new values, and had the products of a new plan.
    pub refreshed: usize,
    /// Products that went through an epilogue, of those checked; 0 for a backend that refuses all.
    pub finished: usize,
    /// Products that were rounded to f16 or bf16, of those checked; 0 for a backend that refuses all.
    pub rounded: usize,
    /// Maxima, minima and means among them; 0 for a backend that refuses all.
    pub aggregated: usize,
    /// What went wrong, in order.
    pub failures: Vec<Failure>,
    /// Plans of the format that the backend refused with a reason.
    pub unsupported: Vec<String>,
    /// What this machine did not allow to be checked.
    pub skipped: Vec<String>,
    /// The largest error over its bound among the products that passed.
    pub max_error_over_bound: f64,
}

/// One check that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What was checked.
    pub check: String,
    /// What was wrong.
    pub reason: String,
    /// Whether the product is right once the first row of B, in the order in which tiles number them, holds
    /// finite values: padding points at row 0 and reads it.
    pub reads_first_row: bool,
}

/// Failures kept: enough to see a pattern.
const KEPT: usize = 300;

impl Report {
    /// Whether something was checked and all of it was right.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.checks > 0 && self.failures.is_empty()
    }

    /// Panics with a summary if the run of a backend did not pass.
    pub(super) fn assert(&self, backend: &str, kind: FormatKind, dtype: DType, coverage: Coverage) {
        let complete = coverage == Coverage::SupportedSpecs || self.unsupported.is_empty();
        assert!(self.passed() && complete, "{backend} on {kind} {dtype}: {self}");
    }

    pub(super) fn fail(&mut self, check: &str, reason: impl fmt::Display) {
        self.add(check, reason, false);
    }

    /// A product that is wrong and [reads the first row of B](Failure::reads_first_row).
    pub(super) fn fail_by_first_row(&mut self, check: &str, reason: impl fmt::Display) {
        self.add(check, reason, true);
    }

    fn add(&mut self, check: &str, reason: impl fmt::Display, reads_first_row: bool) {
        if self.failures.len() < KEPT {
            let (check, reason) = (check.to_owned(), reason.to_string());
            self.failures.push(Failure { check, reason, reads_first_row });
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { checks, failures, unsupported, skipped, .. } = self;
        let (n_failures, n_unsupported) = (failures.len(), unsupported.len());
        writeln!(f, "{checks} checks, {n_failures} failures, {n_unsupported} plans unsupported")?;
        for Failure { check, reason, reads_first_row } in failures.iter().take(10) {
            let cause = if *reads_first_row { " (padding reads row 0 of B)" } else { "" };
            writeln!(f, "  {check}{cause}\n    {reason}")?;
        }
        for reason in unsupported.iter().take(5) {
            writeln!(f, "  unsupported: {reason}")?;
        }
        for reason in skipped {
            writeln!(f, "  skipped: {reason}")?;
        }
        Ok(())
    }
}
