//! Why a plan is what it is.

use std::fmt::{self, Display};

use girih_formats::FormatSpec;
use serde::{Deserialize, Serialize};

use crate::cost::Cost;

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It is the plan's format.
    Chosen,
    /// It was estimated slower than the chosen one, or as fast and later in the fixed order.
    Lost,
    /// It cannot serve.
    Rejected {
        /// Why not.
        reason: String,
    },
}

/// A format that was considered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The format with its sizes.
    pub spec: FormatSpec,
    /// What became of it.
    pub outcome: Outcome,
    /// What it would cost; `None` if the format cannot hold the matrix at all.
    pub cost: Option<Cost>,
}

/// Every candidate with its cost, and the reason for the choice.
///
/// `Display` gives the table and the sentence for people; serde gives the numbers for machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Why this format, in one sentence.
    pub reason: String,
    /// Every format that was considered, in the fixed order that also breaks ties.
    pub candidates: Vec<Candidate>,
    /// How the work was cut into tasks, in one sentence.
    pub schedule: String,
}

impl Explanation {
    /// The texts, which a plan file must be able to show on a terminal.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let rejected = self.candidates.iter().filter_map(|c| match &c.outcome {
            Outcome::Rejected { reason } => Some(reason.as_str()),
            Outcome::Chosen | Outcome::Lost => None,
        });
        [self.reason.as_str(), &self.schedule].into_iter().chain(rejected)
    }
}

impl Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.candidates.is_empty() {
            let [format, time, bound, tiles, fill] =
                ["format", "time", "bound by", "tiles", "fill"];
            writeln!(f, "  {format:<20}{time:>12}  {bound:<10}{tiles:>12}{fill:>8}")?;
        }
        for candidate in &self.candidates {
            let mark = if candidate.outcome == Outcome::Chosen { '*' } else { ' ' };
            let spec = candidate.spec.to_string();
            write!(f, "{mark} {spec:<20}")?;
            match &candidate.cost {
                Some(cost) => write!(
                    f,
                    "{:>12}  {:<10}{:>12}{:>7.1}%",
                    Seconds(cost.seconds).to_string(),
                    cost.dominant.name(),
                    Bytes(cost.tile_bytes).to_string(),
                    100.0 * cost.fill_ratio
                )?,
                None => write!(f, "{:>12}  {:<10}{:>12}{:>8}", "-", "-", "-", "-")?,
            }
            if let Outcome::Rejected { reason } = &candidate.outcome {
                write!(f, "  rejected: {reason}")?;
            }
            writeln!(f)?;
        }
        writeln!(f, "{}", self.reason)?;
        write!(f, "{}", self.schedule)
    }
}

/// Seconds, in the unit that shows three digits.
pub(crate) struct Seconds(pub f64);

impl Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            s if s < 1e-3 => write!(f, "{:.2} µs", s * 1e6),
            s if s < 1.0 => write!(f, "{:.2} ms", s * 1e3),
            s => write!(f, "{s:.2} s"),
        }
    }
}

/// Bytes, in the unit that shows three digits.
pub(crate) struct Bytes(pub u64);

impl Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 4] =
            [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match UNITS.iter().find(|(_, unit)| self.0 >= *unit) {
            Some((name, unit)) => write!(f, "{:.2} {name}", self.0 as f64 / *unit as f64),
            None => write!(f, "{} B", self.0),
        }
    }
}
