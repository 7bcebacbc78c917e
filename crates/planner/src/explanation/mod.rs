//! Why a plan is what it is.

mod measured;
mod outcome;
mod table;
mod units;

use girih_formats::FormatSpec;
use serde::{Deserialize, Serialize};

pub use crate::candidates::ScheduleOption;
use crate::cost::Cost;
use crate::kernels::KernelConfig;
use crate::options::PlanOptions;
pub use crate::ordering::Considered;
pub use crate::schedule::ScheduleKind;
use crate::schedule::{Reduction, Schedule};

pub use measured::{MeasuredCase, Measurement};
pub use outcome::Outcome;
pub(crate) use units::{Bytes, Seconds};

/// A format that was considered, with its best configuration and schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Candidate {
    /// The format with its sizes.
    pub spec: FormatSpec,
    /// The configuration in which its kernel runs, if there are several.
    pub config: Option<KernelConfig>,
    /// The schedule it was priced with; `None` if it was priced as evenly shared out, since even so it
    /// loses.
    pub schedule: Option<ScheduleOption>,
    /// What became of it.
    pub outcome: Outcome,
    /// What it would cost; `None` if the format cannot hold the matrix, or the device not run it.
    pub cost: Option<Cost>,
}

/// Every candidate with its cost, and the reason for the choice.
///
/// `Display` gives the table and the sentence for people; serde gives the numbers for machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Explanation {
    /// Why this format, in one sentence.
    pub reason: String,
    /// Every format that was considered, in the fixed order that also breaks ties.
    pub candidates: Vec<Candidate>,
    /// How the work was cut into tasks, in one sentence.
    pub schedule: String,
    /// The schedules that were considered for the chosen format, the shortest first: the first is the
    /// plan's.
    pub schedules: Vec<ScheduleOption>,
    /// Why the rows are in their order, in one sentence; empty if none was requested.
    pub order: String,
    /// Every order that was considered; empty if there was nothing to choose.
    pub orderings: Vec<Considered>,
    /// What candidates took where they were run; `None` if the plan rests on estimates alone.
    pub measured: Option<Measurement>,
}

impl Explanation {
    /// The candidate that became the plan; `None` around a tiling of the caller's.
    #[must_use]
    pub fn chosen(&self) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.outcome == Outcome::Chosen)
    }

    /// After how many products a planning that took `planning_seconds` has paid for itself, against
    /// multiplying the matrix as it came, in CSR: by the estimates. `None` if the plan is no faster
    /// than that, or CSR was not considered.
    #[must_use]
    pub fn pays_back_after(&self, planning_seconds: f64) -> Option<f64> {
        let chosen = self.chosen()?.cost?.seconds;
        let csr = self.candidates.iter().find(|candidate| candidate.spec == FormatSpec::Csr)?;
        let saved = csr.cost?.seconds - chosen;
        (saved > 0.0).then(|| (planning_seconds / saved).ceil())
    }

    /// Every format that is named.
    pub(crate) fn specs(&self) -> impl Iterator<Item = FormatSpec> + '_ {
        let measured = self.measured.iter().flat_map(|measured| &measured.cases);
        let ordered = self.orderings.iter().filter_map(|order| order.spec);
        let considered = self.candidates.iter().map(|candidate| candidate.spec);
        considered.chain(ordered).chain(measured.map(|case| case.spec))
    }

    /// The texts, which a plan file must be able to show on a terminal.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let rejected = self.candidates.iter().filter_map(|c| match &c.outcome {
            Outcome::Rejected { reason } => Some(reason.as_str()),
            Outcome::Chosen | Outcome::Lost => None,
        });
        let orderings = self.orderings.iter().flat_map(|o| match &o.outcome {
            Outcome::Rejected { reason } => [o.name.as_str(), reason],
            Outcome::Chosen | Outcome::Lost => [o.name.as_str(), ""],
        });
        let configs = self.candidates.iter().filter_map(|c| c.config.as_ref());
        let machine = self.measured.as_ref().map_or("", |measured| &measured.machine);
        let own = [self.reason.as_str(), &self.schedule, &self.order, machine];
        let own = own.into_iter().chain(configs.map(|config| config.entry.as_str()));
        own.chain(rejected).chain(orderings)
    }
}

/// What a schedule is, in a sentence.
pub(crate) fn sentence(schedule: &Schedule, kind: ScheduleKind, options: &PlanOptions) -> String {
    let tasks = schedule.tasks().len();
    match schedule.columns() {
        Some(columns) => {
            let crossing = columns.ranges.iter().filter(|range| range.start > 0).count();
            format!(
                "{} partitions of windows × {} columns, {crossing} of them beginning inside of a \
                 window; nothing is added up",
                columns.n_partitions(),
                columns.cut_for
            )
        }
        None => {
            let how = match kind {
                ScheduleKind::Windows => "one for each window".to_owned(),
                _ => format!("cut for n = {}", options.n),
            };
            match (schedule.split_windows(), schedule.reduction()) {
                (0, _) => format!("{tasks} tasks, {how}; no window is split"),
                (split, Reduction::TwoPass) => {
                    format!(
                        "{tasks} tasks, {how}; {split} long windows are split and added up in order"
                    )
                }
                (split, Reduction::Atomic) => {
                    format!(
                        "{tasks} tasks, {how}; {split} long windows are split and added atomically"
                    )
                }
            }
        }
    }
}
