//! Plans chosen by what they take, not by what they are estimated to take.
//!
//! [`tune`] plans a matrix anew in the formats that the planner expects most of, in the order of a given plan and
//! in the matrix's own. Each candidate is prepared, verified and then timed by turns with the others. The fastest
//! becomes the plan, and its explanation holds what was measured.

mod candidates;
mod config;

use girih::planner::Space;
use girih::planner::explanation::{MeasuredCase, Measurement};
use girih::{Complex, CpuBackend, Csr, CudaBackend, DenseScalar, DeviceSpec, Plan, Scalar};

use self::candidates::{Candidate, Candidates, planning};
use crate::bench::device::{Device, skip_reason};
use crate::bench::engine::Multiplier;
use crate::bench::verdict::Verdicts;
use crate::operand::Operand;
use crate::runner::Runner;
use crate::sampling::{Samples, by_turns};
use crate::team::Team;
use crate::{MeasureError, Observer};

pub use config::{TuneBackend, TuneConfig};

/// A plan that was chosen by measurement.
#[derive(Debug)]
pub struct Tuned {
    /// The fastest candidate; its [explanation](girih::planner::Explanation::measured) holds all times.
    pub plan: Plan,
    /// What those times say.
    pub measurement: Measurement,
    /// Candidates that were not timed, and why.
    pub skipped: Vec<(String, String)>,
}

/// A candidate that is prepared and verified.
struct TimedCandidate {
    candidate: Candidate,
    runner: Runner,
    samples: Samples,
}

/// Times the planner's best candidates for the matrix of `plan`, and `plan`'s own format, and gives the fastest.
///
/// `a` is the matrix that the plan was made from. The options of the plan are kept, but for its target, which is the
/// machine at hand, and n, if the configuration has one. A plan in the permuted space keeps its order: its callers'
/// vectors are in it. Attachments are not kept.
///
/// # Errors
/// If the backend is not there, if no candidate can be timed, or if a product is wrong.
pub fn tune<T: DenseScalar>(
    plan: &Plan,
    a: &Csr<T>,
    config: &TuneConfig,
    observer: &dyn Observer,
) -> Result<Tuned, MeasureError> {
    let team = Team::new(girih_parallel::current_num_threads())?;
    let (multiplier, target, machine) = multiplier(config, &team)?;
    let n = config.n.unwrap_or(plan.options().n);
    let hears = observer.planning("planning candidates");
    let Candidates { candidates, mut skipped } =
        team.run(|| candidates::find(plan, a, (n, target), config, &hears))?;

    observer.stage("filling B");
    // A plan in the permuted space multiplies the matrix as its tiles hold it.
    let held = match plan.space() {
        Space::Caller => a.clone(),
        Space::Permuted => plan.hold(a).map_err(|source| planning("the matrix", source))?,
    };
    let b = Operand::<T>::random("B", (a.ncols(), n), config.seed)?;
    let mut c = Operand::<T::Acc>::zeros("C", (a.nrows(), n))?;
    let (mut copies, mut verdicts) = (None, Verdicts::default());
    let mut cases = Vec::new();
    for candidate in candidates {
        let name = candidate.to_string();
        observer.stage(&format!("verifying {name}"));
        let mut made = || -> Result<Runner, MeasureError> {
            Ok(match &multiplier {
                Multiplier::Device(device) => {
                    Runner::on_device(device.prepare(&candidate.plan)?, &mut copies, &b, &mut c)?
                }
                Multiplier::Host(backend) => {
                    let prepared = team.run(|| backend.prepare(&candidate.plan))?;
                    let mut runner = Runner::Host(prepared);
                    // An element that is not written must not hold what another case has left.
                    c.fill(<T::Acc as Scalar>::from_c64(Complex::new(f64::NAN, f64::NAN)));
                    runner.time(&team, 1, &b, &mut c)?;
                    runner
                }
            })
        };
        let refusal = multiplier.refusal(&candidate.plan);
        let made = match refusal {
            Some(reason) => Err(reason),
            None => match made() {
                Ok(runner) => Ok(runner),
                Err(MeasureError::Backend(error)) if skip_reason(&error).is_some() => {
                    Err(skip_reason(&error).unwrap_or_default())
                }
                Err(error) => return Err(error),
            },
        };
        match made {
            Err(reason) => skipped.push((name, reason)),
            Ok(mut runner) => {
                let who = (multiplier.name(), multiplier.rounding(&candidate.plan));
                verdicts.judge(&held, &candidate.plan, who, &b, &c)?;
                let once = runner.time(&team, 1, &b, &mut c)?;
                cases.push(TimedCandidate {
                    candidate,
                    runner,
                    samples: Samples::for_product(once),
                });
            }
        }
    }
    if cases.is_empty() {
        let reasons = skipped.iter().map(|(name, reason)| format!("{name}: {reason}"));
        let reasons = reasons.collect::<Vec<_>>().join("; ");
        return Err(MeasureError::Unavailable(format!("no candidate can be timed: {reasons}")));
    }

    observer.timed_stage(&format!("timing {} candidates", cases.len()));
    by_turns(
        &mut cases,
        |case| case.samples.enough(config.seconds),
        |case| {
            let calls = case.samples.calls;
            let time = case.runner.time(&team, calls, &b, &mut c)?;
            case.samples.push(time);
            Ok::<(), MeasureError>(())
        },
    )?;
    Ok(fastest(cases, machine, n, skipped))
}

/// What multiplies, the machine that it plans for, and the machine's name.
fn multiplier(
    config: &TuneConfig,
    team: &Team,
) -> Result<(Multiplier, DeviceSpec, String), MeasureError> {
    let (multiplier, target) = match config.backend {
        TuneBackend::Cpu => {
            let backend = CpuBackend::new().with_threads(team.threads())?;
            (Multiplier::Host(Box::new(backend)), DeviceSpec::this_cpu())
        }
        TuneBackend::Cuda => {
            let backend = CudaBackend::new(config.cuda.clone());
            let target = backend.device().map_err(MeasureError::Device)?.spec();
            (Multiplier::Device(Device::Cuda(backend)), target)
        }
    };
    let machine = format!("{} ({})", target.name, multiplier.name());
    Ok((multiplier, target, machine))
}

/// The fastest case as a plan. Of equal times the earlier candidate's counts, and the first is the plan's own.
fn fastest(
    cases: Vec<TimedCandidate>,
    machine: String,
    n: usize,
    skipped: Vec<(String, String)>,
) -> Tuned {
    let mut timed: Vec<(Candidate, MeasuredCase)> = Vec::new();
    for TimedCandidate { candidate, samples, .. } in cases {
        let summary = samples.summary();
        let case = MeasuredCase {
            spec: candidate.plan.spec(),
            reordered: candidate.reordered,
            chosen: false,
            seconds: summary.median,
            quartiles: [summary.q1, summary.q3],
        };
        timed.push((candidate, case));
    }
    timed.sort_by(|(_, a), (_, b)| a.seconds.total_cmp(&b.seconds));
    let (plans, mut cases): (Vec<_>, Vec<_>) = timed.into_iter().unzip();
    cases[0].chosen = true;
    let measurement = Measurement { machine, n, cases };
    let plan = plans.into_iter().next().map(|candidate| candidate.plan);
    let plan = plan.unwrap_or_else(|| unreachable!("there is a case"));
    Tuned { plan: plan.with_measurement(measurement.clone()), measurement, skipped }
}
