//! What a prepared plan executes, as a value.

use std::fmt::{self, Display};

use serde::Serialize;

/// What a backend made of a plan: every decision between the plan and the machine, in the order in
/// which they were taken.
///
/// It is derived from the very values that `execute` reads, so what it says is what runs. `Display`
/// prints it for people, serde for machines; two are equal if the same would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Lowering {
    /// The backend's name.
    pub backend: String,
    /// What it runs on: instruction set and threads, or a device.
    pub machine: String,
    /// Columns of B (n) that this is about: decisions depend on them.
    pub n: usize,
    /// The decisions.
    pub decisions: Vec<Decision>,
}

/// One decision of a backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Decision {
    /// What was decided, in a word or two: `kernel`, `grid`, `packing`.
    pub what: String,
    /// What was chosen.
    pub choice: String,
    /// Why, in one sentence; empty where there was no alternative.
    pub why: String,
}

impl Lowering {
    /// A lowering without decisions yet.
    #[must_use]
    pub fn new(backend: &str, machine: impl Into<String>, n: usize) -> Self {
        let (backend, machine) = (backend.to_owned(), machine.into());
        Self { backend, machine, n, decisions: Vec::new() }
    }

    /// Adds a decision.
    #[must_use]
    pub fn with(mut self, what: &str, choice: impl Into<String>, why: impl Into<String>) -> Self {
        let (choice, why) = (choice.into(), why.into());
        self.decisions.push(Decision { what: what.to_owned(), choice, why });
        self
    }

    /// What was chosen for `what`, if that was decided.
    #[must_use]
    pub fn choice(&self, what: &str) -> Option<&str> {
        self.decisions.iter().find(|d| d.what == what).map(|d| d.choice.as_str())
    }
}

impl Display for Lowering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}, n = {}", self.backend, self.machine, self.n)?;
        let width = self.decisions.iter().map(|d| d.what.chars().count()).max().unwrap_or(0);
        for Decision { what, choice, why } in &self.decisions {
            write!(f, "\n  {what:<width$}  {choice}")?;
            if !why.is_empty() {
                write!(f, ": {why}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_printed_with_their_reasons() {
        let lowering = Lowering::new("cpu", "avx2, 2 threads", 64)
            .with("kernel", "patterns", "neighbouring rows share columns")
            .with("packing", "none", "");
        let expected = "cpu on avx2, 2 threads, n = 64\n  kernel   patterns: neighbouring rows share columns\n  packing  none";
        assert_eq!(lowering.to_string(), expected);
        assert_eq!(lowering.choice("packing"), Some("none"));
        assert_eq!(lowering.choice("grid"), None);
    }
}
