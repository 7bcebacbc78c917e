//! The cases of one matrix, value type and number of columns: planned, prepared, verified, timed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use girih::backend::Verification;
use girih::cuda::TimedOperands;
use girih::planner::Outcome;
use girih::{
    AnyTiling, Csr, DType, DenseScalar, DeviceSpec, FormatChoice, Kernels, Plan, PlanOptions,
    Planner, Scalar, Tiling,
};

use super::asked::{Asked, OrderAsked};
use super::engine::{Engine, Engines, Who};
use super::on_device::{gathered_rows, skips};
use super::runner::Runner;
use super::sampling::{Samples, Team, by_turns};
use super::verdict::Verdicts;
use crate::commands::spmm::refused;
use crate::error::{Class, CliError};
use crate::machine::Ticks;
use crate::operand::Operand;
use crate::planning;
use crate::progress::Progress;
use crate::units;

/// What all groups have in common.
#[derive(Debug)]
pub(super) struct Terms<'a> {
    pub(super) asked: &'a [Asked],
    pub(super) engines: &'a Engines,
    /// Seconds to spend on each case.
    pub(super) seconds: f64,
    pub(super) memory_limit: Option<u64>,
    pub(super) seed: u64,
    /// The machine that the planner chooses for.
    pub(super) target: DeviceSpec,
}

impl Terms<'_> {
    /// What was asked for and, where a yardstick is timed that multiplies the same whatever the format,
    /// CSR, which it is made from.
    fn planned(&self) -> impl Iterator<Item = Asked> + '_ {
        let yardstick = self.engines.engines.iter().any(|engine| engine.who.is_yardstick());
        let lacking = yardstick && !self.asked.contains(&Asked::CSR);
        self.asked.iter().copied().chain(lacking.then_some(Asked::CSR))
    }

    /// Whether an engine is to multiply what is planned.
    fn wants(&self, engine: &Engine, asked: Asked) -> bool {
        match engine.who.is_yardstick() {
            true => asked == Asked::CSR,
            false => self.asked.contains(&asked),
        }
    }
}

/// What was measured of one case.
#[derive(Debug)]
pub(super) struct Case<'a> {
    pub(super) asked: Asked,
    /// What auto made of it.
    pub(super) spec: String,
    pub(super) order: String,
    pub(super) engine: &'a Engine,
    /// In which of several ways.
    pub(super) way: Option<&'static str>,
    /// Whether f32 is rounded to TF32.
    pub(super) tf32: bool,
    /// Rows of B that the tiles name.
    pub(super) gathered_rows: Option<u64>,
    pub(super) tile_bytes: u64,
    pub(super) planning: Duration,
    pub(super) preparing: Duration,
    pub(super) verification: Verification,
    pub(super) samples: Samples,
    runner: Runner,
}

/// A case that was not run.
#[derive(Debug)]
pub(super) struct Skipped {
    pub(super) asked: Asked,
    /// The engine, if the plan was fine but for it.
    pub(super) engine: Option<usize>,
    pub(super) reason: String,
}

/// What came of a group.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) cases: Vec<Case<'a>>,
    pub(super) skipped: Vec<Skipped>,
    /// The share of all processors that other programs had while products were timed.
    pub(super) other_load: Option<f64>,
}

/// What a case is planned for: the target, unless only libraries that it is compared with have the format
/// there.
fn target(wanted: &DeviceSpec, format: FormatChoice, dtype: DType) -> (DeviceSpec, Kernels) {
    let kernels = girih::kernels_for(wanted);
    match format {
        FormatChoice::Fixed(spec) if kernels.check(wanted, spec, dtype).is_err() => {
            (DeviceSpec::this_cpu(), Kernels::default())
        }
        _ => (wanted.clone(), kernels),
    }
}

