//! Floors: the least time that a product could take.

use girih::DType;
use girih::cpu::roofline::Limit;
use girih_cuda_libraries::CudaRoofline;
use serde::Serialize;

use super::problem::ProblemReport;
use crate::bench::engine::Engines;
use crate::bench::group::Case;
use crate::bench::roofline::MeasuredRoofline;

/// The least time that a product could take, and how near it came.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FloorReport {
    /// The floor.
    pub floor_seconds: f64,
    /// `bandwidth` or `compute`.
    pub limit: &'static str,
    /// The floor as a share of the median time.
    pub roofline_percent: f64,
    /// The least time of reading B from the device's second-level cache, as a share of the median time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l2_percent: Option<f64>,
}

/// What could be reached on this machine's threads and on the device.
#[derive(Debug)]
pub(in super::super) struct Limits {
    pub(in super::super) host: Vec<MeasuredRoofline>,
    pub(in super::super) device: Option<CudaRoofline>,
}

/// A time that can be divided by: a clock too coarse for a product must not make it infinitely
/// fast.
pub(super) fn positive(seconds: f64) -> f64 {
    seconds.max(1e-9)
}

pub(super) fn floor(
    problem: &ProblemReport,
    dtype: DType,
    case: &Case<'_>,
    engines: &Engines,
    limits: &Limits,
) -> Option<FloorReport> {
    let median = positive(case.samples.summary().median);
    let (bytes, flops) = (problem.bytes as f64, problem.flops as f64);
    if case.engine.multiplier.device().is_some() {
        let device = limits.device.as_ref()?;
        let (memory, compute) = (bytes / device.memory, flops / device.peak(dtype, case.tf32));
        let named = |rows| rows as f64 * (problem.n * dtype.size()) as f64;
        return Some(FloorReport {
            floor_seconds: memory.max(compute),
            limit: if memory >= compute { "bandwidth" } else { "compute" },
            roofline_percent: 100.0 * memory.max(compute) / median,
            l2_percent: case.named_rows.map(|r| 100.0 * named(r) / device.l2 / median),
        });
    }
    let (isa, threads) = (case.engine.floor_isa?, engines.teams[case.engine.team].threads());
    let roofline = &limits.host.iter().find(|m| m.is_for(isa, threads))?.roofline;
    let floor = roofline.floor(dtype, bytes, flops);
    Some(FloorReport {
        floor_seconds: floor.seconds,
        limit: match floor.limit {
            Limit::Bandwidth => "bandwidth",
            Limit::Compute => "compute",
        },
        roofline_percent: 100.0 * floor.seconds / median,
        l2_percent: None,
    })
}
