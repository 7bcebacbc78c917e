//! The result of a command, for people and for machines.

use serde::Serialize;
use serde_json::Value;

use crate::error::CliError;

/// The result of a command, printed by `main`.
#[derive(Debug)]
pub(crate) struct Report {
    /// For people.
    pub(crate) text: String,
    /// For machines: always one JSON object.
    pub(crate) json: Value,
    /// Set if the command ran to its end and found something wrong: printed after the report, and
    /// its class decides the exit code.
    pub(crate) failure: Option<CliError>,
}

impl Report {
    /// A successful report.
    pub(crate) fn new(text: String, facts: &impl Serialize) -> Result<Self, CliError> {
        let json = serde_json::to_value(facts)
            .map_err(|e| CliError::failed("cannot put the result into JSON").because(e))?;
        Ok(Self { text, json, failure: None })
    }

    /// The same report, with what was found wrong.
    pub(crate) fn with_failure(mut self, failure: Option<CliError>) -> Self {
        self.failure = failure;
        self
    }
}

/// What `--json` prints when a command fails before it has a result.
#[derive(Debug, Serialize)]
pub(crate) struct FailureReport {
    /// The message that standard error gets as well.
    pub(crate) error: String,
    /// The exit code.
    pub(crate) exit_code: u8,
}
