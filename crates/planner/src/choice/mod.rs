//! Which format, kernel configuration and schedule a plan uses.

mod constraints;

use girih_formats::stats::{FormatStats, SharedStats};
use girih_formats::{DType, FormatError, FormatSpec};

use crate::candidates::{self, Cut, KernelConfig, ScheduleOption};
use crate::cost::{Cost, LinearCost, Workload, linear_cost, price};
use crate::device::DeviceKind;
use crate::explain::Seconds;
use crate::{Candidate, FormatChoice, Outcome, PlanError, PlanOptions};
use constraints::{Budget, objection};

/// What was chosen, and why.
pub(crate) struct Choice {
    pub(crate) spec: FormatSpec,
    pub(crate) reason: String,
    pub(crate) candidates: Vec<Candidate>,
    /// The winner's schedules, the best first.
    pub(crate) schedules: Vec<ScheduleOption>,
    pub(crate) config: Option<KernelConfig>,
    pub(crate) linear: LinearCost,
}

/// A format that can be had, with its best configuration and schedule.
struct Priced {
    candidate: Candidate,
    schedules: Vec<ScheduleOption>,
    linear: LinearCost,
}

impl Choice {
    /// Makes the choice that `options` asks for, from counts alone: nothing is built, and what formats
    /// share is counted once.
    pub(crate) fn of(
        options: &PlanOptions,
        shared: &SharedStats<'_>,
        dtype: DType,
    ) -> Result<Self, PlanError> {
        let workload = Workload::of(shared, options.n, dtype)?;
        let chooser = Chooser { options, shared, workload };
        match options.format {
            FormatChoice::Fixed(spec) => chooser.admit(spec),
            FormatChoice::Auto => chooser.choose(),
        }
    }

    /// What a schedule is cut for.
    pub(crate) fn cut<'a>(&'a self, options: &'a PlanOptions, nnz: usize) -> Cut<'a> {
        Cut {
            spec: self.spec,
            nnz,
            n: options.n,
            device: &options.target,
            config: self.config.as_ref(),
            deterministic: options.deterministic,
        }
    }
}

/// By how much estimates of one format in two sizes may differ and still count as equal.
const TIE: f64 = 0.02;

/// Seconds that no measured coefficients tell apart: a product is called in as many. Those of matrices of
/// three to six rows are tens of nanoseconds apart, and were foretold in the wrong order.
const INDISTINCT: f64 = 100e-9;

/// By how much estimates for a CPU are off, on average, where it was not calibrated: between 28 and 42 % for
/// each format but 64×64 blocks, over 72 matrices with 8 to 512 columns on a Zen 4. An advantage over CSR
/// counts from there on: choices then took 0.2 % longer than the best on average, without it 1.2 %.
const UNCALIBRATED: f64 = 1.0 / 3.0;

struct Chooser<'a> {
    options: &'a PlanOptions,
    shared: &'a SharedStats<'a>,
    workload: Workload,
}

