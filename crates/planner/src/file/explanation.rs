//! The explanation as JSON, so that it can grow without a new version of the file.
//!
//! These types are the file's own. A field that a public type gains is missing in older files, so its
//! twin here takes a default, and skips it when it is written: older files then stay what they were, to
//! the last byte. A reader passes over fields that it does not know.

use serde::{Deserialize, Serialize};

use super::PlanFileError;
use super::text::{List, Number, Words, printable};
use super::wire::{ReductionCode, SpecCode, codes};
use crate::candidates::{ScheduleKind, ScheduleOption};
use crate::cost::{Cost, Resource};
use crate::device::Unit;
use crate::explanation::{Candidate, Explanation, Outcome};
use crate::kernels::KernelConfig;
use crate::ordering::Considered;

/// Encodes an explanation.
pub(super) fn encode(explanation: &Explanation) -> Result<String, PlanFileError> {
    let bad = |e| PlanFileError::header(format!("the explanation cannot be encoded: {e}"));
    serde_json::to_string(&ExplanationText::from(explanation)).map_err(bad)
}

/// Decodes an explanation: its texts can be shown on a terminal, its lists are short.
pub(super) fn decode(text: &str) -> Result<Explanation, PlanFileError> {
    let bad =
        |e: serde_json::Error| PlanFileError::Explanation { reason: printable(&e.to_string()) };
    serde_json::from_str::<ExplanationText>(text).map_err(bad)?.try_into()
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ExplanationText {
    reason: Words,
    candidates: List<CandidateText>,
    schedule: Words,
    schedules: List<ScheduleText>,
    order: Words,
    orderings: List<OrderingText>,
}

#[derive(Serialize, Deserialize)]
struct CandidateText {
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
enum OutcomeText {
    Chosen,
    Lost,
    Rejected { reason: Words },
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ConfigText {
    entry: Words,
    block_cols: u32,
    threads: u32,
    stages: u32,
    stage_tiles: u32,
    shared_bytes: u64,
    blocks_per_worker: u32,
}

#[derive(Serialize, Deserialize)]
enum ScheduleKindText {
    Tasks,
    Split(ReductionCode),
    Windows,
    Partitions,
}

#[derive(Serialize, Deserialize)]
struct ScheduleText {
    kind: ScheduleKindText,
    #[serde(default)]
    limit: u64,
    #[serde(default)]
    tasks: u64,
    #[serde(default)]
    split_windows: u64,
    #[serde(default)]
    makespan: Number,
    #[serde(default)]
    imbalance: Number,
    #[serde(default)]
    idle_share: Number,
    #[serde(default)]
    stretch: Number,
}

codes! {
    UnitText for Unit { Entries, Tiles }
    ResourceText for Resource { Memory, Cache, Compute, Overhead }
}

#[derive(Serialize, Deserialize)]
struct CostText {
    #[serde(default)]
    tile_bytes: u64,
    #[serde(default)]
    fill_ratio: Number,
    #[serde(default)]
    b_fetched_bytes: Number,
    #[serde(default)]
    b_memory_bytes: Number,
    #[serde(default)]
    c_bytes: Number,
    #[serde(default)]
    a_passes: Number,
    #[serde(default)]
    flops: Number,
    unit: UnitText,
    #[serde(default)]
    memory_seconds: Number,
    #[serde(default)]
    cache_seconds: Number,
    #[serde(default)]
    compute_seconds: Number,
    #[serde(default)]
    overhead_seconds: Number,
    #[serde(default)]
    imbalance: Number,
    seconds: Number,
    dominant: ResourceText,
}

#[derive(Serialize, Deserialize)]
struct OrderingText {
    name: Words,
    outcome: OutcomeText,
    #[serde(default)]
    spec: Option<SpecCode>,
    #[serde(default)]
    gathers: bool,
    #[serde(default)]
    packed_cols: u64,
    #[serde(default)]
    seconds: Number,
}

fn words(text: &str) -> Words {
    Words(text.to_owned())
}

impl From<&Explanation> for ExplanationText {
    fn from(from: &Explanation) -> Self {
        let Explanation { reason, candidates, schedule, schedules, order, orderings } = from;
        Self {
            reason: words(reason),
            candidates: List(candidates.iter().map(Into::into).collect()),
            schedule: words(schedule),
            schedules: List(schedules.iter().map(Into::into).collect()),
            order: words(order),
            orderings: List(orderings.iter().map(Into::into).collect()),
        }
    }
}

impl TryFrom<ExplanationText> for Explanation {
    type Error = PlanFileError;

    fn try_from(text: ExplanationText) -> Result<Self, PlanFileError> {
        let ExplanationText { reason, candidates, schedule, schedules, order, orderings } = text;
        Ok(Self {
            reason: reason.0,
            candidates: candidates
                .0
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_, _>>()?,
            schedule: schedule.0,
            schedules: schedules.0.into_iter().map(Into::into).collect(),
            order: order.0,
            orderings: orderings.0.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
        })
    }
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
        } = from;
        let entry = Words(entry.clone());
        Self { entry, block_cols, threads, stages, stage_tiles, shared_bytes, blocks_per_worker }
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
        } = text;
        Self {
            entry: entry.0,
            block_cols,
            threads,
            stages,
            stage_tiles,
            shared_bytes,
            blocks_per_worker,
        }
    }
}

