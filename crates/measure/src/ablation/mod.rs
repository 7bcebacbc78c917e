//! Ablations: what each step of a paper's kernel brings, measured with configurations of ours.
//!
//! A [`Ladder`] is data: the steps as the paper has them, with its figures. Each step that our kernels reproduce
//! names a [`Variant`]; for the others it says why there is none. An [`Ablation`] runs all steps on one matrix after
//! the other: each is prepared and verified, and then all are timed by turns on the device.

mod ladder;
mod report;

use std::sync::Arc;

use girih::cuda::ablation::Variant;
use girih::formats::stats::SharedStats;
use girih::planner::cost::{Workload, linear_cost, price};
use girih::{
    BackendError, Csr, CudaBackend, CudaOptions, DenseScalar, DeviceSpec, FormatSpec, Plan,
    PlanOptions, Planner, Rounding, RowLayout, Schedule, SpmmBackend, Verification,
};
use girih_cuda_libraries::{CublasLtOptions, DenseYardstick, TimedOperands};

use crate::bench::device::skip_reason;
use crate::bench::verdict::Verdicts;
use crate::machine::Machine;
use crate::operand::Operand;
use crate::runner::{Products, Runner};
use crate::sampling::{Samples, by_turns};
use crate::{MeasureError, Observer, is_unsupported};

pub use ladder::{Flops, Ladder, Step, Unit};
pub use report::{AblationReport, LadderCase, LadderReport, StepReport, StepTimes};

/// The name of cuBLASLt's dense product among steps.
const YARDSTICK: &str = "cuBLASLt";

/// Products that the oracle computes of each set of bits, in multiplications: some seconds. Where there are more,
/// it takes every other column, or every third and so on.
const ORACLE: u64 = 10_000_000_000;

/// What an ablation takes.
#[derive(Clone, Debug)]
pub struct AblationConfig {
    /// Seconds to spend on each step.
    pub seconds: f64,
    /// The seed of B.
    pub seed: u64,
    /// How the CUDA backend and cuBLASLt are set up.
    pub cuda: CudaOptions,
}

/// An ablation under way.
#[expect(missing_debug_implementations, reason = "an observer need not have one")]
pub struct Ablation<'a> {
    config: AblationConfig,
    backend: CudaBackend,
    target: DeviceSpec,
    report: AblationReport,
    observer: &'a dyn Observer,
}

/// A step that is ready to be timed.
struct Ready {
    /// Its place among the steps.
    at: usize,
    products: Box<dyn Products>,
    samples: Samples,
    verification: Verification,
}

impl<'a> Ablation<'a> {
    /// Opens the device.
    ///
    /// # Errors
    /// If there is none.
    pub fn new(config: AblationConfig, observer: &'a dyn Observer) -> Result<Self, MeasureError> {
        let backend = CudaBackend::new(config.cuda.clone());
        let device = backend.capabilities()?.device;
        let target = backend.device().map_err(MeasureError::Device)?.spec();
        let report = AblationReport { machine: Machine::this(), device, ladders: Vec::new() };
        Ok(Self { config, backend, target, report, observer })
    }

    /// Begins a ladder: what is [measured](Self::measure) next is of it.
    pub fn begin(&mut self, ladder: &Ladder) {
        self.report.ladders.push(LadderReport { ladder: ladder.clone(), cases: Vec::new() });
    }

    /// Runs every step of the ladder that was begun on a matrix, for each of its numbers of columns.
    ///
    /// A step that the device has no memory for is skipped, and reported as that.
    ///
    /// # Errors
    /// If a product is wrong or can't be computed.
    ///
    /// # Panics
    /// If no ladder was begun.
    pub fn measure<T: DenseScalar>(&mut self, name: &str, a: &Csr<T>) -> Result<(), MeasureError> {
        let ladder = self.report.ladders.last().expect("a ladder was begun").ladder.clone();
        for &n in &ladder.n {
            let case = self.case(&ladder, name, a, n)?;
            if let Some(report) = self.report.ladders.last_mut() {
                report.cases.push(case);
            }
        }
        Ok(())
    }

    /// Everything that was measured.
    pub fn into_report(self) -> AblationReport {
        self.report
    }