/// Runs the cases of a matrix for `n` columns of B.
///
/// # Errors
/// If a product is wrong, and if an option does not suit the matrix. A case that is not supported or
/// takes more memory than it may is skipped.
pub(super) fn run<'a, T: DenseScalar>(
    name: &str,
    a: &Csr<T>,
    n: usize,
    terms: &Terms<'a>,
    progress: &Progress,
) -> Result<Group<'a>, CliError>
where
    AnyTiling: From<Tiling<T>>,
{
    let mut group = Group { cases: Vec::new(), skipped: Vec::new(), other_load: None };
    let left = match left_for_tiles::<T>(a, n, terms.memory_limit) {
        Ok(left) => left,
        Err(reason) => {
            let skip = |&asked| Skipped { asked, engine: None, reason: reason.clone() };
            group.skipped.extend(terms.asked.iter().map(skip));
            return Ok(group);
        }
    };
    let what = format!("{name}, n = {n}, {}", T::DTYPE);
    progress.stage(format!("{what}: filling B"));
    let b = Operand::<T>::random("B", (a.ncols(), n), terms.seed)?;
    let mut c = Operand::<T::Acc>::zeros("C", (a.nrows(), n))?;
    let mut operands = Room { b: &b, c: &mut c, copies: None, verdicts: Verdicts::default() };
    for asked in terms.planned() {
        let format = asked.format.choice(T::DTYPE)?;
        let (target, kernels) = target(&terms.target, format, T::DTYPE);
        let options = PlanOptions {
            n,
            format,
            reorder: asked.order.0,
            memory_limit: left,
            target,
            kernels,
            ..PlanOptions::default()
        };
        // Once for each team, whose threads it is timed on; the plans are equal.
        for (at, team) in terms.engines.teams.iter().enumerate() {
            let observer = progress.planning(format!("{what}: planning {asked}"));
            let start = Instant::now();
            let planned = team.run(|| Planner::new(options.clone()).observe(&observer).plan(a));
            let plan = match planned {
                Ok(plan) => plan,
                Err(error) => {
                    let class = planning::class_of(&error);
                    if class != Class::Unsupported {
                        let what = format!("cannot plan {name} as {asked}");
                        return Err(CliError::new(class, what).because(error));
                    }
                    let hint = match planning::is_above_limit(&error) {
                        true => " for tiles beside B and C; --memory-limit raises it",
                        false => "",
                    };
                    let reason = format!("{error}{hint}");
                    group.skipped.push(Skipped { asked, engine: None, reason });
                    break;
                }
            };
            let planned = (&plan, start.elapsed());
            for (index, engine) in terms.engines.engines.iter().enumerate() {
                if engine.team != at || !terms.wants(engine, asked) || engine.who.repeats(&plan) {
                    continue;
                }
                let skipped = |reason| Skipped { asked, engine: Some(index), reason };
                if let Some(reason) = engine.who.refusal(&plan) {
                    group.skipped.push(skipped(reason));
                    continue;
                }
                progress.stage(format!("{what}: verifying {asked}"));
                match case(a, planned, asked, (engine, team), &mut operands) {
                    Ok(case) => group.cases.push(case),
                    Err(Failure::Skips(reason)) => group.skipped.push(skipped(reason)),
                    Err(Failure::Ends(error)) => return Err(error),
                }
            }
        }
    }
    progress.still(format!("{what}: timing {} cases", group.cases.len()));
    let before = Ticks::now();
    by_turns(
        &mut group.cases,
        |case| case.samples.enough(terms.seconds),
        |case| {
            let team = &terms.engines.teams[case.engine.team];
            let calls = case.samples.calls;
            let time = case.runner.time(team, calls, &b, &mut c).map_err(refused)?;
            case.samples.push(time);
            Ok::<(), CliError>(())
        },
    )?;
    group.other_load = Ticks::others_between(before, Ticks::now());
    Ok(group)
}

/// What the memory limit leaves for tiles beside B and C; or why it leaves nothing.
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

/// The operands of a group, where they are, and what is known of products of them.
struct Room<'a, T: DenseScalar> {
    b: &'a Operand<T>,
    c: &'a mut Operand<T::Acc>,
    /// On the device, once there is something that multiplies them there.
    copies: Option<Arc<TimedOperands<T>>>,
    verdicts: Verdicts,
}

/// Why there is no case.
enum Failure {
    /// It can't be run, and others can.
    Skips(String),
    Ends(CliError),
}

impl From<girih::BackendError> for Failure {
    fn from(error: girih::BackendError) -> Self {
        match skips(&error) {
            Some(reason) => Self::Skips(reason),
            None => Self::Ends(refused(error)),
        }
    }
}

impl From<CliError> for Failure {
    fn from(error: CliError) -> Self {
        Self::Ends(error)
    }
}

/// Prepares and verifies a case, and finds out how many products make a sample.
fn case<'a, T: DenseScalar>(
    a: &Csr<T>,
    (plan, planning): (&Plan, Duration),
    asked: Asked,
    (engine, team): (&'a Engine, &Team),
    room: &mut Room<'_, T>,
) -> Result<Case<'a>, Failure> {
    let start = Instant::now();
    let Room { b, c, copies, verdicts } = room;
    // With compiling the kernel, where it is not in the cache.
    let (mut runner, preparing) = match &engine.who {
        Who::Device(device) => {
            let prepared = device.prepare(plan)?;
            let preparing = start.elapsed();
            (Runner::on_device(prepared, copies, b, c)?, preparing)
        }
        Who::Host(backend) => {
            let prepared = team.run(|| backend.prepare(plan))?;
            (Runner::Host(prepared), start.elapsed())
        }
    };
    if let Runner::Host(_) = runner {
        // An element that is not written is then not what another case has left.
        c.fill(<T::Acc as Scalar>::from_f64(f64::NAN));
        runner.time(team, 1, b, c)?;
    }
    let verification = verdicts.judge(a, plan, &engine.who, b, c)?;
    let once = runner.time(team, 1, b, c)?;
    let device = engine.who.device();
    Ok(Case {
        asked,
        spec: plan.spec().to_string(),
        order: order_of(plan, asked.order),
        engine,
        way: device.and_then(|device| device.way(plan.spec(), plan.dtype())),
        tf32: engine.who.rounding(plan).input_unit > 0.0,
        gathered_rows: device.and_then(|_| gathered_rows(plan)),
        tile_bytes: plan.tile_bytes(),
        planning,
        preparing,
        verification,
        samples: Samples::of(once),
        runner,
    })
}

/// The order a plan is in, by name: what was asked for, or what was chosen.
fn order_of(plan: &Plan, asked: OrderAsked) -> String {
    let chosen = plan.explanation().orderings.iter().find(|o| o.outcome == Outcome::Chosen);
    chosen.map_or_else(|| asked.to_string(), |o| o.name.clone())
}

#[cfg(test)]
mod tests;
