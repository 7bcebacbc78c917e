//! A candidate: what it is, what became of it and what it costs.

use serde::{Deserialize, Serialize};

use super::cost::CostText;
use super::schedule::ScheduleText;
use crate::explanation::{Candidate, Outcome};
use crate::file::PlanFileError;
use crate::file::text::{Words, words};
use crate::file::wire::SpecCode;
use crate::kernels::KernelConfig;

#[derive(Serialize, Deserialize)]
pub(super) struct CandidateText {
    spec: SpecCode,
    #[serde(default)]
    config: Option<ConfigText>,
    #[serde(default)]
    schedule: Option<ScheduleText>,
    outcome: OutcomeText,
    #[serde(default)]
    cost: Option<CostText>,
}

#[derive(Serialize, Deserialize)]
pub(super) enum OutcomeText {
    Chosen,
    Lost,
    Rejected { reason: Words },
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ConfigText {
    entry: Words,
    block_cols: u32,
    threads: u32,
    stages: u32,
    stage_tiles: u32,
    shared_bytes: u64,
    blocks_per_worker: u32,
    #[serde(skip_serializing_if = "is_zero")]
    rows_together: u32,
}

/// Whether a field that older files lack is left out.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl From<&Candidate> for CandidateText {
    fn from(from: &Candidate) -> Self {
        let Candidate { spec, config, schedule, outcome, cost } = from;
        Self {
            spec: (*spec).into(),
            config: config.as_ref().map(Into::into),
            schedule: schedule.as_ref().map(Into::into),
            outcome: outcome.into(),
            cost: cost.as_ref().map(Into::into),
        }
    }
}

impl TryFrom<CandidateText> for Candidate {
    type Error = PlanFileError;

    fn try_from(text: CandidateText) -> Result<Self, PlanFileError> {
        let CandidateText { spec, config, schedule, outcome, cost } = text;
        Ok(Self {
            spec: spec.try_into()?,
            config: config.map(Into::into),
            schedule: schedule.map(Into::into),
            outcome: outcome.into(),
            cost: cost.map(Into::into),
        })
    }
}

impl From<&Outcome> for OutcomeText {
    fn from(from: &Outcome) -> Self {
        match from {
            Outcome::Chosen => Self::Chosen,
            Outcome::Lost => Self::Lost,
            Outcome::Rejected { reason } => Self::Rejected { reason: words(reason) },
        }
    }
}

impl From<OutcomeText> for Outcome {
    fn from(text: OutcomeText) -> Self {
        match text {
            OutcomeText::Chosen => Self::Chosen,
            OutcomeText::Lost => Self::Lost,
            OutcomeText::Rejected { reason } => Self::Rejected { reason: reason.0 },
        }
    }
}

impl From<&KernelConfig> for ConfigText {
    fn from(from: &KernelConfig) -> Self {
        let &KernelConfig {
            ref entry,
            block_cols,
            threads,
            stages,
            stage_tiles,
            shared_bytes,
            blocks_per_worker,
            rows_together,
        } = from;
        Self {
            entry: Words(entry.clone()),
            block_cols,
            threads,
            stages,
            stage_tiles,
            shared_bytes,
            blocks_per_worker,
            rows_together,
        }
    }
}

impl From<ConfigText> for KernelConfig {
    fn from(text: ConfigText) -> Self {
        let ConfigText {
            entry,
            block_cols,
            threads,
            stages,
            stage_tiles,
            shared_bytes,
            blocks_per_worker,
            rows_together,
        } = text;
        Self {
            entry: entry.0,
            block_cols,
            threads,
            stages,
            stage_tiles,
            shared_bytes,
            blocks_per_worker,
            rows_together,
        }
    }
}
