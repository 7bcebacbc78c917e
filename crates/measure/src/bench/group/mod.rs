//! The cases of one matrix, value type and number of columns. Each is planned, prepared and verified; then
//! all are timed by turns.

use std::sync::Arc;
use std::time::{Duration, Instant};

use girih::backend::Verification;
use girih::planner::explanation::Outcome;
use girih::planner::progress::Progress;
use girih::{
    Complex, Csr, DType, DenseScalar, DeviceSpec, FormatChoice, Kernels, Plan, PlanError,
    PlanOptions, Planner, Precision, Scalar,
};
use girih_cuda_libraries::TimedOperands;

use super::device::{named_rows, skip_reason};
use super::engine::{Engine, Engines, Multiplier};
use super::orders::KnownOrders;
use super::request::{CaseRequest, OrderRequest};
use super::verdict::Verdicts;
use crate::machine::Ticks;
use crate::operand::Operand;
use crate::runner::Runner;
use crate::sampling::{Samples, by_turns};
use crate::team::Team;
use crate::{MeasureError, Observer, is_above_memory_limit, is_unsupported, units};

/// What all groups have in common.
#[derive(Debug)]
pub(super) struct GroupConfig<'a> {
    pub(super) requests: &'a [CaseRequest],
    pub(super) engines: &'a Engines,
    /// Seconds to spend on each case.
    pub(super) seconds: f64,
    pub(super) memory_limit: Option<u64>,
    pub(super) seed: u64,
    /// How far products in f32 may round their operands.
    pub(super) precision: Precision,
    /// The machine that the planner chooses for.
    pub(super) target: DeviceSpec,
}

impl GroupConfig<'_> {
    /// The requests, and CSR if a yardstick needs it: the dense product of A is made from CSR, whatever the
    /// formats.
    fn planned(&self) -> impl Iterator<Item = CaseRequest> + '_ {
        let yardstick = self.engines.engines.iter().any(|engine| engine.multiplier.is_yardstick());
        let lacking = yardstick && !self.requests.contains(&CaseRequest::CSR);
        self.requests.iter().copied().chain(lacking.then_some(CaseRequest::CSR))
    }

    /// Whether an engine is to multiply the plan of a request.
    fn wants(&self, engine: &Engine, request: CaseRequest) -> bool {
        match engine.multiplier.is_yardstick() {
            true => request == CaseRequest::CSR,
            false => self.requests.contains(&request),
        }
    }
}

/// What was measured of one case.
#[derive(Debug)]
pub(super) struct Case<'a> {
    pub(super) request: CaseRequest,
    /// The format and order that were taken.
    pub(super) spec: String,
    pub(super) order: String,
    pub(super) engine: &'a Engine,
    /// The algorithm or mode, of a backend that has several.
    pub(super) way: Option<&'static str>,
    /// Whether f32 is rounded to TF32.
    pub(super) tf32: bool,
    /// Rows of B that the tiles name, each as often as it is named.
    pub(super) named_rows: Option<u64>,
    pub(super) tile_bytes: u64,
    /// The planner's estimate of a product on the machine that it was planned for.
    pub(super) estimate: Option<f64>,
    pub(super) planning: Duration,
    pub(super) preparing: Duration,
    pub(super) verification: Verification,
    pub(super) samples: Samples,
    runner: Runner,
}

/// A case that was not run.
#[derive(Debug)]
pub(super) struct Skipped {
    pub(super) request: CaseRequest,
    /// The index of the engine that can't run the case; `None` if no plan could be made.
    pub(super) engine: Option<usize>,
    pub(super) reason: String,
}

/// The results of a group.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) cases: Vec<Case<'a>>,
    pub(super) skipped: Vec<Skipped>,
    /// The share of all processors that other programs had while products were timed.
    pub(super) other_load: Option<f64>,
}

/// The device that a case is planned for, with its kernels. If the target has no kernel for the format in the
/// precision, only libraries can multiply it there, and the plan is for this CPU.
fn target(
    wanted: &DeviceSpec,
    format: FormatChoice,
    dtype: DType,
    precision: Precision,
) -> (DeviceSpec, Kernels) {
    let kernels = girih::kernels_for(wanted).in_precision(precision);
    match format {
        FormatChoice::Fixed(spec) if kernels.check(wanted, spec, dtype).is_err() => {
            (DeviceSpec::this_cpu(), Kernels::default())
        }
        _ => (wanted.clone(), kernels),
    }
}

