//! What candidates took where they were run.

use std::fmt::{self, Display};

use girih_formats::FormatSpec;
use serde::{Deserialize, Serialize};

use super::Seconds;

/// Candidates that were timed on a machine, and the one of them that is the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The backend and the machine that multiplied.
    pub machine: String,
    /// Columns of B (n).
    pub n: usize,
    /// What was timed, the fastest first.
    pub cases: Vec<MeasuredCase>,
}

/// One candidate that was timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCase {
    /// The format with its sizes.
    pub spec: FormatSpec,
    /// Whether rows are in the plan's order; otherwise they are in the matrix's.
    pub reordered: bool,
    /// Whether it became the plan.
    pub chosen: bool,
    /// The median time of a product, in seconds.
    pub seconds: f64,
    /// The first and the third quartile.
    pub quartiles: [f64; 2],
}

impl Measurement {
    /// The case that became the plan.
    #[must_use]
    pub fn chosen(&self) -> Option<&MeasuredCase> {
        self.cases.iter().find(|case| case.chosen)
    }

    /// Why the plan is what it is, in one sentence.
    pub(crate) fn reason(&self) -> String {
        let Self { machine, n, cases } = self;
        let Some(chosen) = self.chosen() else { return String::new() };
        let best = Seconds(chosen.seconds);
        let first = format!("{} took {best} on {machine}, n = {n}", chosen.spec);
        match cases.iter().find(|case| !case.chosen) {
            None => format!("{first}; nothing else was timed"),
            Some(next) => {
                format!("{first}; next is {} with {}", next.spec, Seconds(next.seconds))
            }
        }
    }
}

impl Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [format, rows, median, quartiles] = ["measured", "rows", "median", "quartiles"];
        writeln!(f, "  {format:<20}{rows:<12}{median:>12}  {quartiles}")?;
        for case in &self.cases {
            let mark = if case.chosen { '*' } else { ' ' };
            let rows = if case.reordered { "reordered" } else { "as they are" };
            let [low, high] = case.quartiles.map(Seconds);
            let (spec, median) = (case.spec.to_string(), Seconds(case.seconds).to_string());
            writeln!(f, "{mark} {spec:<20}{rows:<12}{median:>12}  {low} to {high}")?;
        }
        Ok(())
    }
}