impl From<ScheduleKind> for ScheduleKindText {
    fn from(kind: ScheduleKind) -> Self {
        match kind {
            ScheduleKind::Tasks => Self::Tasks,
            ScheduleKind::Split(reduction) => Self::Split(reduction.into()),
            ScheduleKind::Windows => Self::Windows,
            ScheduleKind::Partitions => Self::Partitions,
        }
    }
}

impl From<ScheduleKindText> for ScheduleKind {
    fn from(kind: ScheduleKindText) -> Self {
        match kind {
            ScheduleKindText::Tasks => Self::Tasks,
            ScheduleKindText::Split(reduction) => Self::Split(reduction.into()),
            ScheduleKindText::Windows => Self::Windows,
            ScheduleKindText::Partitions => Self::Partitions,
        }
    }
}

impl From<&ScheduleOption> for ScheduleText {
    fn from(from: &ScheduleOption) -> Self {
        let &ScheduleOption {
            kind,
            limit,
            tasks,
            split_windows,
            makespan,
            imbalance,
            idle_share,
            stretch,
        } = from;
        Self {
            kind: kind.into(),
            limit,
            tasks,
            split_windows,
            makespan: Number(makespan),
            imbalance: Number(imbalance),
            idle_share: Number(idle_share),
            stretch: Number(stretch),
        }
    }
}

impl From<ScheduleText> for ScheduleOption {
    fn from(text: ScheduleText) -> Self {
        Self {
            kind: text.kind.into(),
            limit: text.limit,
            tasks: text.tasks,
            split_windows: text.split_windows,
            makespan: text.makespan.0,
            imbalance: text.imbalance.0,
            idle_share: text.idle_share.0,
            stretch: text.stretch.0,
        }
    }
}

impl From<&Cost> for CostText {
    fn from(from: &Cost) -> Self {
        let &Cost {
            tile_bytes,
            fill_ratio,
            b_fetched_bytes,
            b_memory_bytes,
            c_bytes,
            a_passes,
            flops,
            unit,
            memory_seconds,
            cache_seconds,
            compute_seconds,
            overhead_seconds,
            imbalance,
            seconds,
            dominant,
        } = from;
        Self {
            tile_bytes,
            fill_ratio: Number(fill_ratio),
            b_fetched_bytes: Number(b_fetched_bytes),
            b_memory_bytes: Number(b_memory_bytes),
            c_bytes: Number(c_bytes),
            a_passes: Number(a_passes),
            flops: Number(flops),
            unit: unit.into(),
            memory_seconds: Number(memory_seconds),
            cache_seconds: Number(cache_seconds),
            compute_seconds: Number(compute_seconds),
            overhead_seconds: Number(overhead_seconds),
            imbalance: Number(imbalance),
            seconds: Number(seconds),
            dominant: dominant.into(),
        }
    }
}

