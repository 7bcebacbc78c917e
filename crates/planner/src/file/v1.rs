//! Version 1 of the header: what it held, as it was encoded, and what that is today.
//!
//! Frozen: nothing here follows the types of today, so that old plans stay readable whatever becomes
//! of those.

use girih_formats::{DType, FormatSpec};
use serde::Deserialize;

use super::PlanFileError;
use super::header::{Header, decode};
use super::section::SectionRow;
use crate::{
    Candidate, Cost, DeviceSpec, Explanation, Fingerprint, FormatChoice, Outcome, PerDType,
    PerFormat, PlanOptions, Reduction, Reorder, Resource, Space, Unit,
};

#[derive(Deserialize)]
struct HeaderV1 {
    nrows: u64,
    ncols: u64,
    nnz: u64,
    dtype: DType,
    accumulator: DType,
    spec: FormatSpec,
    window_rows: u64,
    ell_width: u64,
    options: OptionsV1,
    fingerprint: Option<Fingerprint>,
    explanation: ExplanationV1,
    sections: Vec<SectionRow>,
}

#[derive(Deserialize)]
enum FormatChoiceV1 {
    Auto,
    Fixed(FormatSpec),
}

#[derive(Deserialize)]
struct OptionsV1 {
    n: usize,
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
    spec: FormatSpec,
    outcome: OutcomeV1,
    cost: Option<CostV1>,
}

#[derive(Deserialize)]
enum OutcomeV1 {
    Chosen,
    Lost,
    Rejected { reason: String },
}

#[derive(Deserialize)]
enum ResourceV1 {
    Memory,
    Cache,
    Compute,
    Overhead,
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
    let HeaderV1 {
        nrows,
        ncols,
        nnz,
        dtype,
        accumulator,
        spec,
        window_rows,
        ell_width,
        options,
        fingerprint,
        explanation,
        sections,
    } = decode(bytes)?;
    let header = Header {
        nrows,
        ncols,
        nnz,
        dtype,
        accumulator,
        spec,
        window_rows,
        ell_width,
        reduction: Reduction::TwoPass,
        cut_for: 0,
        options: options.into(),
        fingerprint,
        explanation: explanation.into(),
        sections,
    };
    header.check()?;
    Ok(header)
}

impl From<OptionsV1> for PlanOptions {
    fn from(old: OptionsV1) -> Self {
        Self {
            n: old.n,
            format: match old.format {
                FormatChoiceV1::Auto => FormatChoice::Auto,
                FormatChoiceV1::Fixed(spec) => FormatChoice::Fixed(spec),
            },
            reorder: Reorder::None,
            space: Space::Caller,
            exact_nonfinite: old.exact_nonfinite,
            memory_limit: old.memory_limit,
            keep_slot_map: old.keep_slot_map,
            deterministic: true,
            planning_seconds: None,
            target: old.target.into(),
        }
    }
}

impl From<DeviceV1> for DeviceSpec {
    fn from(old: DeviceV1) -> Self {
        let per_dtype = |[f16, bf16, f32, f64]: [f64; 4]| PerDType { f16, bf16, f32, f64 };
        let [csr, bcsr, wcsr, blocked_ell, bmat, two_four] = old.value_seconds;
        Self {
            name: old.name,
            memory_bandwidth: old.memory_bandwidth,
            cache_bandwidth: old.cache_bandwidth,
            cache_bytes: old.cache_bytes,
            sparse_flops: per_dtype(old.sparse_flops),
            tile_flops: per_dtype(old.tile_flops),
            value_seconds: PerFormat { csr, bcsr, wcsr, blocked_ell, bmat, two_four },
            window_seconds: old.window_seconds,
            bmat_tile_seconds: old.bmat_tile_seconds,
            // What version 1 did not know of a machine, which was a CPU.
            ..Self::cpu()
        }
    }
}

impl From<ExplanationV1> for Explanation {
    fn from(old: ExplanationV1) -> Self {
        let candidate = |old: CandidateV1| Candidate {
            spec: old.spec,
            outcome: match old.outcome {
                OutcomeV1::Chosen => Outcome::Chosen,
                OutcomeV1::Lost => Outcome::Lost,
                OutcomeV1::Rejected { reason } => Outcome::Rejected { reason },
            },
            cost: old.cost.map(Cost::from),
            config: None,
            schedule: None,
        };
        Self {
            reason: old.reason,
            candidates: old.candidates.into_iter().map(candidate).collect(),
            schedule: old.schedule,
            schedules: Vec::new(),
            order: String::new(),
            orderings: Vec::new(),
        }
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
            dominant: match old.dominant {
                ResourceV1::Memory => Resource::Memory,
                ResourceV1::Cache => Resource::Cache,
                ResourceV1::Compute => Resource::Compute,
                ResourceV1::Overhead => Resource::Overhead,
            },
        }
    }
}
