//! Version 2 of the header: what it held, as it was encoded, and what that is today.
//!
//! Frozen, as [`super::v1`] is: nothing here follows the types of today.

use serde::Deserialize;

use super::PlanFileError;
use super::header::Header;
use super::section::SectionRow;
use super::wire::{
    self, DTypeCode, FingerprintCode, ReductionCode, ReorderCode, SpaceCode, SpecCode, codes, size,
};
use crate::candidates::{ScheduleKind, ScheduleOption};
use crate::cost::{Cost, Resource};
use crate::device::{
    DeviceKind, DeviceSpec, Fit, Overlap, PerDType, PerFormat, Quality, Terms, Unit,
};
use crate::explanation::{Candidate, Explanation, Outcome};
use crate::kernels::{KernelConfig, Kernels};
use crate::options::{FormatChoice, Op, PlanOptions};
use crate::ordering::Considered;
use crate::precision::Precision;

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

/// Converts every element, or gives the first error.
fn all<T: TryInto<U, Error = PlanFileError>, U>(list: Vec<T>) -> Result<Vec<U>, PlanFileError> {
    list.into_iter().map(TryInto::try_into).collect()
}

impl TryFrom<OptionsV2> for PlanOptions {
    type Error = PlanFileError;

    fn try_from(old: OptionsV2) -> Result<Self, PlanFileError> {
        Ok(Self {
            n: size(old.n)?,
            op: Op::None,
            format: match old.format {
                FormatChoiceV2::Auto => FormatChoice::Auto,
                FormatChoiceV2::Fixed(spec) => FormatChoice::Fixed(spec.try_into()?),
            },
            reorder: old.reorder.into(),
            space: old.space.into(),
            exact_nonfinite: old.exact_nonfinite,
            precision: Precision::Tf32,
            memory_limit: old.memory_limit,
            keep_slot_map: old.keep_slot_map,
            deterministic: old.deterministic,
            planning_seconds: old.planning_seconds,
            target: old.target.try_into()?,
            kernels: Kernels::default(),
        })
    }
}

impl TryFrom<DeviceV2> for DeviceSpec {
    type Error = PlanFileError;

    fn try_from(old: DeviceV2) -> Result<Self, PlanFileError> {
        let per_dtype = |[f16, bf16, f32, f64]: [f64; 4]| PerDType { f16, bf16, f32, f64 };
        Ok(Self {
            name: old.name,
            kind: old.kind.into(),
            compute_capability: old.compute_capability,
            simd_bits: old.simd_bits,
            workers: old.workers,
            shared_bytes_per_block: old.shared_bytes_per_block,
            shared_bytes_per_worker: old.shared_bytes_per_worker,
            memory_bandwidth: old.memory_bandwidth,
            cache_bandwidth: old.cache_bandwidth,
            cache_bytes: old.cache_bytes,
            private_cache_bytes: old.private_cache_bytes,
            cache_latency_seconds: old.cache_latency_seconds,
            sparse_flops: per_dtype(old.sparse_flops),
            tile_flops: per_dtype(old.tile_flops),
            efficiency: PerFormat::of(old.efficiency),
            value_seconds: PerFormat::of(old.value_seconds),
            window_seconds: old.window_seconds,
            bmat_tile_seconds: old.bmat_tile_seconds,
            task_seconds: old.task_seconds,
            launch_seconds: old.launch_seconds,
            host_bandwidth: 0.0,
            overlap: old.overlap.into(),
            fits: all(old.fits)?,
        })
    }
}

impl TryFrom<FitV2> for Fit {
    type Error = PlanFileError;

    fn try_from(old: FitV2) -> Result<Self, PlanFileError> {
        let FitV2 { held_out, r2, mean_relative_error, max_relative_error, .. } = old;
        Ok(Self {
            spec: old.spec.try_into()?,
            dtype: old.dtype.into(),
            precision: None,
            seconds: Terms::from_array(old.seconds),
            quality: Quality { held_out, r2, mean_relative_error, max_relative_error },
        })
    }
}

impl TryFrom<ExplanationV2> for Explanation {
    type Error = PlanFileError;

    fn try_from(old: ExplanationV2) -> Result<Self, PlanFileError> {
        Ok(Self {
            reason: old.reason,
            candidates: all(old.candidates)?,
            schedule: old.schedule,
            schedules: old.schedules.into_iter().map(Into::into).collect(),
            order: old.order,
            orderings: all(old.orderings)?,
            measured: None,
        })
    }
}

impl TryFrom<CandidateV2> for Candidate {
    type Error = PlanFileError;

    fn try_from(old: CandidateV2) -> Result<Self, PlanFileError> {
        Ok(Self {
            spec: old.spec.try_into()?,
            config: old.config.map(Into::into),
            schedule: old.schedule.map(Into::into),
            outcome: old.outcome.into(),
            cost: old.cost.map(Into::into),
        })
    }
}

impl From<OutcomeV2> for Outcome {
    fn from(old: OutcomeV2) -> Self {
        match old {
            OutcomeV2::Chosen => Self::Chosen,
            OutcomeV2::Lost => Self::Lost,
            OutcomeV2::Rejected { reason } => Self::Rejected { reason },
        }
    }
}

impl From<ConfigV2> for KernelConfig {
    fn from(old: ConfigV2) -> Self {
        let ConfigV2 { block_cols, stages, shared_bytes, blocks_per_worker, .. } = old;
        // Of a kernel that the planner made up: no backend had its entry point.
        let (entry, threads) = (String::new(), 0);
        Self {
            entry,
            block_cols,
            threads,
            stages,
            stage_tiles: 0,
            shared_bytes,
            blocks_per_worker,
            rows_together: 0,
        }
    }
}

impl From<ScheduleOptionV2> for ScheduleOption {
    fn from(old: ScheduleOptionV2) -> Self {
        Self {
            kind: match old.kind {
                ScheduleKindV2::Tasks => ScheduleKind::Tasks,
                ScheduleKindV2::Split(reduction) => ScheduleKind::Split(reduction.into()),
                ScheduleKindV2::Windows => ScheduleKind::Windows,
                ScheduleKindV2::Partitions => ScheduleKind::Partitions,
            },
            limit: old.limit,
            tasks: old.tasks,
            split_windows: old.split_windows,
            makespan: old.makespan,
            imbalance: old.imbalance,
            idle_share: old.idle_share,
            stretch: old.stretch,
        }
    }
}

impl From<CostV2> for Cost {
    fn from(old: CostV2) -> Self {
        Self {
            tile_bytes: old.tile_bytes,
            fill_ratio: old.fill_ratio,
            b_fetched_bytes: old.b_fetched_bytes,
            b_memory_bytes: old.b_memory_bytes,
            c_bytes: old.c_bytes,
            a_passes: old.a_passes,
            flops: old.flops,
            unit: old.unit.into(),
            memory_seconds: old.memory_seconds,
            cache_seconds: old.cache_seconds,
            compute_seconds: old.compute_seconds,
            overhead_seconds: old.overhead_seconds,
            imbalance: old.imbalance,
            seconds: old.seconds,
            dominant: old.dominant.into(),
        }
    }
}

impl TryFrom<ConsideredV2> for Considered {
    type Error = PlanFileError;

    fn try_from(old: ConsideredV2) -> Result<Self, PlanFileError> {
        Ok(Self {
            name: old.name,
            outcome: old.outcome.into(),
            spec: old.spec.map(TryInto::try_into).transpose()?,
            permutes_b: old.gathers,
            packed_cols: old.packed_cols,
            seconds: old.seconds,
        })
    }
}