impl Chooser<'_> {
    /// Takes the one format that was asked for.
    fn admit(&self, spec: FormatSpec) -> Result<Choice, PlanError> {
        let stats = self.shared.format(spec, self.workload.dtype)?;
        if let Some(reason) = objection(self.options, &self.workload, &stats) {
            return Err(PlanError::Refused { spec, reason });
        }
        let mut priced =
            self.priced(&stats).map_err(|reason| PlanError::Refused { spec, reason })?;
        priced.candidate.outcome = Outcome::Chosen;
        let reason = match &priced.candidate.cost {
            Some(cost) => format!("{spec} was asked for: {}", describe(cost)),
            None => format!("{spec} was asked for"),
        };
        let candidates = vec![priced.candidate.clone()];
        Ok(Choice {
            spec,
            reason,
            candidates,
            config: priced.candidate.config,
            schedules: priced.schedules,
            linear: priced.linear,
        })
    }

    /// Prices every candidate and takes the fastest.
    fn choose(&self) -> Result<Choice, PlanError> {
        let device = &self.options.target;
        let mut budget = Budget::new(self.options, self.shared);
        let mut priced: Vec<Priced> = candidates::formats(device, self.workload.dtype)
            .into_iter()
            .map(|spec| self.candidate(spec, &mut budget))
            .collect();
        let mut order: Vec<(usize, Cost)> = priced
            .iter()
            .enumerate()
            .filter(|(_, p)| p.candidate.outcome == Outcome::Lost)
            .filter_map(|(i, p)| p.candidate.cost.map(|cost| (i, cost)))
            .collect();
        // Stable, so that of equal times the first in the fixed order wins. Where there is nothing to
        // multiply all are equal.
        let is_empty = self.workload.nnz == 0;
        if !is_empty {
            order.sort_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds));
        }
        let Some(&(fastest, least)) = order.first() else {
            let all = priced.iter().map(|p| &p.candidate);
            return Err(PlanError::NothingFits { reasons: reasons(all) });
        };
        // Estimates of one format in two sizes are closer than they are good: the larger tiles win.
        let kind = priced[fastest].candidate.spec.kind();
        let at = (0..order.len())
            .filter(|&at| order[at].1.seconds <= least.seconds * (1.0 + TIE))
            .filter(|&at| priced[order[at].0].candidate.spec.kind() == kind)
            .max_by_key(|&at| {
                (priced[order[at].0].candidate.spec.window_rows(), std::cmp::Reverse(at))
            })
            .unwrap_or(0);
        let (first, _) = order[at];
        let fastest = priced[first].candidate.spec;
        let unsure = match device.fit(fastest, self.workload.dtype) {
            Some(fit) => Some(fit.quality.mean_relative_error),
            None => (device.kind == DeviceKind::Cpu).then_some(UNCALIBRATED),
        };
        // Where an advantage over CSR is less than estimates are off, nothing speaks for laying A out anew.
        let is_within = |off: f64, seconds: f64| seconds <= least.seconds * (1.0 + off);
        let near = |&(i, cost): &(usize, Cost)| {
            let is_near = unsure.map_or(is_within(0.0, cost.seconds), |off| {
                is_within(off, cost.seconds) || cost.seconds - least.seconds <= INDISTINCT
            });
            priced[i].candidate.spec == FormatSpec::Csr && is_near
        };
        let csr = order.iter().position(near).filter(|_| fastest != FormatSpec::Csr);
        let (winner, cost) = order.remove(csr.unwrap_or(at));
        priced[winner].candidate.outcome = Outcome::Chosen;
        let spec = priced[winner].candidate.spec;
        let n = self.workload.n;
        let mut reason = match unsure {
            _ if is_empty => {
                format!("{spec}, as A has no entries: no format has anything to multiply")
            }
            Some(off) if csr.is_some() => {
                let (took, share) = (describe(&cost), least.seconds / cost.seconds);
                let whose = match device.fit(fastest, self.workload.dtype) {
                    Some(_) => "its estimates",
                    None => "estimates without calibration",
                };
                let doubt = match is_within(off, cost.seconds) {
                    true => format!("{whose} are off by {:.0} % on average", 100.0 * off),
                    false => "so short a time is not foretold".to_owned(),
                };
                format!(
                    "{spec} for n = {n}: {took}; {fastest} is estimated at {share:.2} of that, and {doubt}"
                )
            }
            _ => format!("{spec} is estimated fastest for n = {n}: {}", describe(&cost)),
        };
        if let Some(&(second, next)) = order.first().filter(|_| csr.is_none() && !is_empty) {
            let factor = next.seconds / cost.seconds.max(f64::MIN_POSITIVE);
            let second = priced[second].candidate.spec;
            reason += &format!("; next is {second}, {factor:.2} times as long");
        }
        let candidates = priced.iter().map(|p| p.candidate.clone()).collect();
        let Priced { candidate, schedules, linear } = priced.swap_remove(winner);
        Ok(Choice { spec, reason, candidates, schedules, config: candidate.config, linear })
    }

    /// A format with its price, not chosen yet.
    fn candidate(&self, spec: FormatSpec, budget: &mut Budget) -> Priced {
        let rejected = |reason: String| Priced {
            candidate: Candidate {
                spec,
                config: None,
                schedule: None,
                outcome: Outcome::Rejected { reason },
                cost: None,
            },
            schedules: Vec::new(),
            linear: LinearCost { tile_col: 0.0, window_col: 0.0, fixed: 0.0, tile_again: 0.0 },
        };
        if let Some(reason) = candidates::illegal(&self.options.target, spec, self.workload.dtype) {
            return rejected(reason);
        }
        if let Err(reason) = budget.spend(spec) {
            return rejected(reason);
        }
        let stats = match self.shared.format(spec, self.workload.dtype) {
            Ok(stats) => stats,
            Err(error) => return rejected(error.to_string()),
        };
        match self.priced(&stats) {
            Err(reason) => rejected(reason),
            Ok(mut priced) => {
                if let Some(reason) = objection(self.options, &self.workload, &stats) {
                    priced.candidate.outcome = Outcome::Rejected { reason };
                }
                priced
            }
        }
    }

    /// The best configuration of a format, by the bare price, and its best schedule.
    fn priced(&self, stats: &FormatStats) -> Result<Priced, String> {
        let (device, spec) = (&self.options.target, stats.spec);
        if let Some(reason) = candidates::illegal(device, spec, self.workload.dtype) {
            return Err(reason);
        }
        let failed = |error: FormatError| error.to_string();
        let configs = KernelConfig::all(device, spec, self.workload.dtype, self.workload.n)?;
        let bare =
            |config: Option<&KernelConfig>| price(&self.workload, stats, device, config, 1.0);
        let config = configs.iter().copied().min_by(|a, b| {
            bare(Some(a)).seconds.total_cmp(&bare(Some(b)).seconds).then(
                // Of equal prices the fewest columns for nothing, then the least shared memory.
                a.padded(self.workload.n)
                    .cmp(&b.padded(self.workload.n))
                    .then(a.shared_bytes.cmp(&b.shared_bytes)),
            )
        });
        let cost = bare(config.as_ref());
        let linear = linear_cost(&self.workload, stats, device, &cost);
        let cut = Cut {
            spec,
            nnz: self.workload.nnz,
            n: self.workload.n,
            device,
            config: config.as_ref(),
            deterministic: self.options.deterministic,
        };
        let windows = candidates::windows(self.shared, stats).map_err(failed)?;
        let schedules = candidates::compare(&cut, &windows, &linear);
        let stretch = schedules.first().map_or(1.0, |schedule| schedule.stretch);
        let cost = price(&self.workload, stats, device, config.as_ref(), stretch);
        let candidate = Candidate {
            spec,
            config,
            schedule: schedules.first().copied(),
            outcome: Outcome::Lost,
            cost: Some(cost),
        };
        Ok(Priced { candidate, schedules, linear })
    }
}

fn describe(cost: &Cost) -> String {
    format!("{}, bound by {}", Seconds(cost.seconds), cost.dominant.name())
}

fn reasons<'a>(candidates: impl Iterator<Item = &'a Candidate>) -> String {
    let reasons = candidates.filter_map(|c| match &c.outcome {
        Outcome::Rejected { reason } => Some(format!("{}: {reason}", c.spec)),
        Outcome::Chosen | Outcome::Lost => None,
    });
    reasons.collect::<Vec<_>>().join("; ")
}
