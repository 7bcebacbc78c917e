//! A schedule that was priced.

use serde::{Deserialize, Serialize};

use crate::candidates::ScheduleOption;
use crate::file::text::Number;
use crate::file::wire::ReductionCode;
use crate::schedule::ScheduleKind;

#[derive(Serialize, Deserialize)]
pub(super) enum ScheduleKindText {
    Tasks,
    Split(ReductionCode),
    Windows,
    Partitions,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ScheduleText {
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
