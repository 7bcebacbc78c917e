//! Which format, kernel configuration and schedule a plan uses.
//!
//! Candidates come from the kernels' catalogue. Each is first priced from its statistics, with its work
//! shared out evenly: that is the least it can take, and needs no memory of the tiles' size. What the
//! options rule out, and what even so is far slower than the best, is left there. The schedules of the
//! others are cut out of counted windows and replayed.

mod constraints;
mod schedules;

use girih_formats::stats::{FormatStats, SharedStats};
use girih_formats::{DType, FormatSpec};

use crate::candidates::{Cut, ScheduleOption};
use crate::cost::{Cost, LinearCost, Workload, linear_cost, price};
use crate::device::{DeviceKind, Unit};
use crate::error::PlanError;
use crate::explanation::{Candidate, Outcome, Seconds};
use crate::kernels::{KernelConfig, KernelWork};
use crate::options::{FormatChoice, PlanOptions};
use crate::progress::{Stage, Watch};
use constraints::{Budget, Need, objection};

/// What was chosen, and why.
pub(crate) struct Choice {
    pub(crate) spec: FormatSpec,
    pub(crate) reason: String,
    pub(crate) candidates: Vec<Candidate>,
    /// The winner's schedules, the best first.
    pub(crate) schedules: Vec<ScheduleOption>,
    pub(crate) config: Option<KernelConfig>,
    pub(crate) linear: LinearCost,
    pub(crate) dtype: DType,
    /// Rows of B that windows of 16 rows fetch, and what larger caches do.
    pub(crate) workload: Workload,
    /// Seconds that counting took, by estimate.
    pub(crate) counting_seconds: f64,
    /// Seconds that everything took, by estimate: counting, and replaying schedules.
    pub(crate) planning_seconds: f64,
}

/// A format that can be had, priced with its work shared out evenly.
struct Priced {
    stats: FormatStats,
    candidate: Candidate,
    linear: LinearCost,
    /// Those of its schedules that were compared, the best first.
    schedules: Vec<ScheduleOption>,
}

impl Choice {
    /// Makes the choice that `options` asks for, from counts alone: nothing is built, and what formats
    /// share is counted once. O(nnz) time for each count, O(nnz + m + k) memory in all.
    pub(crate) fn of(
        options: &PlanOptions,
        shared: &SharedStats<'_>,
        dtype: DType,
        watch: Watch<'_>,
    ) -> Result<Self, PlanError> {
        Self::among(options, shared, dtype, &Self::formats(options, dtype), watch)
    }

    /// The same among some formats only, where the choice is free: those that an order may make
    /// faster than what is known already.
    pub(crate) fn among(
        options: &PlanOptions,
        shared: &SharedStats<'_>,
        dtype: DType,
        specs: &[FormatSpec],
        watch: Watch<'_>,
    ) -> Result<Self, PlanError> {
        watch.stage(Stage::Statistics);
        let workload = Workload::of(shared, options.n, dtype).in_precision(options.precision);
        let chooser = Chooser { options, shared, workload, watch };
        match options.format {
            FormatChoice::Fixed(spec) => chooser.admit(spec),
            FormatChoice::Auto => chooser.choose(specs),
        }
    }

    /// The formats that the options leave to choose from.
    pub(crate) fn formats(options: &PlanOptions, dtype: DType) -> Vec<FormatSpec> {
        match options.format {
            FormatChoice::Fixed(spec) => vec![spec],
            FormatChoice::Auto => options.kernels.candidates(&options.target, dtype),
        }
    }

    /// Seconds that a product of these counts takes at the least, its work shared out evenly; `None`
    /// where the device has no kernel.
    pub(crate) fn least(
        options: &PlanOptions,
        workload: &Workload,
        stats: &FormatStats,
    ) -> Option<f64> {
        let (device, &FormatStats { spec, windows: tasks, tiles, .. }) = (&options.target, stats);
        let (dtype, n, ncols) = (workload.dtype, workload.n, workload.ncols);
        options.kernels.check(device, spec, dtype).ok()?;
        let work = KernelWork { spec, dtype, n, tasks, tiles, ncols };
        let config = options.kernels.config(device, &work);
        Some(price(workload, stats, device, config.as_ref(), 1.0).seconds)
    }

