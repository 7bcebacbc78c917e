//! Which format, kernel configuration and schedule a plan uses.
//!
//! Candidates come from the kernels' catalogue. Each is first priced from its statistics, with its work
//! shared out evenly: that is the least it can take, and needs no memory of the tiles' size. What the
//! options rule out, and what even so is far slower than the best, is left there. The schedules of the
//! others are cut out of counted windows and replayed.

mod constraints;
mod pick;
mod schedules;

use girih_formats::stats::{FormatStats, SharedStats};
use girih_formats::{DType, FormatSpec};

use crate::candidates::{Cut, ScheduleOption};
use crate::cost::{Cost, LinearCost, Workload, linear_cost, price};
use crate::device::DeviceKind;
use crate::error::PlanError;
use crate::explanation::{Candidate, Outcome, Seconds};
use crate::kernels::{KernelConfig, KernelWork};
use crate::options::{FormatChoice, PlanOptions};
use crate::progress::{Stage, Watch};
pub(crate) use constraints::over_limit;
use constraints::{Budget, Need, objection};
use pick::Picked;

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
        // A hybrid's packed windows are WCSR's, in its estimate too.
        let spec = match spec {
            FormatSpec::Hybrid { window_rows, pad_cols, .. } => {
                FormatSpec::Wcsr { window_rows, pad_cols }
            }
            spec => spec,
        };
        match device.fit(spec, dtype, precision) {
            Some(fit) if device.kind == DeviceKind::Cpu => Some(fit.quality.mean_relative_error),
            // Most of what estimates are off by on a GPU they share, so even a small advantage is more often true than not.
            Some(_) => None,
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

    /// In which precision products are, if that is not the default and makes a difference, and as what complex ones
    /// are priced: for a reason's text.
    fn precision(&self) -> String {
        let dtype = self.workload.dtype;
        if dtype.is_complex() {
            let (cols, part) = (self.workload.real_cols(self.workload.n), dtype.part());
            return format!(" in {dtype}, priced as two products in {part} with {cols} columns");
        }
        match self.workload.precision {
            precision if precision.allows_tf32(self.workload.dtype) => String::new(),
            precision => format!(" in {precision}"),
        }
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

fn candidate(one: &Result<Priced, Box<Candidate>>) -> &Candidate {
    match one {
        Ok(priced) => &priced.candidate,
        Err(candidate) => candidate,
    }
}

fn describe(cost: &Cost) -> String {
    format!("{}, bound by {}", Seconds(cost.seconds), cost.dominant.name())
}

fn reasons(candidates: &[Candidate]) -> String {
    let reasons = candidates.iter().filter_map(|c| match &c.outcome {
        Outcome::Rejected { reason } => Some(format!("{}: {reason}", c.spec)),
        Outcome::Chosen | Outcome::Lost => None,
    });
    reasons.collect::<Vec<_>>().join("; ")
}