impl From<CostText> for Cost {
    fn from(text: CostText) -> Self {
        Self {
            tile_bytes: text.tile_bytes,
            fill_ratio: text.fill_ratio.0,
            b_fetched_bytes: text.b_fetched_bytes.0,
            b_memory_bytes: text.b_memory_bytes.0,
            c_bytes: text.c_bytes.0,
            a_passes: text.a_passes.0,
            flops: text.flops.0,
            unit: text.unit.into(),
            memory_seconds: text.memory_seconds.0,
            cache_seconds: text.cache_seconds.0,
            compute_seconds: text.compute_seconds.0,
            overhead_seconds: text.overhead_seconds.0,
            imbalance: text.imbalance.0,
            seconds: text.seconds.0,
            dominant: text.dominant.into(),
        }
    }
}

impl From<&Considered> for OrderingText {
    fn from(from: &Considered) -> Self {
        let Considered { name, outcome, spec, permutes_b, packed_cols, seconds } = from;
        Self {
            name: words(name),
            outcome: outcome.into(),
            spec: spec.map(Into::into),
            gathers: *permutes_b,
            packed_cols: *packed_cols,
            seconds: Number(*seconds),
        }
    }
}

impl TryFrom<OrderingText> for Considered {
    type Error = PlanFileError;

    fn try_from(text: OrderingText) -> Result<Self, PlanFileError> {
        let OrderingText { name, outcome, spec, gathers, packed_cols, seconds } = text;
        Ok(Self {
            name: name.0,
            outcome: outcome.into(),
            spec: spec.map(TryInto::try_into).transpose()?,
            permutes_b: gathers,
            packed_cols,
            seconds: seconds.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = r#"{"reason": "r", "candidates": [{"spec": "Csr", "outcome": "Lost"}],
        "later": [1, {"x": null}], "schedule": "s"}"#;

    #[test]
    fn missing_fields_are_defaults_and_unknown_ones_are_passed_over() {
        let explanation = decode(OLD).unwrap();
        assert_eq!((explanation.reason.as_str(), explanation.schedule.as_str()), ("r", "s"));
        assert_eq!(explanation.candidates[0].cost, None);
        assert!(explanation.orderings.is_empty() && explanation.order.is_empty());
        assert_eq!(decode("{}").unwrap().candidates, []);
        assert_eq!(decode(&encode(&explanation).unwrap()).unwrap(), explanation);
    }

    /// Texts of a megabyte that a reader could choke on.
    #[test]
    fn bombs_are_refused() {
        for text in [
            format!(r#"{{"later": {}"#, "[".repeat(1 << 20)),
            format!(r#"{{"candidates": {}"#, r#"[{"cost":"#.repeat(1 << 16)),
            format!(r#"{{"schedules": [{}]}}"#, [r#"{"kind":"Tasks"}"#; 2000].join(",")),
        ] {
            let error = decode(&text).unwrap_err();
            assert!(matches!(error, PlanFileError::Explanation { .. }), "{error}");
            assert!(error.to_string().len() < 600);
        }
        // Passed over, and nothing kept of it.
        let unknown = format!(r#"{{"later": [{}]}}"#, ["0"; 1 << 18].join(","));
        assert_eq!(decode(&unknown).unwrap(), decode("{}").unwrap());
    }

    #[test]
    fn what_is_no_explanation_is_named_on_one_line() {
        for (text, expected) in [
            ("", "EOF"),
            ("3", "ExplanationText"),
            (r#"{"reason": 1}"#, "string"),
            (r#"{"reason": "a\u0007"}"#, "control characters"),
            (r#"{"candidates": [{"spec": "Csr"}]}"#, "outcome"),
            (r#"{"candidates": [{"spec": "Csr", "outcome": "\u001b[31m"}]}"#, "\\u{1b}[31m"),
        ] {
            let error = decode(text).unwrap_err();
            assert!(matches!(error, PlanFileError::Explanation { .. }), "{error}");
            let message = error.to_string();
            assert!(message.contains(expected), "{message:?} does not say {expected:?}");
            assert!(!message.chars().any(char::is_control), "{message:?}");
        }
    }
}
