//! An ordering that was priced.

use serde::{Deserialize, Serialize};

use super::candidate::OutcomeText;
use crate::file::PlanFileError;
use crate::file::text::{Number, Words, words};
use crate::file::wire::SpecCode;
use crate::ordering::Considered;

#[derive(Serialize, Deserialize)]
pub(super) struct OrderingText {
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