/// Runs the cases of a matrix for `n` columns of B.
///
/// A case that is not supported or takes more memory than it may is skipped.
///
/// # Errors
/// If a product is wrong, or if an option does not suit the matrix.
pub(super) fn run<'a, T: DenseScalar>(
    name: &str,
    a: &Csr<T>,
    n: usize,
    config: &GroupConfig<'a>,
    orders: &mut KnownOrders,
    observer: &dyn Observer,
) -> Result<Group<'a>, MeasureError> {
    let mut group = Group { cases: Vec::new(), skipped: Vec::new(), other_load: None };
    let left = match left_for_tiles::<T>(a, n, config.memory_limit) {
        Ok(left) => left,
        Err(reason) => {
            let skip = |&request| Skipped { request, engine: None, reason: reason.clone() };
            group.skipped.extend(config.requests.iter().map(skip));
            return Ok(group);
        }
    };
    let what = format!("{name}, n = {n}, {}", T::DTYPE);
    observer.stage(&format!("{what}: filling B"));
    let b = Operand::<T>::random("B", (a.ncols(), n), config.seed)?;
    let mut c = Operand::<T::Acc>::zeros("C", (a.nrows(), n))?;
    let mut operands =
        GroupOperands { b: &b, c: &mut c, copies: None, verdicts: Verdicts::default() };
    for request in config.planned() {
        let format = request.format.choice(T::DTYPE)?;
        let (target, kernels) = target(&config.target, format, T::DTYPE, config.precision);
        let options = PlanOptions::new(n)
            .format(format)
            .reorder(request.order.0)
            .memory_limit(left)
            .precision(config.precision)
            .target(target)
            .kernels(kernels);
        // Planned once for each team, on the threads that its products run on. The plans are equal.
        for (at, team) in config.engines.teams.iter().enumerate() {
            let hears = observer.planning(&format!("{what}: planning {request}"));
            let (plan, planning) = match planned(a, &options, orders, (at, team), &*hears) {
                Ok(planned) => planned,
                Err(error) => {
                    if !is_unsupported(&error) {
                        let what = format!("{name} as {request}");
                        return Err(MeasureError::Plan { what, source: error });
                    }
                    let hint = match is_above_memory_limit(&error) {
                        true => " for tiles beside B and C; --memory-limit raises it",
                        false => "",
                    };
                    let reason = format!("{error}{hint}");
                    group.skipped.push(Skipped { request, engine: None, reason });
                    break;
                }
            };
            let planned = (&plan, planning);
            for (index, engine) in config.engines.engines.iter().enumerate() {
                if engine.team != at
                    || !config.wants(engine, request)
                    || engine.multiplier.repeats(&plan)
                {
                    continue;
                }
                let skipped = |reason| Skipped { request, engine: Some(index), reason };
                if let Some(reason) = engine.multiplier.refusal(&plan) {
                    group.skipped.push(skipped(reason));
                    continue;
                }
                observer.stage(&format!("{what}: verifying {request}"));
                match case(a, planned, request, (engine, team), &mut operands) {
                    Ok(case) => group.cases.push(case),
                    Err(CaseFailure::Skips(reason)) => group.skipped.push(skipped(reason)),
                    Err(CaseFailure::Ends(error)) => return Err(error),
                }
            }
        }
    }
    observer.timed_stage(&format!("{what}: timing {} cases", group.cases.len()));
    let before = Ticks::now();
    by_turns(
        &mut group.cases,
        |case| case.samples.enough(config.seconds),
        |case| {
            let team = &config.engines.teams[case.engine.team];
            let calls = case.samples.calls;
            let time = case.runner.time(team, calls, &b, &mut c)?;
            case.samples.push(time);
            Ok::<(), MeasureError>(())
        },
    )?;
    group.other_load = Ticks::others_between(before, Ticks::now());
    Ok(group)
}

/// A plan, and the time of planning, that of its order included: a fixed order is computed once.
fn planned<T: Scalar>(
    a: &Csr<T>,
    options: &PlanOptions,
    orders: &mut KnownOrders,
    (at, team): (usize, &Team),
    hears: &(dyn Fn(Progress) + Send + Sync),
) -> Result<(Plan, Duration), PlanError> {
    let fixed = options.fixed_order();
    let known = fixed.map(|fixed| orders.order(fixed, a, (at, team), hears)).transpose()?;
    let start = Instant::now();
    let planner = Planner::new(options.clone());
    let plan = team.run(|| match known {
        Some((order, _)) => planner.observe(&|done| hears(done)).plan_reordered(a, order),
        None => planner.observe(&|done| hears(done)).plan(a),
    })?;
    Ok((plan, start.elapsed() + known.map_or(Duration::ZERO, |(_, took)| took)))
}