    /// By which share an estimate of a format has to be less than CSR's to count; `None` where any
    /// advantage does.
    pub(crate) fn doubt(options: &PlanOptions, spec: FormatSpec, dtype: DType) -> Option<f64> {
        let (device, precision) = (&options.target, options.precision);
        match device.fit(spec, dtype, precision) {
            Some(fit) => Some(fit.quality.mean_relative_error),
            None if device.kind == DeviceKind::Cpu => Some(UNCALIBRATED),
            // Counts know nothing of what CSR was measured to lose: they flatter whatever was not.
            None if device.has_precisions(spec.kind(), dtype) && !precision.allows_tf32(dtype) => {
                device.fit(FormatSpec::Csr, dtype, precision).map(|_| UNCALIBRATED)
            }
            None => None,
        }
    }

    /// What a schedule is cut for, of a matrix with these columns and entries.
    pub(crate) fn cut<'a>(
        &self,
        options: &'a PlanOptions,
        (ncols, nnz): (usize, usize),
    ) -> Cut<'a> {
        Cut {
            spec: self.spec,
            dtype: self.dtype,
            ncols,
            nnz,
            n: options.n,
            device: &options.target,
            kernels: &*options.kernels,
            deterministic: options.deterministic,
        }
    }
}

/// By how much estimates of one format in two sizes may differ and still count as equal.
const TIE: f64 = 0.02;

/// Seconds that no measured coefficients tell apart: a product is called in as many. Those of matrices of
/// three to six rows are tens of nanoseconds apart, and were predicted in the wrong order.
const INDISTINCT: f64 = 100e-9;

/// By how much estimates for a CPU are off, on average, where it was not calibrated: between 28 and 42 % for
/// each format but 64×64 blocks, over 72 matrices with 8 to 512 columns on a Zen 4. An advantage over CSR
/// counts from there on: choices then took 0.2 % longer than the best on average, without it 1.2 %.
const UNCALIBRATED: f64 = 1.0 / 3.0;

struct Chooser<'a> {
    options: &'a PlanOptions,
    shared: &'a SharedStats<'a>,
    workload: Workload,
    watch: Watch<'a>,
}

