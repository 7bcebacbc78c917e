//! The report of a benchmark, as `serde` writes it.

use girih::DType;
use girih::cpu::roofline::Limit;
use girih_cuda_libraries::CudaRoofline;
use serde::Serialize;

use super::BenchConfig;
use super::engine::{Engine, Engines};
use super::group::{Case, Group};
use super::ratios::{RatioReport, ratios};
use super::request::isa_name;
use super::roofline::{self, DeviceReport, MeasuredRoofline, RooflineReport};
use super::suite::SuiteReport;
use crate::machine::Machine;
use crate::sampling::Summary;
use crate::units;

/// What is counted as bytes and flops, and what percentages and ratios compare.
const COUNTED: &str = "bytes: A as CSR with 32-bit indices, B and C once each; flops: 2·nnz·n, of complex values 8·nnz·n; \
    gflops and gbytes_per_second: over the median time; roofline: the longer of bytes over the best \
    bandwidth at a working set of that size and flops over the peak of fused multiply-add, as a \
    share of the median time; l2_percent: the least time for reading the rows of B that the tiles name \
    from the device's second-level cache, as a share of the median time; ratios: the median time of the \
    fastest of a peer's ways over that of the case";

/// What a benchmark found.
#[derive(Debug, Serialize)]
pub struct BenchReport {
    /// The version of girih.
    pub version: &'static str,
    /// The suite, if the benchmark is of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuiteReport>,
    /// The machine, as it describes itself.
    pub machine: Machine,
    /// What is counted as bytes and flops, and what percentages and ratios compare.
    pub counted: &'static str,
    /// Seconds to spend on each case.
    pub seconds: f64,
    /// The seed of B.
    pub seed: u64,
    /// How far products in f32 may round their operands.
    pub precision: &'static str,
    /// What this machine could reach.
    pub rooflines: Vec<RooflineReport>,
    /// What the device could reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceReport>,
    /// The matrices, in the order in which they were measured.
    pub matrices: Vec<MatrixReport>,
    /// The cases that were run.
    pub cases: Vec<CaseReport>,
    /// The cases that were not.
    pub skipped: Vec<SkippedReport>,
    /// Cases on a device beside those of its peers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ratios: Vec<RatioReport>,
}

/// A matrix of a benchmark.
#[derive(Debug, Serialize)]
pub struct MatrixReport {
    /// A name that no other matrix of the report has.
    pub name: String,
    /// `generated`, or the path.
    pub source: String,
    /// Rows.
    pub m: usize,
    /// Columns.
    pub k: usize,
    /// Entries.
    pub nnz: usize,
}

/// The problem of a case.
#[derive(Clone, Debug, Serialize)]
pub struct ProblemReport {
    /// The name of the matrix.
    pub matrix: String,
    /// The value type.
    pub dtype: &'static str,
    /// Columns of B.
    pub n: usize,
    /// A as CSR with 32-bit indices, B and C, once each.
    pub bytes: u64,
    /// 2·nnz·n, of complex values 8·nnz·n.
    pub flops: u64,
}

impl ProblemReport {
    pub(super) fn new(matrix: &MatrixReport, dtype: DType, n: usize) -> Self {
        let MatrixReport { m, k, nnz, .. } = *matrix;
        let size = dtype.size() as u64;
        // A fits in memory, and so do B and C of any case that is run; those of others may not.
        let [m, k, nnz, cols] = [m, k, nnz, n].map(|x| x as u64);
        let a = 4 * (m + 1) + nnz * (4 + size);
        let dense = k.saturating_mul(size) + m.saturating_mul(dtype.accumulator().size() as u64);
        Self {
            matrix: matrix.name.clone(),
            dtype: dtype.name(),
            n,
            bytes: a.saturating_add(dense.saturating_mul(cols)),
            flops: units::flops(dtype, matrix.nnz, n),
        }
    }
}

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
    /// The time of planning.
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
pub(super) struct Limits {
    pub(super) host: Vec<MeasuredRoofline>,
    pub(super) device: Option<CudaRoofline>,
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

impl BenchReport {
    pub(super) fn new(machine: Machine, limits: &Limits, config: &BenchConfig) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            suite: config.suite.clone(),
            machine,
            counted: COUNTED,
            seconds: config.seconds,
            seed: config.seed,
            precision: config.precision.name(),
            rooflines: limits.host.iter().map(roofline::report).collect(),
            device: limits.device.as_ref().map(DeviceReport::new),
            matrices: Vec::new(),
            cases: Vec::new(),
            skipped: Vec::new(),
            ratios: Vec::new(),
        }
    }

    /// Adds the cases of a group.
    pub(super) fn push(
        &mut self,
        matrix: &MatrixReport,
        (dtype, n): (DType, usize),
        group: &Group<'_>,
        engines: &Engines,
        limits: &Limits,
    ) {
        let problem = ProblemReport::new(matrix, dtype, n);
        let first = self.cases.len();
        for case in &group.cases {
            let floor = floor(&problem, dtype, case, engines, limits);
            self.cases.push(CaseReport::new(&problem, case, engines, floor, group.other_load));
        }
        let ratios = ratios(&self.cases[first..]);
        self.ratios.extend(ratios);
        self.skipped.extend(group.skipped.iter().map(|skipped| SkippedReport {
            matrix: problem.matrix.clone(),
            dtype: problem.dtype,
            n,
            format: skipped.request.format.to_string(),
            reorder: skipped.request.order.to_string(),
            engine: skipped.engine.map(|at| engine_report(&engines.engines[at], engines, None)),
            reason: skipped.reason.clone(),
        }));
    }
}

impl CaseReport {
    fn new(
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

/// A time that can be divided by: a clock too coarse for a product must not make it infinitely
/// fast.
fn positive(seconds: f64) -> f64 {
    seconds.max(1e-9)
}

fn engine_report(engine: &Engine, engines: &Engines, way: Option<&'static str>) -> EngineReport {
    let device = engine.multiplier.device();
    EngineReport {
        backend: engine.multiplier.name().to_owned(),
        isa: engine.isa.map(isa_name),
        way,
        threads: device.is_none().then(|| engines.teams[engine.team].threads()),
        device: device.and_then(|device| device.describe().ok()),
    }
}

fn floor(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_csr_and_both_operands() {
        let matrix = MatrixReport {
            name: "a".to_owned(),
            source: "generated".to_owned(),
            m: 10,
            k: 20,
            nnz: 30,
        };
        let f32 = ProblemReport::new(&matrix, DType::F32, 7);
        assert_eq!((f32.bytes, f32.flops), (44 + 30 * 8 + 7 * 4 * (10 + 20), 420));
        // B in two bytes, C in four.
        let bf16 = ProblemReport::new(&matrix, DType::Bf16, 7);
        assert_eq!(bf16.bytes, 44 + 30 * 6 + 7 * (2 * 20 + 4 * 10));
    }
}
