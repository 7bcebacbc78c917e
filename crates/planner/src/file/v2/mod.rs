//! Version 2 of the header: what it held, as it was encoded, and what that is today.
//!
//! Frozen, as [`super::v1`] is: nothing here follows the types of today.

mod today;

use serde::Deserialize;

use super::PlanFileError;
use super::header::Header;
use super::section::SectionRow;
use super::wire::{
    self, DTypeCode, FingerprintCode, ReductionCode, ReorderCode, SpaceCode, SpecCode, codes,
};
use crate::cost::Resource;
use crate::device::{DeviceKind, Overlap, Unit};

#[derive(Deserialize)]
struct HeaderV2 {
    nrows: u64,
    ncols: u64,
    nnz: u64,
    dtype: DTypeCode,
    accumulator: DTypeCode,
    spec: SpecCode,
    window_rows: u64,
    ell_width: u64,
    reduction: ReductionCode,
    cut_for: u32,
    options: OptionsV2,
    fingerprint: Option<FingerprintCode>,
    explanation: ExplanationV2,
    sections: Vec<SectionRow>,
}

#[derive(Deserialize)]
enum FormatChoiceV2 {
    Auto,
    Fixed(SpecCode),
}

#[derive(Deserialize)]
struct OptionsV2 {
    n: u64,
    format: FormatChoiceV2,
    reorder: ReorderCode,
    space: SpaceCode,
    exact_nonfinite: bool,
    memory_limit: Option<u64>,
    keep_slot_map: bool,
    deterministic: bool,
    planning_seconds: Option<f64>,
    target: DeviceV2,
}

codes! {
    DeviceKindV2 for DeviceKind { Cpu, Cuda }
    OverlapV2 for Overlap { Full, None }
    UnitV2 for Unit { Entries, Tiles }
    ResourceV2 for Resource { Memory, Cache, Compute, Overhead }
}

#[derive(Deserialize)]
struct DeviceV2 {
    name: String,
    kind: DeviceKindV2,
    compute_capability: u32,
    simd_bits: u32,
    workers: u32,
    shared_bytes_per_block: u64,
    shared_bytes_per_worker: u64,
    memory_bandwidth: f64,
    cache_bandwidth: f64,
    cache_bytes: u64,
    private_cache_bytes: u64,
    cache_latency_seconds: f64,
    sparse_flops: [f64; 4],
    tile_flops: [f64; 4],
    efficiency: [f64; 6],
    value_seconds: [f64; 6],
    window_seconds: f64,
    bmat_tile_seconds: f64,
    task_seconds: f64,
    launch_seconds: f64,
    overlap: OverlapV2,
    fits: Vec<FitV2>,
}

#[derive(Deserialize)]
struct FitV2 {
    spec: SpecCode,
    dtype: DTypeCode,
    seconds: [f64; 9],
    held_out: u32,
    r2: f64,
    mean_relative_error: f64,
    max_relative_error: f64,
}

#[derive(Deserialize)]
struct ExplanationV2 {
    reason: String,
    candidates: Vec<CandidateV2>,
    schedule: String,
    schedules: Vec<ScheduleOptionV2>,
    order: String,
    orderings: Vec<ConsideredV2>,
}

#[derive(Deserialize)]
struct CandidateV2 {
    spec: SpecCode,
    config: Option<ConfigV2>,
    schedule: Option<ScheduleOptionV2>,
    outcome: OutcomeV2,
    cost: Option<CostV2>,
}

#[derive(Deserialize)]
enum OutcomeV2 {
    Chosen,
    Lost,
    Rejected { reason: String },
}

#[derive(Deserialize)]
struct ConfigV2 {
    block_cols: u32,
    #[expect(dead_code, reason = "of a kernel that no backend had")]
    instruction_cols: u32,
    stages: u32,
    shared_bytes: u64,
    blocks_per_worker: u32,
}

#[derive(Deserialize)]
enum ScheduleKindV2 {
    Tasks,
    Split(ReductionCode),
    Windows,
    Partitions,
}

#[derive(Deserialize)]
struct ScheduleOptionV2 {
    kind: ScheduleKindV2,
    limit: u64,
    tasks: u64,
    split_windows: u64,
    makespan: f64,
    imbalance: f64,
    idle_share: f64,
    stretch: f64,
}

#[derive(Deserialize)]
struct CostV2 {
    tile_bytes: u64,
    fill_ratio: f64,
    b_fetched_bytes: f64,
    b_memory_bytes: f64,
    c_bytes: f64,
    a_passes: f64,
    flops: f64,
    unit: UnitV2,
    memory_seconds: f64,
    cache_seconds: f64,
    compute_seconds: f64,
    overhead_seconds: f64,
    imbalance: f64,
    seconds: f64,
    dominant: ResourceV2,
}

#[derive(Deserialize)]
struct ConsideredV2 {
    name: String,
    outcome: OutcomeV2,
    spec: Option<SpecCode>,
    gathers: bool,
    packed_cols: u64,
    seconds: f64,
}

/// Decodes a header of version 2 as one of today.
pub(super) fn header(bytes: &[u8]) -> Result<Header, PlanFileError> {
    let old: HeaderV2 = wire::decode(bytes)?;
    Ok(Header {
        nrows: old.nrows,
        ncols: old.ncols,
        nnz: old.nnz,
        dtype: old.dtype.into(),
        accumulator: old.accumulator.into(),
        spec: old.spec.try_into()?,
        window_rows: old.window_rows,
        ell_width: old.ell_width,
        reduction: old.reduction.into(),
        cut_for: old.cut_for,
        options: old.options.try_into()?,
        fingerprint: old.fingerprint.map(Into::into),
        explanation: old.explanation.try_into()?,
        sections: old.sections,
        attachments: Vec::new(),
    })
}
