//! Schedules for the candidates that may still win.

use girih_formats::FormatSpec;

use super::constraints::{Budget, Need};
use super::{Chooser, Priced};
use crate::candidates::{Compared, Cut, compare, counted_windows};
use crate::cost::price;
use crate::explanation::{Candidate, Outcome};
use crate::options::FormatChoice;
use crate::progress::Stage;

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
        let (device, stats) = (&self.options.target, &priced.stats);
        let cut = Cut {
            spec: stats.spec,
            dtype: self.workload.dtype,
            ncols: self.workload.ncols,
            nnz: self.workload.nnz,
            n: self.workload.n,
            device,
            kernels: &*self.options.kernels,
            deterministic: self.options.deterministic,
        };
        let windows = counted_windows(self.shared, stats).map_err(|error| error.to_string())?;
        let need = match (self.options.format, stats.spec) {
            (FormatChoice::Fixed(_), _) | (_, FormatSpec::Csr) => Need::Always,
            (FormatChoice::Auto, _) => Need::IfTime,
        };
        budget.replay(cut.tasks_to_replay(&windows), need)?;
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
}
