//! The explanation as JSON, so that it can grow without a new version of the file.
//!
//! These types are the file's own. A field that a public type gains is missing in older files, so its
//! twin here takes a default, and skips it when it is written: older files then stay what they were, to
//! the last byte. A reader passes over fields that it does not know.

mod candidate;
mod cost;
mod measured;
mod order;
mod schedule;

use serde::{Deserialize, Serialize};

use self::candidate::CandidateText;
use self::measured::MeasurementText;
use self::order::OrderingText;
use self::schedule::ScheduleText;
use super::PlanFileError;
use super::text::{List, Words, printable, words};
use crate::explanation::Explanation;

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
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<MeasurementText>,
}

impl From<&Explanation> for ExplanationText {
    fn from(from: &Explanation) -> Self {
        let Explanation { reason, candidates, schedule, schedules, order, orderings, measured } =
            from;
        Self {
            reason: words(reason),
            candidates: List(candidates.iter().map(Into::into).collect()),
            schedule: words(schedule),
            schedules: List(schedules.iter().map(Into::into).collect()),
            order: words(order),
            orderings: List(orderings.iter().map(Into::into).collect()),
            measured: measured.as_ref().map(Into::into),
        }
    }
}

impl TryFrom<ExplanationText> for Explanation {
    type Error = PlanFileError;

    fn try_from(text: ExplanationText) -> Result<Self, PlanFileError> {
        let ExplanationText { reason, candidates, schedule, schedules, order, orderings, measured } =
            text;
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
            measured: measured.map(TryInto::try_into).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::FormatSpec;

    use super::*;
    use crate::explanation::{MeasuredCase, Measurement};
    use crate::kernels::KernelConfig;

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

    #[test]
    fn later_fields_come_back_and_older_plans_say_nothing_of_them() {
        let mut explanation = decode(OLD).unwrap();
        let old = encode(&explanation).unwrap();
        assert!(!old.contains("measured") && !old.contains("rows_together"));
        let case = |chosen: bool, seconds: f64| MeasuredCase {
            spec: FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
            reordered: !chosen,
            chosen,
            seconds,
            quartiles: [seconds / 3.0, f64::INFINITY],
        };
        let cases = vec![case(true, 1e-6), case(false, 0.1)];
        let machine = "Zen 5 (cpu)".to_owned();
        explanation.measured = Some(Measurement { machine, n: 128, cases });
        let config = KernelConfig::new("wide").rows_together(256);
        explanation.candidates[0].config = Some(config);
        assert_eq!(decode(&encode(&explanation).unwrap()).unwrap(), explanation);
        assert!(decode(r#"{"measured": {"machine": "\u001b", "n": 1, "cases": []}}"#).is_err());
        assert!(decode(r#"{"measured": {"machine": "x", "n": -1, "cases": []}}"#).is_err());
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
