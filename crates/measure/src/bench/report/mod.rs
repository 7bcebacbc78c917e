//! The report of a benchmark, as `serde` writes it.

pub(super) mod case;
mod floor;
pub(super) mod problem;

use girih::DType;
use serde::Serialize;

use super::config::BenchConfig;
use super::engine::Engines;
use super::group::Group;
use super::ratios::{RatioReport, ratios};
use super::roofline::{self, DeviceReport, RooflineReport};
use super::suite::SuiteReport;
use crate::machine::Machine;

use case::engine_report;
pub use case::{CaseReport, EngineReport, SkippedReport};
pub use floor::FloorReport;
pub(super) use floor::Limits;
use floor::floor;
pub use problem::{MatrixReport, ProblemReport};

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