impl Chooser<'_> {
    /// Takes the one format that was requested.
    fn admit(&self, spec: FormatSpec) -> Result<Choice, PlanError> {
        let refused = |reason| PlanError::Refused { spec, reason };
        let (device, dtype) = (&self.options.target, self.workload.dtype);
        self.options.kernels.check(device, spec, dtype).map_err(refused)?;
        self.watch.share(Stage::Formats, 0, 1);
        let stats = self.shared.format(spec, dtype)?;
        self.watch.share(Stage::Formats, 1, 1);
        if let Some(reason) = objection(self.options, &self.workload, &stats) {
            return Err(PlanError::Refused { spec, reason });
        }
        let mut budget = Budget::new(self.options, self.shared);
        budget.count(spec, Need::Always).map_err(refused)?;
        let mut priced = self.bare(stats);
        self.watch.share(Stage::Schedules, 0, 1);
        self.schedule(&mut priced, &mut budget).map_err(refused)?;
        self.watch.share(Stage::Schedules, 1, 1);
        priced.candidate.outcome = Outcome::Chosen;
        let reason = match &priced.candidate.cost {
            Some(cost) => format!("{spec} was requested{}: {}", self.precision(), describe(cost)),
            None => format!("{spec} was requested{}", self.precision()),
        };
        let candidates = vec![priced.candidate.clone()];
        Ok(self.chosen(priced, reason, candidates, &budget))
    }

    fn chosen(
        &self,
        priced: Priced,
        reason: String,
        candidates: Vec<Candidate>,
        budget: &Budget,
    ) -> Choice {
        let Priced { candidate, schedules, linear, .. } = priced;
        Choice {
            spec: candidate.spec,
            reason,
            candidates,
            schedules,
            config: candidate.config,
            linear,
            dtype: self.workload.dtype,
            workload: self.workload,
            counting_seconds: budget.counting(),
            planning_seconds: budget.spent(),
        }
    }

    /// Prices every candidate and takes the fastest.
    fn choose(&self, specs: &[FormatSpec]) -> Result<Choice, PlanError> {
        let mut budget = Budget::new(self.options, self.shared);
        let mut all: Vec<Result<Priced, Box<Candidate>>> = self
            .watch
            .each(Stage::Formats, specs.iter())
            .map(|&spec| self.candidate(spec, &mut budget))
            .collect();
        self.schedule_hopeful(&mut all, &mut budget);
        let candidates = |all: &[Result<Priced, Box<Candidate>>]| -> Vec<Candidate> {
            all.iter().map(|one| candidate(one).clone()).collect()
        };
        let mut order: Vec<(usize, Cost)> = all
            .iter()
            .enumerate()
            .filter(|(_, one)| candidate(one).outcome == Outcome::Lost)
            .filter_map(|(i, one)| candidate(one).cost.map(|cost| (i, cost)))
            .collect();
        // Stable, so that of equal times the first in the fixed order wins. Where there is nothing to
        // multiply all are equal.
        let is_empty = self.workload.nnz == 0;
        if !is_empty {
            order.sort_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds));
        }
        let Some(Picked { winner, reason }) = self.pick(&all, &order) else {
            return Err(PlanError::NothingFits { reasons: reasons(&candidates(&all)) });
        };
        if let Ok(priced) = &mut all[winner] {
            priced.candidate.outcome = Outcome::Chosen;
        }
        let listed = candidates(&all);
        match all.swap_remove(winner) {
            Ok(priced) => Ok(self.chosen(priced, reason, listed, &budget)),
            Err(_) => unreachable!("what was rejected has not lost, and only what has lost wins"),
        }
    }

    /// In which precision products are, if that is not the default and makes a difference: for a reason's
    /// text.
    fn precision(&self) -> String {
        match self.workload.precision {
            precision if precision.allows_tf32(self.workload.dtype) => String::new(),
            precision => format!(" in {precision}"),
        }
    }

    /// Picks from candidates in order of their times, and says why.
    fn pick(
        &self,
        all: &[Result<Priced, Box<Candidate>>],
        order: &[(usize, Cost)],
    ) -> Option<Picked> {
        let (device, n) = (&self.options.target, self.workload.n);
        let spec_of = |i: usize| candidate(&all[i]).spec;
        let &(fastest, least) = order.first()?;
        if self.workload.nnz == 0 {
            let spec = spec_of(fastest);
            let reason = format!("{spec}, as A has no entries: no format has anything to multiply");
            return Some(Picked { winner: fastest, reason });
        }
        // Estimates of one format in two sizes are closer than they are good: the larger tiles win.
        let kind = spec_of(fastest).kind();
        let at = (0..order.len())
            .filter(|&at| order[at].1.seconds <= least.seconds * (1.0 + TIE))
            .filter(|&at| spec_of(order[at].0).kind() == kind)
            .max_by_key(|&at| (spec_of(order[at].0).window_rows(), std::cmp::Reverse(at)))
            .unwrap_or(0);
        let best = spec_of(order[at].0);
        let Workload { dtype, precision, .. } = self.workload;
        let fit = device.fit(best, dtype, precision);
        let unsure = Choice::doubt(self.options, best, dtype);
        // Where an advantage over CSR is less than estimates are off, nothing speaks for laying A out anew.
        let is_within = |off: f64, seconds: f64| seconds <= least.seconds * (1.0 + off);
        let near = |&(i, cost): &(usize, Cost)| {
            let is_near = unsure.map_or(is_within(0.0, cost.seconds), |off| {
                is_within(off, cost.seconds) || cost.seconds - least.seconds <= INDISTINCT
            });
            spec_of(i) == FormatSpec::Csr && is_near
        };
        let csr = order.iter().find(|one| near(one)).filter(|_| best != FormatSpec::Csr);
        if let (Some(&(winner, cost)), Some(off)) = (csr, unsure) {
            let (took, share) = (describe(&cost), least.seconds / cost.seconds);
            let whose = match fit {
                Some(_) => "its estimates",
                None => "estimates without calibration",
            };
            let doubt = match is_within(off, cost.seconds) {
                true => format!("{whose} are off by {:.0} % on average", 100.0 * off),
                false => "so short a time cannot be predicted".to_owned(),
            };
            let reason = format!(
                "csr for n = {n}{}: {took}; {best} is estimated at {share:.2} of that, and {doubt}",
                self.precision()
            );
            return Some(Picked { winner, reason });
        }
        let (winner, cost) = csr.copied().unwrap_or(order[at]);
        let spec = spec_of(winner);
        let (products, took) = (self.precision(), describe(&cost));
        let mut reason = format!("{spec} is estimated fastest for n = {n}{products}: {took}");
        if let Some(&(second, next)) = order.iter().find(|&&(i, _)| i != winner) {
            let factor = next.seconds / cost.seconds.max(f64::MIN_POSITIVE);
            let second = spec_of(second);
            reason += &format!("; next is {second}, {factor:.2} times as long");
        }
        if spec == FormatSpec::Csr {
            let is_tiled = |&&(i, _): &&(usize, Cost)| {
                let unit = device.unit_in(spec_of(i).kind(), dtype, precision);
                unit == Unit::Tiles && spec_of(i) != FormatSpec::TwoFour
            };
            let tiled = order.iter().find(is_tiled);
            reason +=
                &tiled.map_or_else(String::new, |&(i, tiled)| even(spec_of(i), &tiled, &cost));
        }
        Some(Picked { winner, reason })
    }

    /// A format with its price, its work shared out evenly; or why it is rejected.
    fn candidate(&self, spec: FormatSpec, budget: &mut Budget) -> Result<Priced, Box<Candidate>> {
        let rejected = |reason: String| {
            let outcome = Outcome::Rejected { reason };
            Box::new(Candidate { spec, config: None, schedule: None, outcome, cost: None })
        };
        let (device, dtype) = (&self.options.target, self.workload.dtype);
        self.options.kernels.check(device, spec, dtype).map_err(rejected)?;
        budget.count(spec, Need::IfTime).map_err(rejected)?;
        let stats = self.shared.format(spec, dtype).map_err(|error| rejected(error.to_string()))?;
        let reason = objection(self.options, &self.workload, &stats);
        let mut priced = self.bare(stats);
        match reason {
            None => Ok(priced),
            Some(reason) => {
                priced.candidate.outcome = Outcome::Rejected { reason };
                Err(Box::new(priced.candidate))
            }
        }
    }

    /// The price of a format whose work is shared out evenly: the least that any schedule can take.
    fn bare(&self, stats: FormatStats) -> Priced {
        let (device, spec) = (&self.options.target, stats.spec);
        let work = KernelWork {
            spec,
            dtype: self.workload.dtype,
            n: self.workload.n,
            tasks: stats.windows,
            tiles: stats.tiles,
            ncols: self.workload.ncols,
        };
        let config = self.options.kernels.config(device, &work);
        let cost = price(&self.workload, &stats, device, config.as_ref(), 1.0);
        let linear = linear_cost(&self.workload, &stats, device, &cost);
        let candidate =
            Candidate { spec, config, schedule: None, outcome: Outcome::Lost, cost: Some(cost) };
        Priced { stats, candidate, linear, schedules: Vec::new() }
    }
}

