//! Candidates that were timed.

use serde::{Deserialize, Serialize};

use crate::explanation::{MeasuredCase, Measurement};
use crate::file::PlanFileError;
use crate::file::text::{List, Number, Words, words};
use crate::file::wire::SpecCode;

#[derive(Serialize, Deserialize)]
pub(super) struct MeasurementText {
    machine: Words,
    n: u64,
    cases: List<CaseText>,
}

#[derive(Serialize, Deserialize)]
struct CaseText {
    spec: SpecCode,
    reordered: bool,
    chosen: bool,
    seconds: Number,
    quartiles: [Number; 2],
}

impl From<&Measurement> for MeasurementText {
    fn from(from: &Measurement) -> Self {
        let Measurement { machine, n, cases } = from;
        let case = |case: &MeasuredCase| {
            let MeasuredCase { spec, reordered, chosen, seconds, quartiles } = *case;
            let quartiles = quartiles.map(Number);
            CaseText { spec: spec.into(), reordered, chosen, seconds: Number(seconds), quartiles }
        };
        Self {
            machine: words(machine),
            n: *n as u64,
            cases: List(cases.iter().map(case).collect()),
        }
    }
}

impl TryFrom<MeasurementText> for Measurement {
    type Error = PlanFileError;

    fn try_from(text: MeasurementText) -> Result<Self, PlanFileError> {
        let MeasurementText { machine, n, cases } = text;
        let case = |case: CaseText| {
            let CaseText { spec, reordered, chosen, seconds, quartiles } = case;
            let quartiles = quartiles.map(|number| number.0);
            let spec = spec.try_into()?;
            Ok(MeasuredCase { spec, reordered, chosen, seconds: seconds.0, quartiles })
        };
        let cases = cases.0.into_iter().map(case).collect::<Result<_, PlanFileError>>()?;
        let n = usize::try_from(n).map_err(|_| {
            PlanFileError::header(format!("n is {n}, more than this machine numbers"))
        })?;
        Ok(Self { machine: machine.0, n, cases })
    }
}
