//! What version 2 held, as today's types.

use super::super::PlanFileError;
use super::super::wire::size;
use super::{
    CandidateV2, ConfigV2, ConsideredV2, CostV2, DeviceV2, ExplanationV2, FitV2, FormatChoiceV2,
    OptionsV2, OutcomeV2, ScheduleKindV2, ScheduleOptionV2,
};
use crate::candidates::ScheduleOption;
use crate::cost::Cost;
use crate::device::{DeviceSpec, Fit, PerDType, PerFormat, Quality, Terms};
use crate::explanation::{Candidate, Explanation, Outcome};
use crate::kernels::{KernelConfig, Kernels};
use crate::options::{FormatChoice, Op, PlanOptions};
use crate::ordering::Considered;
use crate::precision::Precision;
use crate::schedule::ScheduleKind;

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
            once: false,
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
