//! Cases, as they were run or not.

use serde::Serialize;

use super::floor::{FloorReport, positive};
use super::problem::ProblemReport;
use crate::bench::engine::{Engine, Engines};
use crate::bench::group::Case;
use crate::bench::request::isa_name;
use crate::sampling::Summary;

/// A case: a product in one format and order, by one backend.
#[derive(Debug, Serialize)]
pub struct CaseReport {
    /// The problem.
    #[serde(flatten)]
    pub problem: ProblemReport,
    /// The format as it was requested.
    pub format: String,
    /// The format that was multiplied, with its sizes.
    pub spec: String,
    /// The order as it was requested.
    pub reorder: String,
    /// The order that was taken.
    pub order: String,
    /// What multiplied.
    #[serde(flatten)]
    pub engine: EngineReport,
    /// Bytes of the tiles.
    pub tile_bytes: u64,
    /// What the planner estimates for a product on the machine that it was planned for; `None` if it makes no
    /// estimate.
    pub estimated_seconds: Option<f64>,
    /// The time of planning, that of the order included.
    pub plan_seconds: f64,
    /// The time of preparing.
    pub prepare_seconds: f64,
    /// Planning, in products of the median time.
    pub plan_products: f64,
    /// Preparing, in products of the median time.
    pub prepare_products: f64,
    /// At most 1 if every element is right.
    pub max_error_over_bound: f64,
    /// Elements that were compared.
    pub elements: u64,
    /// Elements of those that overflow on the way and can't be judged.
    pub unjudged: u64,
    /// Elements that are NaN or infinite, which have no error.
    pub non_finite: u64,
    /// The number of samples.
    pub samples: usize,
    /// Products in each sample.
    pub calls_per_sample: u32,
    /// The least time of a product.
    pub min_seconds: f64,
    /// The first quartile.
    pub q1_seconds: f64,
    /// The median.
    pub median_seconds: f64,
    /// The third quartile.
    pub q3_seconds: f64,
    /// 10⁹ flops per second, by the median time.
    pub gflops: f64,
    /// 10⁹ bytes per second, by the median time.
    pub gbytes_per_second: f64,
    /// `None` with `--roofline off`.
    #[serde(flatten)]
    pub floor: Option<FloorReport>,
    /// The share of all processors that other programs had meanwhile.
    pub other_load: Option<f64>,
}

/// What multiplied.
#[derive(Clone, Debug, Serialize)]
pub struct EngineReport {
    /// The name of the backend.
    pub backend: String,
    /// The instruction set, of a backend that was given one.
    pub isa: Option<&'static str>,
    /// The algorithm or mode, of a backend that has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way: Option<&'static str>,
    /// `None` on a device.
    pub threads: Option<usize>,
    /// The device, if it is not this processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// A case that was not run.
#[derive(Debug, Serialize)]
pub struct SkippedReport {
    /// The name of the matrix.
    pub matrix: String,
    /// The value type.
    pub dtype: &'static str,
    /// Columns of B.
    pub n: usize,
    /// The format as it was requested.
    pub format: String,
    /// The order as it was requested.
    pub reorder: String,
    /// The backend that can't run the case; `None` if no plan could be made.
    #[serde(flatten)]
    pub engine: Option<EngineReport>,
    /// Why not.
    pub reason: String,
}

impl CaseReport {
    pub(super) fn new(
        problem: &ProblemReport,
        case: &Case<'_>,
        engines: &Engines,
        floor: Option<FloorReport>,
        other_load: Option<f64>,
    ) -> Self {
        let Summary { samples, min, q1, median, q3 } = case.samples.summary();
        let (planning, preparing) = (case.planning.as_secs_f64(), case.preparing.as_secs_f64());
        Self {
            problem: problem.clone(),
            format: case.request.format.to_string(),
            spec: case.spec.clone(),
            reorder: case.request.order.to_string(),
            order: case.order.clone(),
            engine: engine_report(case.engine, engines, case.way),
            tile_bytes: case.tile_bytes,
            estimated_seconds: case.estimate,
            plan_seconds: planning,
            prepare_seconds: preparing,
            plan_products: planning / positive(median),
            prepare_products: preparing / positive(median),
            max_error_over_bound: case.verification.max_error_over_bound,
            elements: case.verification.elements,
            unjudged: case.verification.unjudged,
            non_finite: case.verification.non_finite,
            samples,
            calls_per_sample: case.samples.calls,
            min_seconds: min,
            q1_seconds: q1,
            median_seconds: median,
            q3_seconds: q3,
            gflops: problem.flops as f64 / positive(median) / 1e9,
            gbytes_per_second: problem.bytes as f64 / positive(median) / 1e9,
            floor,
            other_load,
        }
    }
}

pub(super) fn engine_report(
    engine: &Engine,
    engines: &Engines,
    way: Option<&'static str>,
) -> EngineReport {
    let device = engine.multiplier.device();
    EngineReport {
        backend: engine.multiplier.name().to_owned(),
        isa: engine.isa.map(isa_name),
        way,
        threads: device.is_none().then(|| engines.teams[engine.team].threads()),
        device: device.and_then(|device| device.describe().ok()),
    }
}