/// A candidate, and why it.
struct Picked {
    winner: usize,
    reason: String,
}

fn candidate(one: &Result<Priced, Box<Candidate>>) -> &Candidate {
    match one {
        Ok(priced) => &priced.candidate,
        Err(candidate) => candidate,
    }
}

fn describe(cost: &Cost) -> String {
    format!("{}, bound by {}", Seconds(cost.seconds), cost.dominant.name())
}

/// How full tiles would have to be to multiply as fast as CSR, if their time goes with what they store.
fn even(spec: FormatSpec, tiled: &Cost, csr: &Cost) -> String {
    let is = tiled.fill_ratio;
    let needed = is * tiled.seconds / csr.seconds.max(f64::MIN_POSITIVE);
    match needed <= 1.0 {
        true => format!(
            "; tiles of {spec} are {:.1} % full and would have to be {:.1} %",
            100.0 * is,
            100.0 * needed
        ),
        false => format!("; tiles of {spec} would not be faster if they were full"),
    }
}

fn reasons(candidates: &[Candidate]) -> String {
    let reasons = candidates.iter().filter_map(|c| match &c.outcome {
        Outcome::Rejected { reason } => Some(format!("{}: {reason}", c.spec)),
        Outcome::Chosen | Outcome::Lost => None,
    });
    reasons.collect::<Vec<_>>().join("; ")
}
