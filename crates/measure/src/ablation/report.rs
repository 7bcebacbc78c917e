//! What an ablation found.

use girih::Verification;
use serde::Serialize;

use super::ladder::{Ladder, Step};
use crate::machine::Machine;

/// The ladders that were measured, and where.
#[derive(Clone, Debug, Serialize)]
pub struct AblationReport {
    /// The machine that the device is in.
    pub machine: Machine,
    /// The device.
    pub device: String,
    /// The ladders, with what was measured of each.
    pub ladders: Vec<LadderReport>,
}

/// A ladder, and what was measured of it.
#[derive(Clone, Debug, Serialize)]
pub struct LadderReport {
    /// The ladder.
    pub ladder: Ladder,
    /// Its products.
    pub cases: Vec<LadderCase>,
}

/// A product by every step of a ladder.
#[derive(Clone, Debug, Serialize)]
pub struct LadderCase {
    /// The matrix.
    pub matrix: String,
    /// Rows of A.
    pub m: usize,
    /// Columns of A.
    pub k: usize,
    /// Columns of B.
    pub n: usize,
    /// Entries of A.
    pub nnz: usize,
    /// Of each product every `verified_every`th column was compared with the oracle.
    pub verified_every: usize,
    /// The steps, in the ladder's order, and cuBLASLt's dense product last where it was wanted.
    pub steps: Vec<StepReport>,
}

/// What was measured of a step.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    /// The step's name.
    pub name: String,
    /// What was measured; `None` if it was not.
    pub times: Option<StepTimes>,
    /// Why it was not, if so.
    pub skipped: Option<String>,
}

/// Times of a verified product.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StepTimes {
    /// Seconds of the fastest sample.
    pub min_seconds: f64,
    /// The median of all samples.
    pub median_seconds: f64,
    /// Samples.
    pub samples: usize,
    /// 10¹² flops per second, as the ladder counts them.
    pub tflops: f64,
    /// The largest error as a multiple of its bound.
    pub max_error_over_bound: f64,
}

impl StepTimes {
    pub(super) fn new(
        (min, median, samples): (f64, f64, usize),
        flops: f64,
        verification: Verification,
    ) -> Self {
        Self {
            min_seconds: min,
            median_seconds: median,
            samples,
            tflops: flops / median / 1e12,
            max_error_over_bound: verification.max_error_over_bound,
        }
    }
}

impl LadderCase {
    /// How much faster a step of a ladder is than the nearest one before it that was measured.
    pub fn speedup(&self, ladder: &Ladder, step: &Step) -> Option<f64> {
        let seconds = |at: usize| Some(self.steps.get(at)?.times?.median_seconds);
        let (at, _) = ladder.step(&step.name)?;
        Some(ladder.before(step, |before, _| seconds(before))? / seconds(at)?)
    }
}
