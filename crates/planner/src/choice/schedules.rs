//! Schedules for the candidates that may still win.

use girih_formats::FormatSpec;

use super::constraints::{Budget, Need};
use super::{Chooser, Priced};
use crate::candidates::{Compared, Cut, HybridWindows, ScheduleOption, compare, counted_windows};
use crate::cost::{Cost, Part, linear_cost, parts, price};
use crate::explanation::{Candidate, Outcome};
use crate::options::FormatChoice;
use crate::progress::Stage;
use crate::schedule::Windows;

/// A format that would take this many times as long as the best, were its work shared out evenly, is not
/// scheduled: it has lost, also where estimates are [uncalibrated](super::UNCALIBRATED).
const HOPELESS: f64 = 2.0;

impl Chooser<'_> {
    /// Schedules the candidates that may still win, the most promising first.
    pub(super) fn schedule_hopeful(
        &self,
        all: &mut [Result<Priced, Box<Candidate>>],
        budget: &mut Budget,
    ) {
        let seconds = |one: &Result<Priced, Box<Candidate>>| {
            one.as_ref().ok().and_then(|priced| priced.candidate.cost).map(|cost| cost.seconds)
        };
        let mut order: Vec<(usize, f64)> =
            (0..all.len()).filter_map(|i| Some((i, seconds(&all[i])?))).collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut best = f64::INFINITY;
        for (i, bare) in self.watch.each(Stage::Schedules, order.into_iter()) {
            let Ok(priced) = &mut all[i] else { continue };
            let is_csr = priced.candidate.spec == FormatSpec::Csr;
            if bare > best * HOPELESS && !is_csr {
                continue;
            }
            if let Err(reason) = self.schedule(priced, budget) {
                priced.candidate.outcome = Outcome::Rejected { reason };
                all[i] = Err(Box::new(priced.candidate.clone()));
                continue;
            }
            best = seconds(&all[i]).map_or(best, |seconds| best.min(seconds));
        }
    }

    /// Compares the schedules of a format, and prices it with the best.
    ///
    /// # Errors
    /// If its windows cannot be counted, or there is no time left for a format that is not needed: CSR is,
    /// and so is a requested format.
    pub(super) fn schedule(&self, priced: &mut Priced, budget: &mut Budget) -> Result<(), String> {
        if let FormatSpec::Hybrid { .. } = priced.stats.spec {
            return self.schedule_parts(priced, budget);
        }
        let (device, stats) = (&self.options.target, &priced.stats);
        let cut = self.cut(stats.spec, self.workload.nnz, self.options.deterministic);
        let windows = counted_windows(self.shared, stats).map_err(|error| error.to_string())?;
        budget.replay(cut.tasks_to_replay(&windows), self.need(stats.spec))?;
        let compared = compare(&cut, &windows, &priced.linear);
        if let Some(Compared { option, config }) = compared.first() {
            let cost = price(&self.workload, stats, device, config.as_ref(), option.stretch);
            priced.candidate.cost = Some(cost);
            priced.candidate.schedule = Some(*option);
            priced.candidate.config.clone_from(config);
        }
        priced.schedules = compared.into_iter().map(|compared| compared.option).collect();
        Ok(())
    }

    /// What schedules of a format are cut for.
    fn cut(&self, spec: FormatSpec, nnz: usize, deterministic: bool) -> Cut<'_> {
        Cut {
            spec,
            dtype: self.workload.dtype,
            ncols: self.workload.ncols,
            nnz,
            n: self.workload.n,
            device: &self.options.target,
            kernels: &*self.options.kernels,
            deterministic,
        }
    }

    fn need(&self, spec: FormatSpec) -> Need {
        match (self.options.format, spec) {
            (FormatChoice::Fixed(_), _) | (_, FormatSpec::Csr) => Need::Always,
            (FormatChoice::Auto, _) => Need::IfTime,
        }
    }

    /// Compares the schedules of a hybrid's packed windows, and prices it with the best and with that of its rows.
    /// Each part is replayed by itself, as its kernel runs by itself.
    fn schedule_parts(&self, priced: &mut Priced, budget: &mut Budget) -> Result<(), String> {
        let (device, stats) = (&self.options.target, &priced.stats);
        let counted = HybridWindows::of(self.shared, stats.spec).map_err(|e| e.to_string())?;
        let (mut costs, mut schedules, mut config) = (Vec::new(), Vec::new(), None);
        for Part { workload, stats: part } in parts(&self.workload, stats) {
            // Parts of a window are added up in order: its rows' kernel knows no other way.
            let cut = self.cut(part.spec, workload.nnz, true);
            let is_packed = part.spec != FormatSpec::Csr;
            let windows = if is_packed { counted.packed() } else { counted.rows() };
            budget.replay(cut.tasks_to_replay(&windows), self.need(stats.spec))?;
            let bare = cut.config(windows.n_windows() as u64, &windows);
            let bare = price(&workload, &part, device, bare.as_ref(), 1.0);
            let linear = linear_cost(&workload, &part, device, &bare);
            let compared = compare(&cut, &windows, &linear);
            let Some(best) = compared.first() else { continue };
            let (one, stretch) = (best.config.as_ref(), best.option.stretch);
            costs.push(price(&workload, &part, device, one, stretch));
            if is_packed {
                config.clone_from(&best.config);
                schedules = compared.into_iter().map(|compared| compared.option).collect();
            }
        }
        // Rows are cut by their kernel, whatever the schedule.
        let beside = stats.row_windows;
        match schedules.is_empty() {
            true => schedules.push(ScheduleOption::whole_windows(beside)),
            false => schedules.iter_mut().for_each(|option| *option = option.beside(beside)),
        }
        priced.candidate.cost = Cost::of_parts(costs, stats).or(priced.candidate.cost);
        priced.candidate.schedule = schedules.first().copied();
        priced.candidate.config = config;
        priced.schedules = schedules;
        Ok(())
    }
}
