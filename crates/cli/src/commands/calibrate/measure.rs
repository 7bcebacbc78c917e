//! Products, timed.

use girih::formats::stats::SharedStats;
use girih::planner::calibrate::Observation;
use girih::planner::{DeviceSpec, Workload, terms};
use girih::{
    AnyTiling, CpuBackend, Csr, CudaBackend, DType, DenseScalar, FormatChoice, FormatSpec,
    PlanOptions, Planner, RowLayout, SpmmBackend, Tiling,
};
use half::{bf16, f16};

use super::design::{self, Problem};
use super::options::{Options, Where};
use crate::commands::bench::operands::Operand;
use crate::commands::bench::runner::Runner;
use crate::commands::bench::sampling::{Samples, Team};
use crate::commands::spmm::refused;
use crate::error::{Class, CliError};
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

/// Everything that was measured, and the device it is for.
pub(super) struct Measured {
    pub(super) device: DeviceSpec,
    /// Number of matrices.
    pub(super) problems: usize,
    pub(super) groups: Vec<Group>,
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
        (None, Machine::Cuda(cuda)) => built_in(cuda)?,
    };
    // Old fits would be taken for estimates while new ones are made.
    let device = DeviceSpec { fits: Vec::new(), ..device };
    let mut run = Run { options, device, machine, team, groups: Vec::new(), progress };
    let mut problems = 0;
    for dtype in &options.dtype {
        problems = match dtype {
            DType::F16 => run.all::<f16>(),
            DType::Bf16 => run.all::<bf16>(),
            DType::F32 => run.all::<f32>(),
            DType::F64 => run.all::<f64>(),
        }?;
    }
    Ok(Measured { device: run.device, problems, groups: run.groups })
}

/// The built-in device that a CUDA device is, by its name.
fn built_in(cuda: &CudaBackend) -> Result<DeviceSpec, CliError> {
    let info = cuda
        .device()
        .map_err(|error| CliError::new(Class::Unavailable, "no CUDA device").because(error))?;
    let name = match &info.name {
        name if name.contains("H200") => "h200",
        name if name.contains("H100") && name.contains("PCIe") => "h100-pcie",
        name if name.contains("H100") => "h100-sxm",
        name if name.contains("A100") => "a100",
        name => {
            let what = format!("no device is built in for {name}; give one by --device");
            return Err(CliError::new(Class::Unsupported, what));
        }
    };
    let base = device::find(name)?;
    Ok(DeviceSpec { name: info.name.clone(), workers: info.multiprocessors, ..base })
}

struct Run<'a> {
    options: &'a Options,
    device: DeviceSpec,
    machine: Machine,
    team: Team,
    groups: Vec<Group>,
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
            let what = format!("{} {} ({} of {})", T::DTYPE, problem.name, i + 1, problems.len());
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
                memory_limit: Some(MAX_TILES),
                ..PlanOptions::default()
            });
            let considered = self.team.run(|| planner.candidates(a)).map_err(planning)?;
            let mut timed = Vec::with_capacity(considered.len());
            for candidate in considered {
                let Some(cost) = candidate.cost.filter(|cost| cost.seconds <= LONGEST) else {
                    continue;
                };
                // Without the imbalance, which the estimate multiplies by.
                let Some(seconds) = self.time(a, n, candidate.spec, &b, &mut c)? else { continue };
                let stats = shared.format(candidate.spec, T::DTYPE).map_err(failed)?;
                let mut terms = terms(&workload, &stats, &self.device).to_array();
                // All but what is paid per product and per window is stretched by the schedule.
                terms[2..].iter_mut().for_each(|term| *term *= cost.imbalance);
                let terms = girih::planner::Terms::from_array(terms);
                timed.push((candidate.spec, Observation { terms, seconds }));
            }
            let least = timed.iter().map(|(_, o)| o.seconds).fold(f64::INFINITY, f64::min);
            for (spec, observation) in timed {
                if observation.seconds <= HOPELESS * least {
                    let group = self.group(spec, T::DTYPE);
                    group.observations.push(observation);
                    group.products.push((name, n));
                }
            }
        }
        Ok(())
    }

    fn group(&mut self, spec: FormatSpec, dtype: DType) -> &mut Group {
        let is_of = |g: &Group| g.spec == spec && g.dtype == dtype;
        let at = self.groups.iter().position(is_of).unwrap_or_else(|| {
            self.groups.push(Group { spec, dtype, observations: Vec::new(), products: Vec::new() });
            self.groups.len() - 1
        });
        &mut self.groups[at]
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
