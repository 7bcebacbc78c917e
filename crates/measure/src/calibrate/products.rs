//! Products, timed.

use girih::formats::stats::SharedStats;
use girih::planner::calibrate::Observation;
use girih::planner::{DeviceSpec, Terms, Workload, terms};
use girih::{
    AnyTiling, CpuBackend, Csr, CudaBackend, DType, DenseScalar, FormatChoice, FormatSpec,
    PlanOptions, Planner, RowLayout, SpmmBackend, Tiling,
};
use half::{bf16, f16};

use super::design::{self, Problem};
use super::options::{Options, Where};
use crate::commands::bench::runner::Runner;
use crate::commands::bench::sampling::{Samples, Team};
use crate::commands::spmm::refused;
use crate::error::{Class, CliError};
use crate::operand::Operand;
use crate::progress::Progress;
use crate::{cuda, device};

/// The most that the tiles of a product may take, in bytes, and its B and C together.
const MAX_TILES: u64 = 256 << 20;
const MAX_OPERANDS: usize = 256 << 20;

/// The longest product worth its time, by the estimate that is being replaced.
const LONGEST: f64 = 0.2;

/// Products that take so many times as long as in the best format are left out: nobody chooses them, and
/// the estimates of those that are chosen should not bend to theirs.
const HOPELESS: f64 = 4.0;

/// Up to so many seconds a product counts in any format: it says what every product costs, without which
/// a format would seem to cost nothing where matrices are small.
const SHORT: f64 = 5e-6;

/// Everything that was measured, and the device it is for.
pub(super) struct Measured {
    pub(super) device: DeviceSpec,
    /// Number of matrices.
    pub(super) problems: usize,
    pub(super) groups: Vec<Group>,
}

/// A product of a matrix and n columns, by the names of both.
struct Product {
    spec: FormatSpec,
    dtype: DType,
    matrix: &'static str,
    n: usize,
    terms: Terms,
    /// The least of all passes.
    seconds: f64,
}

impl Product {
    fn is_same(&self, other: &Self) -> bool {
        self.spec == other.spec && self.is_beside(other)
    }

    /// Whether it is of the same matrix and n, in whatever format.
    fn is_beside(&self, other: &Self) -> bool {
        (self.dtype, self.matrix, self.n) == (other.dtype, other.matrix, other.n)
    }
}

/// The products of one format and value type.
pub(super) struct Group {
    pub(super) spec: FormatSpec,
    pub(super) dtype: DType,
    pub(super) observations: Vec<Observation>,
    /// The matrix and n of each.
    pub(super) products: Vec<(&'static str, usize)>,
}

/// Who multiplies.
enum Machine {
    Cpu(CpuBackend),
    Cuda(CudaBackend),
}

pub(super) fn measure(options: &Options, progress: &Progress) -> Result<Measured, CliError> {
    let team = Team::new(rayon::current_num_threads())?;
    let machine = match options.backend {
        Where::Cpu => {
            Machine::Cpu(CpuBackend::new().with_threads(team.threads()).map_err(refused)?)
        }
        Where::Cuda => Machine::Cuda(CudaBackend::new(cuda::options()?)),
    };
    progress.still("measuring what this machine can reach".to_owned());
    let device = match (&options.device, &machine) {
        (Some(name), _) => device::find(name)?,
        (None, Machine::Cpu(_)) => team.run(device::measured_cpu)?,
        (None, Machine::Cuda(cuda)) => described(cuda)?,
    };
    // Old fits would be taken for estimates while new ones are made.
    let device = DeviceSpec { fits: Vec::new(), ..device };
    let mut run = Run { options, device, machine, team, pass: 0, products: Vec::new(), progress };
    let mut problems = 0;
    for pass in 0..options.passes {
        run.pass = pass;
        for dtype in &options.dtype {
            problems = match dtype {
                DType::F16 => run.all::<f16>(),
                DType::Bf16 => run.all::<bf16>(),
                DType::F32 => run.all::<f32>(),
                DType::F64 => run.all::<f64>(),
            }?;
        }
    }
    Ok(Measured { groups: groups(&run.products), device: run.device, problems })
}

/// The products of each format, but for those that nobody would choose.
fn groups(products: &[Product]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for product in products {
        let beside = products.iter().filter(|other| other.is_beside(product));
        let least = beside.map(|other| other.seconds).fold(f64::INFINITY, f64::min);
        let &Product { spec, dtype, matrix, n, terms, seconds } = product;
        if seconds > SHORT.max(HOPELESS * least) {
            continue;
        }
        let at = groups.iter().position(|g| (g.spec, g.dtype) == (spec, dtype));
        let at = at.unwrap_or_else(|| {
            groups.push(Group { spec, dtype, observations: Vec::new(), products: Vec::new() });
            groups.len() - 1
        });
        groups[at].observations.push(Observation { terms, seconds });
        groups[at].products.push((matrix, n));
    }
    groups
}

/// The CUDA device at hand, as planners know it before it is calibrated.
fn described(cuda: &CudaBackend) -> Result<DeviceSpec, CliError> {
    let info = cuda
        .device()
        .map_err(|error| CliError::new(Class::Unavailable, "no CUDA device").because(error))?;
    Ok(info.spec())
}

struct Run<'a> {
    options: &'a Options,
    device: DeviceSpec,
    machine: Machine,
    team: Team,
    /// How often all products were timed before.
    pass: u32,
    products: Vec<Product>,
    progress: &'a Progress,
}