/// The memory that the limit leaves for tiles beside B and C; or why it leaves none.
fn left_for_tiles<T: Scalar>(
    a: &Csr<T>,
    n: usize,
    limit: Option<u64>,
) -> Result<Option<u64>, String> {
    let Some(limit) = limit else { return Ok(None) };
    let (rows, cols) = (a.nrows() as u128, a.ncols() as u128);
    let needed = n as u128 * (cols * size_of::<T>() as u128 + rows * size_of::<T::Acc>() as u128);
    match u64::try_from(needed).ok().and_then(|needed| limit.checked_sub(needed)) {
        Some(left) => Ok(Some(left)),
        None => Err(format!(
            "B and C take {}, the limit is {}; --memory-limit raises it",
            units::bytes(u64::try_from(needed).unwrap_or(u64::MAX)),
            units::bytes(limit)
        )),
    }
}

/// The operands of a group, their copies on a device, and the verdicts on their products.
struct GroupOperands<'a, T: DenseScalar> {
    b: &'a Operand<T>,
    c: &'a mut Operand<T::Acc>,
    /// Made when the first case on a device is prepared.
    copies: Option<Arc<TimedOperands<T>>>,
    verdicts: Verdicts,
}

/// Why there is no case.
enum CaseFailure {
    /// It can't be run, but others can.
    Skips(String),
    Ends(MeasureError),
}

impl From<girih::BackendError> for CaseFailure {
    fn from(error: girih::BackendError) -> Self {
        match skip_reason(&error) {
            Some(reason) => Self::Skips(reason),
            None => Self::Ends(error.into()),
        }
    }
}

impl From<MeasureError> for CaseFailure {
    fn from(error: MeasureError) -> Self {
        Self::Ends(error)
    }
}

/// Prepares and verifies a case, and times one product to size its samples.
fn case<'a, T: DenseScalar>(
    a: &Csr<T>,
    (plan, planning): (&Plan, Duration),
    request: CaseRequest,
    (engine, team): (&'a Engine, &Team),
    operands: &mut GroupOperands<'_, T>,
) -> Result<Case<'a>, CaseFailure> {
    let start = Instant::now();
    let GroupOperands { b, c, copies, verdicts } = operands;
    // The time includes compiling the kernel if it is not in the cache.
    let (mut runner, preparing) = match &engine.multiplier {
        Multiplier::Device(device) => {
            let prepared = device.prepare(plan)?;
            let preparing = start.elapsed();
            (Runner::on_device(prepared, copies, b, c)?, preparing)
        }
        Multiplier::Host(backend) => {
            let prepared = team.run(|| backend.prepare(plan))?;
            (Runner::Host(prepared), start.elapsed())
        }
    };
    if let Runner::Host(_) = runner {
        // An element that is not written must not hold what another case has left.
        c.fill(<T::Acc as Scalar>::from_c64(Complex::new(f64::NAN, f64::NAN)));
        runner.time(team, 1, b, c)?;
    }
    let (who, rounding) = (engine.multiplier.name(), engine.multiplier.rounding(plan));
    let verification = verdicts.judge(a, plan, (who, rounding), b, c)?;
    let once = runner.time(team, 1, b, c)?;
    let device = engine.multiplier.device();
    Ok(Case {
        request,
        spec: plan.spec().to_string(),
        order: order_name(plan, request.order),
        engine,
        way: device.and_then(|device| device.way(plan.spec(), plan.dtype())),
        tf32: engine.multiplier.rounding(plan).input_unit > 0.0,
        named_rows: device.and_then(|_| named_rows(plan)),
        tile_bytes: plan.tile_bytes(),
        estimate: plan
            .explanation()
            .chosen()
            .and_then(|chosen| chosen.cost)
            .map(|cost| cost.seconds),
        planning,
        preparing,
        verification,
        samples: Samples::for_product(once),
        runner,
    })
}

/// The name of a plan's order: the one that was chosen, or else the one that was requested.
fn order_name(plan: &Plan, requested: OrderRequest) -> String {
    let chosen = plan.explanation().orderings.iter().find(|o| o.outcome == Outcome::Chosen);
    chosen.map_or_else(|| requested.to_string(), |o| o.name.clone())
}

#[cfg(test)]
mod tests;
