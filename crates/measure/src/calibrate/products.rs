//! The products of the generated matrices, timed in every format that the planner considers.

use girih::formats::stats::SharedStats;
use girih::planner::DeviceSpec;
use girih::planner::calibrate::Observation;
use girih::planner::cost::{Workload, terms};
use girih::planner::device::Terms;
use girih::{
    CpuBackend, Csr, CudaBackend, DType, DenseScalar, FormatSpec, PlanOptions, Planner, RowLayout,
    SpmmBackend,
};
use half::{bf16, f16};

use super::config::{CalibrateBackend, CalibrateConfig};
use super::device::measured_cpu;
use super::problems::{self, DesignProblem};
use crate::operand::Operand;
use crate::runner::Runner;
use crate::sampling::Samples;
use crate::team::Team;
use crate::{MeasureError, Observer};

/// The most that the tiles of a product may take, in bytes, and its B and C together.
const MAX_TILES: u64 = 256 << 20;
const MAX_OPERANDS: usize = 256 << 20;

/// Products that take longer than this are left out, by the estimate that is being replaced.
const LONGEST: f64 = 0.2;

/// Products that take this many times as long as in the best format are left out. Nobody chooses them, and
/// they should not distort the estimates of those that are chosen.
const HOPELESS: f64 = 4.0;

/// A product of at most this many seconds counts in any format. Such products show what every product costs
/// at the least; without them a format would seem to cost nothing where matrices are small.
const SHORT: f64 = 5e-6;

/// Everything that was measured, and the device that it is for.
pub(super) struct Measurements {
    pub(super) device: DeviceSpec,
    /// Number of matrices.
    pub(super) problems: usize,
    pub(super) groups: Vec<FormatProducts>,
}

/// A product that was timed: of a matrix, by its name, and n columns.
#[derive(Clone, Copy)]
pub(super) struct TimedProduct {
    spec: FormatSpec,
    dtype: DType,
    pub(super) matrix: &'static str,
    pub(super) n: usize,
    /// How many times its share the busiest worker has, by the schedule's replay.
    pub(super) imbalance: f64,
    pub(super) terms: Terms,
    /// The least time of all passes.
    pub(super) seconds: f64,
}

impl TimedProduct {
    fn is_same(&self, other: &Self) -> bool {
        self.spec == other.spec && self.is_beside(other)
    }

    /// Whether it is of the same matrix and n, in any format.
    fn is_beside(&self, other: &Self) -> bool {
        (self.dtype, self.matrix, self.n) == (other.dtype, other.matrix, other.n)
    }
}

/// The products of one format and value type.
pub(super) struct FormatProducts {
    pub(super) spec: FormatSpec,
    pub(super) dtype: DType,
    pub(super) products: Vec<TimedProduct>,
}

impl FormatProducts {
    /// What a fit is made of.
    pub(super) fn observations(&self) -> Vec<Observation> {
        let observed =
            |&TimedProduct { terms, seconds, .. }: &TimedProduct| Observation { terms, seconds };
        self.products.iter().map(observed).collect()
    }
}

/// The backend that is calibrated.
enum CalibratedBackend {
    Cpu(CpuBackend),
    Cuda(CudaBackend),
}

/// Times all products of a configuration.
pub(super) fn measure(
    config: &CalibrateConfig,
    observer: &dyn Observer,
) -> Result<Measurements, MeasureError> {
    let team = Team::new(girih_parallel::current_num_threads())?;
    let backend = match config.backend {
        CalibrateBackend::Cpu => {
            CalibratedBackend::Cpu(CpuBackend::new().with_threads(team.threads())?)
        }
        CalibrateBackend::Cuda => CalibratedBackend::Cuda(CudaBackend::new(config.cuda.clone())),
    };
    observer.timed_stage("measuring what this machine can reach");
    let device = match (&config.device, &backend) {
        (Some(device), _) => device.clone(),
        (None, CalibratedBackend::Cpu(_)) => team.run(measured_cpu)?,
        (None, CalibratedBackend::Cuda(cuda)) => described(cuda)?,
    };
    // Old fits must not decide which products are timed.
    let device = device.with(|device| device.fits = Vec::new());
    let products = Vec::new();
    let mut run = CalibrationRun { config, device, backend, team, pass: 0, products, observer };
    let mut problems = 0;
    for pass in 0..config.passes {
        run.pass = pass;
        for dtype in &config.dtypes {
            // A complex type has the fits of its parts.
            problems = match dtype.part() {
                DType::F16 => run.all::<f16>(),
                DType::Bf16 => run.all::<bf16>(),
                DType::F32 => run.all::<f32>(),
                _ => run.all::<f64>(),
            }?;
        }
    }
    Ok(Measurements { groups: groups(&run.products), device: run.device, problems })
}

/// The products of each format, without those that nobody would choose.
fn groups(products: &[TimedProduct]) -> Vec<FormatProducts> {
    let mut groups: Vec<FormatProducts> = Vec::new();
    for product in products {
        let beside = products.iter().filter(|other| other.is_beside(product));
        let least = beside.map(|other| other.seconds).fold(f64::INFINITY, f64::min);
        let &TimedProduct { spec, dtype, seconds, .. } = product;
        if seconds > SHORT.max(HOPELESS * least) {
            continue;
        }
        let at = groups.iter().position(|g| (g.spec, g.dtype) == (spec, dtype));
        let at = at.unwrap_or_else(|| {
            groups.push(FormatProducts { spec, dtype, products: Vec::new() });
            groups.len() - 1
        });
        groups[at].products.push(*product);
    }
    groups
}

