//! Version 1 of the header: what it held, as it was encoded, and what that is today.
//!
//! Frozen: nothing here follows the types of today, so that old plans stay readable whatever becomes
//! of those.

use serde::Deserialize;

use super::PlanFileError;
use super::header::Header;
use super::section::SectionRow;
use super::wire::{self, DTypeCode, FingerprintCode, SpecCode, codes, size};
use crate::cost::{Cost, Resource};
use crate::device::{DeviceSpec, PerDType, PerFormat, Unit};
use crate::explanation::{Candidate, Explanation, Outcome};
use crate::kernels::Kernels;
use crate::options::{FormatChoice, Op, PlanOptions};
use crate::ordering::{Reorder, Space};
use crate::precision::Precision;
use crate::schedule::Reduction;

#[derive(Deserialize)]
struct HeaderV1 {
    nrows: u64,
    ncols: u64,
    nnz: u64,
    dtype: DTypeCode,
    accumulator: DTypeCode,
    spec: SpecCode,
    window_rows: u64,
    ell_width: u64,
    options: OptionsV1,
    fingerprint: Option<FingerprintCode>,
    explanation: ExplanationV1,
    sections: Vec<SectionRow>,
}

#[derive(Deserialize)]
enum FormatChoiceV1 {
    Auto,
    Fixed(SpecCode),
}

#[derive(Deserialize)]
struct OptionsV1 {
    n: u64,
    format: FormatChoiceV1,
    exact_nonfinite: bool,
    memory_limit: Option<u64>,
    keep_slot_map: bool,
    target: DeviceV1,
}

#[derive(Deserialize)]
struct DeviceV1 {
    name: String,
    memory_bandwidth: f64,
    cache_bandwidth: f64,
    cache_bytes: u64,
    sparse_flops: [f64; 4],
    tile_flops: [f64; 4],
    value_seconds: [f64; 6],
    window_seconds: f64,
    bmat_tile_seconds: f64,
}

#[derive(Deserialize)]
struct ExplanationV1 {
    reason: String,
    candidates: Vec<CandidateV1>,
    schedule: String,
}

#[derive(Deserialize)]
struct CandidateV1 {
    spec: SpecCode,
    outcome: OutcomeV1,
    cost: Option<CostV1>,
}

#[derive(Deserialize)]
enum OutcomeV1 {
    Chosen,
    Lost,
    Rejected { reason: String },
}

codes! {
    ResourceV1 for Resource { Memory, Cache, Compute, Overhead }
}

#[derive(Deserialize)]
struct CostV1 {
    tile_bytes: u64,
    fill_ratio: f64,
    b_memory_bytes: f64,
    b_fetched_bytes: f64,
    c_bytes: f64,
    flops: f64,
    memory_seconds: f64,
    cache_seconds: f64,
    compute_seconds: f64,
    overhead_seconds: f64,
    seconds: f64,
    dominant: ResourceV1,
}

/// Decodes a header of version 1 as one of today.
pub(super) fn header(bytes: &[u8]) -> Result<Header, PlanFileError> {
    let old: HeaderV1 = wire::decode(bytes)?;
    Ok(Header {
        nrows: old.nrows,
        ncols: old.ncols,
        nnz: old.nnz,
        dtype: old.dtype.into(),
        accumulator: old.accumulator.into(),
        spec: old.spec.try_into()?,
        window_rows: old.window_rows,
        ell_width: old.ell_width,
        reduction: Reduction::TwoPass,
        cut_for: 0,
        options: old.options.try_into()?,
        fingerprint: old.fingerprint.map(Into::into),
        explanation: old.explanation.try_into()?,
        sections: old.sections,
        attachments: Vec::new(),
    })
}

impl TryFrom<OptionsV1> for PlanOptions {
    type Error = PlanFileError;

    fn try_from(old: OptionsV1) -> Result<Self, PlanFileError> {
        Ok(Self {
            n: size(old.n)?,
            op: Op::None,
            format: match old.format {
                FormatChoiceV1::Auto => FormatChoice::Auto,
                FormatChoiceV1::Fixed(spec) => FormatChoice::Fixed(spec.try_into()?),
            },
            reorder: Reorder::None,
            space: Space::Caller,
            exact_nonfinite: old.exact_nonfinite,
            precision: Precision::Tf32,
            memory_limit: old.memory_limit,
            keep_slot_map: old.keep_slot_map,
            deterministic: true,
            planning_seconds: None,
            once: false,
            target: old.target.into(),
            kernels: Kernels::default(),
        })
    }
}

impl From<DeviceV1> for DeviceSpec {
    fn from(old: DeviceV1) -> Self {
        let per_dtype = |[f16, bf16, f32, f64]: [f64; 4]| PerDType { f16, bf16, f32, f64 };
        Self {
            name: old.name,
            memory_bandwidth: old.memory_bandwidth,
            cache_bandwidth: old.cache_bandwidth,
            cache_bytes: old.cache_bytes,
            sparse_flops: per_dtype(old.sparse_flops),
            tile_flops: per_dtype(old.tile_flops),
            value_seconds: PerFormat::of(old.value_seconds),
            window_seconds: old.window_seconds,
            bmat_tile_seconds: old.bmat_tile_seconds,
            // What version 1 did not know of a machine, which was a CPU.
            ..Self::cpu()
        }
    }
}

impl TryFrom<ExplanationV1> for Explanation {
    type Error = PlanFileError;

    fn try_from(old: ExplanationV1) -> Result<Self, PlanFileError> {
        Ok(Self {
            reason: old.reason,
            candidates: old
                .candidates
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_, _>>()?,
            schedule: old.schedule,
            schedules: Vec::new(),
            order: String::new(),
            orderings: Vec::new(),
            measured: None,
        })
    }
}

impl TryFrom<CandidateV1> for Candidate {
    type Error = PlanFileError;

    fn try_from(old: CandidateV1) -> Result<Self, PlanFileError> {
        Ok(Self {
            spec: old.spec.try_into()?,
            outcome: match old.outcome {
                OutcomeV1::Chosen => Outcome::Chosen,
                OutcomeV1::Lost => Outcome::Lost,
                OutcomeV1::Rejected { reason } => Outcome::Rejected { reason },
            },
            cost: old.cost.map(Cost::from),
            config: None,
            schedule: None,
        })
    }
}

impl From<CostV1> for Cost {
    fn from(old: CostV1) -> Self {
        Self {
            tile_bytes: old.tile_bytes,
            fill_ratio: old.fill_ratio,
            b_memory_bytes: old.b_memory_bytes,
            b_fetched_bytes: old.b_fetched_bytes,
            c_bytes: old.c_bytes,
            a_passes: 1.0,
            flops: old.flops,
            unit: Unit::Entries,
            memory_seconds: old.memory_seconds,
            cache_seconds: old.cache_seconds,
            compute_seconds: old.compute_seconds,
            overhead_seconds: old.overhead_seconds,
            imbalance: 1.0,
            seconds: old.seconds,
            dominant: old.dominant.into(),
        }
    }
}