    fn case<T: DenseScalar>(
        &self,
        ladder: &Ladder,
        name: &str,
        a: &Csr<T>,
        n: usize,
    ) -> Result<LadderCase, MeasureError> {
        let what = format!("{}: {name}, n = {n}", ladder.name);
        self.observer.stage(&format!("{what}: filling B"));
        let b = Operand::<T>::random("B", (a.ncols(), n), self.config.seed)?;
        let mut c = Operand::<T::Acc>::zeros("C", (a.nrows(), n))?;
        let all = a.nnz() as u64 * n as u64;
        let verified_every = usize::try_from(all.div_ceil(ORACLE)).unwrap_or(n).clamp(1, n);
        let verdicts = Verdicts::every(verified_every);
        let mut on_device = OnDevice { copies: None, plans: Vec::new(), verdicts };
        let mut steps = Vec::new();
        let mut ready = Vec::new();
        for step in &ladder.steps {
            let Some(variant) = step.variant.as_deref().and_then(Variant::find) else {
                steps.push(StepReport::skipped(&step.name, step.missing.clone()));
                continue;
            };
            self.observer.stage(&format!("{what}: verifying {}", step.name));
            let made = self.variant(a, variant, (&b, &mut c), &mut on_device);
            keep(made, &step.name, &mut steps, &mut ready)?;
        }
        if ladder.yardstick && !ready.is_empty() {
            self.observer.stage(&format!("{what}: verifying {YARDSTICK}"));
            let made = self.yardstick(a, (&b, &mut c), &mut on_device);
            keep(made, YARDSTICK, &mut steps, &mut ready)?;
        }
        self.observer.timed_stage(&format!("{what}: timing {} steps", ready.len()));
        by_turns(
            &mut ready,
            |one| one.samples.enough(self.config.seconds),
            |one| {
                let time = one.products.time(one.samples.calls)?;
                one.samples.push(time);
                Ok::<(), MeasureError>(())
            },
        )?;
        let flops = match ladder.flops {
            Flops::Entries => 2.0 * all as f64,
            Flops::Dense => 2.0 * a.nrows() as f64 * a.ncols() as f64 * n as f64,
        };
        for one in &ready {
            let summary = one.samples.summary();
            let of = (summary.min, summary.median, summary.samples);
            steps[one.at].times = Some(StepTimes::new(of, flops, one.verification));
        }
        let (m, k, nnz) = (a.nrows(), a.ncols(), a.nnz());
        Ok(LadderCase { matrix: name.to_owned(), m, k, n, nnz, verified_every, steps })
    }

    /// A step, planned, prepared and verified.
    fn variant<T: DenseScalar>(
        &self,
        a: &Csr<T>,
        variant: Variant,
        (b, c): (&Operand<T>, &mut Operand<T::Acc>),
        on_device: &mut OnDevice<T>,
    ) -> Result<(Box<dyn Products>, Samples, Verification), Failed> {
        let key = (variant.spec(), variant.wants_partitions());
        let plan = match on_device.plans.iter().find(|(known, _)| *known == key) {
            Some((_, plan)) => plan.clone(),
            None => {
                let plan = self.plan_for(a, variant, b.view().ncols())?;
                on_device.plans.push((key, plan.clone()));
                plan
            }
        };
        let prepared = self.backend.prepare_variant(&plan, variant)?;
        let rounding = self.backend.variant_rounding(&plan, variant);
        on_device.ready(a, &plan, prepared, (variant.name(), rounding), (b, c))
    }

    /// A plan that a variant multiplies: of windows in their order, or in partitions.
    fn plan_for<T: DenseScalar>(
        &self,
        a: &Csr<T>,
        variant: Variant,
        n: usize,
    ) -> Result<Plan, Failed> {
        let plan = self.plan(a, variant.spec(), n)?;
        let FormatSpec::BMat { .. } = variant.spec() else { return Ok(plan) };
        let schedule = match variant.wants_partitions() {
            true => self.partitions(a, &plan, n)?,
            false => Schedule::by_window(plan.tiling()),
        };
        let plan = plan.with_schedule(&schedule);
        Ok(plan.unwrap_or_else(|error| unreachable!("it was cut for these tiles: {error}")))
    }

