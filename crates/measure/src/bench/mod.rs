//! Products, timed beside what the machine could reach.
//!
//! A [`Bench`] runs the cases of a [`BenchConfig`] on one matrix after the other. A case is a product in one
//! format and order by one backend on a number of threads. Each is planned, prepared and verified; those of
//! one matrix, value type and number of columns are then timed by turns. The [`BenchReport`] sets each time
//! beside a floor that was measured in the same run.

mod config;
pub(crate) mod device;
pub(crate) mod engine;
mod generated;
mod group;
mod orders;
mod ratios;
mod report;
mod request;
mod roofline;
mod suite;
mod tiles;
pub(crate) mod verdict;

use girih::{Csr, DenseScalar, DeviceSpec};

use crate::machine::Machine;
use crate::{MeasureError, Observer};
use engine::Engines;
use group::GroupConfig;
use orders::KnownOrders;
use report::Limits;

pub use config::BenchConfig;
pub use generated::Generated;
pub use ratios::{RatioMean, RatioReport, means};
pub use report::{
    BenchReport, CaseReport, EngineReport, FloorReport, MatrixReport, ProblemReport, SkippedReport,
};
pub use request::{
    BenchBackend, CaseRequest, FormatRequest, OrderRequest, RooflineEffort, ThreadCount, isa_name,
};
pub use roofline::{BandwidthReport, DeviceReport, RooflineReport};
pub use suite::{Suite, SuiteReport};
pub use tiles::{Block, TileSizes, parse_block};

/// A benchmark under way.
#[expect(missing_debug_implementations, reason = "an observer need not have one")]
pub struct Bench<'a> {
    config: BenchConfig,
    requests: Vec<CaseRequest>,
    engines: Engines,
    target: DeviceSpec,
    limits: Limits,
    report: BenchReport,
    observer: &'a dyn Observer,
}

impl<'a> Bench<'a> {
    /// Starts threads and backends, and measures what the machine could reach.
    ///
    /// # Errors
    /// If this machine lacks a backend or an instruction set, or if its limits can't be measured.
    pub fn new(config: BenchConfig, observer: &'a dyn Observer) -> Result<Self, MeasureError> {
        let engines = Engines::new(&config)?;
        let target = match &config.device {
            Some(device) => device.clone(),
            None => engines.target()?,
        };
        let machine = Machine::this();
        let limits = Limits {
            host: engines.rooflines(&config, &machine, observer)?,
            device: engines.cuda_roofline(&config, observer)?,
        };
        let report = BenchReport::new(machine, &limits, &config);
        let requests = config.requests();
        Ok(Self { config, requests, engines, target, limits, report, observer })
    }

    /// Runs all cases of a matrix in one value type. `name` is its name in tables, `source` where it comes
    /// from, which is its name if another matrix has `name` already.
    ///
    /// A case that is not supported or takes more memory than it may is skipped, and reported as that.
    ///
    /// # Errors
    /// If a product is wrong or can't be computed.
    pub fn measure<T: DenseScalar>(
        &mut self,
        name: &str,
        source: &str,
        a: &Csr<T>,
    ) -> Result<(), MeasureError> {
        let taken = |known: &MatrixReport| known.name == name && known.source != source;
        let name = if self.report.matrices.iter().any(taken) { source } else { name };
        let matrix = MatrixReport {
            name: name.to_owned(),
            source: source.to_owned(),
            m: a.nrows(),
            k: a.ncols(),
            nnz: a.nnz(),
        };
        let config = GroupConfig {
            requests: &self.requests,
            engines: &self.engines,
            seconds: self.config.seconds,
            memory_limit: self.config.memory_limit,
            seed: self.config.seed,
            precision: self.config.precision,
            target: self.target.clone(),
        };
        let mut orders = KnownOrders::default();
        for &n in &self.config.widths {
            let group = group::run(name, a, n, &config, &mut orders, self.observer)?;
            self.report.push(&matrix, (T::DTYPE, n), &group, &self.engines, &self.limits);
        }
        let known = &mut self.report.matrices;
        if known.iter().all(|known| known.source != matrix.source || known.name != matrix.name) {
            known.push(matrix);
        }
        Ok(())
    }

    /// The report of everything that was measured.
    pub fn into_report(self) -> BenchReport {
        self.report
    }
}

/// Each value where it comes first.
fn distinct<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    values.into_iter().fold(Vec::new(), |mut kept, value| {
        if !kept.contains(&value) {
            kept.push(value);
        }
        kept
    })
}
