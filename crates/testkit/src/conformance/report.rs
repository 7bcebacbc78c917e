//! What a run found.

use std::fmt;

/// The outcome of a run of the suite.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Products and refusals checked.
    pub checks: usize,
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
}

/// Failures kept: enough to see a pattern.
const KEPT: usize = 300;

impl Report {
    /// Whether something was checked and all of it was right.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.checks > 0 && self.failures.is_empty()
    }

    pub(super) fn fail(&mut self, check: &str, reason: impl fmt::Display) {
        if self.failures.len() < KEPT {
            self.failures.push(Failure { check: check.to_owned(), reason: reason.to_string() });
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { checks, failures, unsupported, skipped, .. } = self;
        let (n_failures, n_unsupported) = (failures.len(), unsupported.len());
        writeln!(f, "{checks} checks, {n_failures} failures, {n_unsupported} plans unsupported")?;
        for Failure { check, reason } in failures.iter().take(10) {
            writeln!(f, "  {check}\n    {reason}")?;
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
