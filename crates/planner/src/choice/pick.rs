//! Which of the candidates is taken, by their times and by how far these may be trusted.

use girih_formats::FormatSpec;

use super::{Choice, Chooser, Priced, candidate, describe};
use crate::cost::{Cost, Workload};
use crate::device::Unit;
use crate::explanation::Candidate;

/// By how much estimates of one format in two sizes may differ and still count as equal.
const TIE: f64 = 0.02;

/// Seconds that no measured coefficients tell apart: a product is called in as many. Those of matrices of
/// three to six rows are tens of nanoseconds apart, and were predicted in the wrong order.
const INDISTINCT: f64 = 100e-9;

/// A candidate, and why it.
pub(super) struct Picked {
    pub(super) winner: usize,
    pub(super) reason: String,
}

impl Chooser<'_> {
    /// Picks from candidates in order of their times, and says why.
    pub(super) fn pick(
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