/// The CUDA device at hand, as planners know it before it is calibrated.
fn described(cuda: &CudaBackend) -> Result<DeviceSpec, MeasureError> {
    Ok(cuda.device().map_err(MeasureError::Device)?.spec())
}

struct CalibrationRun<'a> {
    config: &'a CalibrateConfig,
    device: DeviceSpec,
    backend: CalibratedBackend,
    team: Team,
    /// The number of passes before this one.
    pass: u32,
    products: Vec<TimedProduct>,
    observer: &'a dyn Observer,
}

impl CalibrationRun<'_> {
    /// Times every problem in one value type, and returns their number.
    fn all<T: DenseScalar>(&mut self) -> Result<usize, MeasureError> {
        let problems: Vec<DesignProblem<T>> = problems::problems(self.config.quick);
        for (i, problem) in problems.iter().enumerate() {
            let (pass, passes) = (self.pass + 1, self.config.passes);
            let (number, count) = (i + 1, problems.len());
            let what = format!(
                "{} {} ({number} of {count}, pass {pass} of {passes})",
                T::DTYPE,
                problem.name
            );
            self.observer.stage(&format!("{what}: generating"));
            let a = problem.matrix().map_err(|source| {
                let name = problem.name.to_owned();
                MeasureError::Generate { name, source }
            })?;
            self.matrix(&a, problem.name, &what)?;
        }
        Ok(problems.len())
    }

    fn matrix<T: DenseScalar>(
        &mut self,
        a: &Csr<T>,
        name: &'static str,
        what: &str,
    ) -> Result<(), MeasureError> {
        let rows = RowLayout::natural(a.nrows(), 1).map_err(MeasureError::Statistics)?;
        let shared = SharedStats::new(a.pattern(), &rows);
        for &n in &self.config.n {
            if (a.ncols() + a.nrows()).saturating_mul(n * size_of::<T::Acc>()) > MAX_OPERANDS {
                continue;
            }
            self.observer.timed_stage(&format!("{what}: n = {n}"));
            let workload = Workload::of(&shared, n, T::DTYPE).in_precision(self.config.precision);
            let b = Operand::<T>::random("B", (a.ncols(), n), 1)?;
            let mut c = Operand::<T::Acc>::zeros("C", (a.nrows(), n))?;
            let planner = Planner::new(
                PlanOptions::new(n)
                    .precision(self.config.precision)
                    .target(self.device.clone())
                    .kernels(girih::kernels_for(&self.device))
                    .memory_limit(Some(MAX_TILES)),
            );
            let considered = self.team.run(|| planner.candidates(a));
            let considered = considered.map_err(|source| MeasureError::Plan {
                what: "a generated matrix".to_owned(),
                source,
            })?;
            for candidate in considered {
                if candidate.cost.is_none_or(|cost| cost.seconds > LONGEST) {
                    continue;
                }
                let spec = candidate.spec;
                let Some(seconds) = self.time(a, n, spec, &b, &mut c)? else { continue };
                let stats = shared.format(spec, T::DTYPE).map_err(MeasureError::Statistics)?;
                let imbalance = candidate.schedule.map_or(1.0, |schedule| schedule.stretch);
                let terms = terms(&workload, &stats, &self.device, imbalance);
                let (dtype, matrix) = (T::DTYPE, name);
                self.add(TimedProduct { spec, dtype, matrix, n, imbalance, terms, seconds });
            }
        }
        Ok(())
    }

    /// Keeps a product, or the shorter time of one that was timed before.
    fn add(&mut self, product: TimedProduct) {
        match self.products.iter_mut().find(|other| other.is_same(&product)) {
            Some(other) => other.seconds = other.seconds.min(product.seconds),
            None => self.products.push(product),
        }
    }

    /// The least time of a product in a format, in seconds; `None` if the format can't hold the matrix or
    /// the backend can't multiply it.
    fn time<T: DenseScalar>(
        &self,
        a: &Csr<T>,
        n: usize,
        spec: FormatSpec,
        b: &Operand<T>,
        c: &mut Operand<T::Acc>,
    ) -> Result<Option<f64>, MeasureError> {
        let options = PlanOptions::new(n)
            .format(spec)
            .precision(self.config.precision)
            .target(self.device.clone())
            .kernels(girih::kernels_for(&self.device))
            .memory_limit(Some(MAX_TILES));
        let Ok(plan) = self.team.run(|| Planner::new(options).plan(a)) else { return Ok(None) };
        let mut runner = match &self.backend {
            CalibratedBackend::Cpu(cpu) => Runner::Host(self.team.run(|| cpu.prepare(&plan))?),
            CalibratedBackend::Cuda(cuda) => {
                if cuda.supports(&plan).is_err() {
                    return Ok(None);
                }
                let prepared = cuda.prepare_device(&plan)?;
                Runner::on_device(prepared, &mut None, b, c)?
            }
        };
        let mut time = |calls| runner.time(&self.team, calls, b, c);
        time(1)?;
        let mut samples = Samples::for_product(time(1)?);
        while !samples.enough(self.config.seconds) {
            let calls = samples.calls;
            samples.push(time(calls)?);
        }
        Ok(Some(samples.summary().min))
    }
}