    /// The dense product of A with all its zeros.
    fn yardstick<T: DenseScalar>(
        &self,
        a: &Csr<T>,
        (b, c): (&Operand<T>, &mut Operand<T::Acc>),
        on_device: &mut OnDevice<T>,
    ) -> Result<(Box<dyn Products>, Samples, Verification), Failed> {
        let CudaOptions { libraries, device, .. } = self.config.cuda.clone();
        let options = CublasLtOptions::default().libraries(libraries).device(device).tf32(true);
        let dense = DenseYardstick::new(options);
        let plan = self.plan(a, FormatSpec::Csr, b.view().ncols())?;
        let prepared = dense.prepare_device(&plan)?;
        on_device.ready(a, &plan, prepared, (YARDSTICK, dense.rounding(T::DTYPE)), (b, c))
    }

    fn plan<T: DenseScalar>(&self, a: &Csr<T>, spec: FormatSpec, n: usize) -> Result<Plan, Failed> {
        let options = PlanOptions::new(n)
            .format(spec)
            .memory_limit(None)
            .target(self.target.clone())
            .kernels(girih::kernels_for(&self.target));
        Planner::new(options).plan(a).map_err(|error| match is_unsupported(&error) {
            true => Failed::Skips(error.to_string()),
            false => Failed::Ends(MeasureError::Plan { what: spec.to_string(), source: error }),
        })
    }

    /// Voltrix's partitions (section 3.2.2) by the device's estimate of a tile and of a window.
    fn partitions<T: DenseScalar>(
        &self,
        a: &Csr<T>,
        plan: &Plan,
        n: usize,
    ) -> Result<Schedule, Failed> {
        let failed = |error| Failed::Ends(MeasureError::Statistics(error));
        let rows = RowLayout::natural(a.nrows(), 1).map_err(failed)?;
        let shared = SharedStats::new(a.pattern(), &rows);
        let stats = shared.format(plan.spec(), T::DTYPE).map_err(failed)?;
        let workload = Workload::of(&shared, n, T::DTYPE);
        let cost = price(&workload, &stats, &self.target, None, 1.0);
        let linear = linear_cost(&workload, &stats, &self.target, &cost);
        Ok(Schedule::sm_aligned(plan.tiling(), n, self.target.workers as usize, &linear))
    }
}

/// Why a step can't be timed.
enum Failed {
    /// Others can.
    Skips(String),
    Ends(MeasureError),
}

impl From<BackendError> for Failed {
    fn from(error: BackendError) -> Self {
        match (skip_reason(&error), &error) {
            (Some(reason), _) => Self::Skips(reason),
            (None, BackendError::Unavailable { .. } | BackendError::Unsupported { .. }) => {
                Self::Skips(error.to_string())
            }
            (None, _) => Self::Ends(error.into()),
        }
    }
}

/// Keeps a step that is ready, or why it is not.
fn keep(
    made: Result<(Box<dyn Products>, Samples, Verification), Failed>,
    name: &str,
    steps: &mut Vec<StepReport>,
    ready: &mut Vec<Ready>,
) -> Result<(), MeasureError> {
    let skipped = match made {
        Ok((products, samples, verification)) => {
            ready.push(Ready { at: steps.len(), products, samples, verification });
            None
        }
        Err(Failed::Skips(reason)) => Some(reason),
        Err(Failed::Ends(error)) => return Err(error),
    };
    steps.push(StepReport::skipped(name, skipped));
    Ok(())
}

/// What steps share: the operands on the device, plans by format and whether in partitions, and verdicts.
struct OnDevice<T: DenseScalar> {
    copies: Option<Arc<TimedOperands<T>>>,
    plans: Vec<((FormatSpec, bool), Plan)>,
    verdicts: Verdicts,
}

impl<T: DenseScalar> OnDevice<T> {
    /// A prepared step, whose product is verified.
    fn ready(
        &mut self,
        a: &Csr<T>,
        plan: &Plan,
        prepared: girih::cuda::CudaPrepared,
        who: (&str, Rounding),
        (b, c): (&Operand<T>, &mut Operand<T::Acc>),
    ) -> Result<(Box<dyn Products>, Samples, Verification), Failed> {
        let runner = Runner::on_device(prepared, &mut self.copies, b, c)?;
        let Runner::Device(mut products) = runner else { unreachable!("it was made for a device") };
        let verification = self.verdicts.judge(a, plan, who, b, c).map_err(Failed::Ends)?;
        let once = products.time(1)?;
        Ok((products, Samples::for_product(once), verification))
    }
}

impl StepReport {
    fn skipped(name: &str, reason: Option<String>) -> Self {
        Self { name: name.to_owned(), times: None, skipped: reason }
    }
}