impl Run<'_> {
    /// Times every problem in one value type; returns their number.
    fn all<T: DenseScalar>(&mut self) -> Result<usize, CliError>
    where
        AnyTiling: From<Tiling<T>>,
    {
        let problems: Vec<Problem<T>> = design::problems(self.options.quick);
        for (i, problem) in problems.iter().enumerate() {
            let (pass, passes) = (self.pass + 1, self.options.passes);
            let (number, count) = (i + 1, problems.len());
            let what = format!(
                "{} {} ({number} of {count}, pass {pass} of {passes})",
                T::DTYPE,
                problem.name
            );
            self.progress.stage(format!("{what}: generating"));
            let a = problem.matrix().map_err(|e| {
                CliError::failed(format!("cannot generate {}", problem.name)).because(e)
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
    ) -> Result<(), CliError>
    where
        AnyTiling: From<Tiling<T>>,
    {
        let failed = |e| CliError::failed("cannot count a matrix").because(e);
        let rows = RowLayout::natural(a.nrows(), 1).map_err(failed)?;
        let shared = SharedStats::new(a.pattern(), &rows);
        for &n in &self.options.n {
            let n = n as usize;
            if (a.ncols() + a.nrows()).saturating_mul(n * size_of::<T::Acc>()) > MAX_OPERANDS {
                continue;
            }
            self.progress.still(format!("{what}: n = {n}"));
            let workload = Workload::of(&shared, n, T::DTYPE).map_err(failed)?;
            let b = Operand::<T>::random("B", (a.ncols(), n), 1)?;
            let mut c = Operand::<T::Acc>::zeros("C", (a.nrows(), n))?;
            let planner = Planner::new(PlanOptions {
                n,
                target: self.device.clone(),
                kernels: girih::kernels_for(&self.device),
                memory_limit: Some(MAX_TILES),
                ..PlanOptions::default()
            });
            let considered = self.team.run(|| planner.candidates(a)).map_err(planning)?;
            for candidate in considered {
                let Some(cost) = candidate.cost.filter(|cost| cost.seconds <= LONGEST) else {
                    continue;
                };
                let spec = candidate.spec;
                let Some(seconds) = self.time(a, n, spec, &b, &mut c)? else { continue };
                let stats = shared.format(spec, T::DTYPE).map_err(failed)?;
                let mut terms = terms(&workload, &stats, &self.device).to_array();
                // All but what is paid per product and per window is stretched by the schedule.
                terms[2..].iter_mut().for_each(|term| *term *= cost.imbalance);
                let terms = Terms::from_array(terms);
                self.add(Product { spec, dtype: T::DTYPE, matrix: name, n, terms, seconds });
            }
        }
        Ok(())
    }

    /// Keeps a product, or the shorter time of one that was timed before.
    fn add(&mut self, product: Product) {
        match self.products.iter_mut().find(|other| other.is_same(&product)) {
            Some(other) => other.seconds = other.seconds.min(product.seconds),
            None => self.products.push(product),
        }
    }

    /// The least seconds of a product in a format; `None` if the format or the backend can't.
    fn time<T: DenseScalar>(
        &self,
        a: &Csr<T>,
        n: usize,
        spec: FormatSpec,
        b: &Operand<T>,
        c: &mut Operand<T::Acc>,
    ) -> Result<Option<f64>, CliError>
    where
        AnyTiling: From<Tiling<T>>,
    {
        let options = PlanOptions {
            n,
            format: FormatChoice::Fixed(spec),
            target: self.device.clone(),
            kernels: girih::kernels_for(&self.device),
            memory_limit: Some(MAX_TILES),
            ..PlanOptions::default()
        };
        let Ok(plan) = self.team.run(|| Planner::new(options).plan(a)) else { return Ok(None) };
        let mut runner = match &self.machine {
            Machine::Cpu(cpu) => {
                Runner::Host(self.team.run(|| cpu.prepare(&plan)).map_err(refused)?)
            }
            Machine::Cuda(cuda) => {
                if cuda.supports(&plan).is_err() {
                    return Ok(None);
                }
                let prepared = cuda.prepare_device(&plan).map_err(refused)?;
                Runner::on_device(prepared, &mut None, b, c).map_err(refused)?
            }
        };
        let mut time = |calls| runner.time(&self.team, calls, b, c).map_err(refused);
        time(1)?;
        let mut samples = Samples::of(time(1)?);
        while !samples.enough(self.options.seconds) {
            let calls = samples.calls;
            samples.push(time(calls)?);
        }
        Ok(Some(samples.summary().min))
    }
}

fn planning(error: girih::PlanError) -> CliError {
    CliError::failed("cannot plan a generated matrix").because(error)
}
