//! What an ordering is expected to reach, before it is computed.

use girih_formats::{CsrPattern, DType, FormatSpec};
use girih_reorder::{Method, sampled_windows};

use super::bound::{Invariants, block_size};
use crate::choice::Choice;
use crate::cost::Footprint;
use crate::explanation::Outcome;
use crate::options::{FormatChoice, PlanOptions};
use crate::ordering::Space;

/// Heights of windows that are sampled.
const HEIGHTS: [usize; 4] = [8, 16, 32, 64];

/// How many times what the sampled windows of a height pack an ordering packs that is not made for that
/// height: an assumption, not a measurement.
const OTHER_HEIGHT: f64 = 1.6;

/// What orders of a matrix may reach.
pub(super) struct Expected<'a> {
    options: &'a PlanOptions,
    dtype: DType,
    invariants: Invariants,
    natural: &'a Choice,
    /// Packed columns of windows of the sampled heights; `None` where nothing was sampled.
    packed: Option<Vec<u64>>,
    /// What caches fetch in RCM's order if that was computed, or else in the natural one.
    footprint: Footprint,
}

impl<'a> Expected<'a> {
    /// From counts alone: what no order can go below.
    pub(super) fn bound(
        options: &'a PlanOptions,
        pattern: CsrPattern<'_>,
        dtype: DType,
        natural: &'a Choice,
    ) -> Self {
        let once = natural.workload.footprint.once() as u64;
        let invariants = Invariants::of(pattern, once);
        let footprint = natural.workload.footprint;
        Self { options, dtype, invariants, natural, packed: None, footprint }
    }

    /// Takes note of RCM's order. Windows are put in RCM's order of their quotient graph, so beyond single
    /// windows theirs is like it, for better or worse.
    pub(super) fn learn(&mut self, rcm: &Choice) {
        self.footprint = rcm.workload.footprint;
    }

    /// Samples windows, for better than a bound.
    pub(super) fn sample(&mut self, pattern: CsrPattern<'_>) {
        let of_share = |share: f64, height: usize| {
            let packed = (share * pattern.nnz() as f64).ceil() as u64;
            packed.max(self.invariants.packed(height))
        };
        self.packed = sampled_windows(pattern, &HEIGHTS)
            .map(|shares| shares.iter().zip(HEIGHTS).map(|(&s, h)| of_share(s, h)).collect());
    }

    /// Seconds of the fastest format in any order at all, at the least.
    pub(super) fn least(&self) -> f64 {
        let workload = self.invariants.workload(self.options.n, self.dtype);
        let workload = workload.in_precision(self.options.precision);
        let formats = Choice::formats(self.options, self.dtype);
        let least = formats.into_iter().filter_map(|spec| {
            Choice::least(self.options, &workload, &self.invariants.stats(spec, self.dtype))
        });
        least.fold(f64::INFINITY, f64::min)
    }

    /// Seconds that the best format is expected to take in a method's order.
    pub(super) fn seconds(&self, method: Method) -> f64 {
        let formats = Choice::formats(self.options, self.dtype);
        let priced = formats.into_iter().filter_map(|spec| Some((spec, self.of(spec, method)?)));
        let priced: Vec<(FormatSpec, f64)> = priced.collect();
        let Some(&(fastest, least)) = priced.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
            return f64::INFINITY;
        };
        let csr = priced.iter().find(|(spec, _)| *spec == FormatSpec::Csr).map(|&(_, csr)| csr);
        // CSR is taken where another format's advantage is less than estimates are off.
        let doubt = Choice::doubt(self.options, fastest, self.dtype).unwrap_or(0.0);
        csr.filter(|&csr| csr <= least * (1.0 + doubt)).unwrap_or(least)
    }

    /// Formats that are expected to take less than `seconds` in a method's order, and CSR.
    pub(super) fn formats_below(&self, seconds: f64, method: Method) -> Vec<FormatSpec> {
        let mut formats = Choice::formats(self.options, self.dtype);
        if self.options.format == FormatChoice::Auto {
            formats.retain(|&spec| {
                let is_faster = || self.of(spec, method).is_some_and(|found| found < seconds);
                spec == FormatSpec::Csr || is_faster()
            });
        }
        formats
    }

    /// Seconds of a format in a method's order; `None` where the device has no kernel.
    fn of(&self, spec: FormatSpec, method: Method) -> Option<f64> {
        let (n, dtype) = (self.options.n, self.dtype);
        let scattered = match self.options.space {
            Space::Caller => self.invariants.rows_with_entries(),
            Space::Permuted => 0,
        };
        let (workload, stats) = if self.packed.is_some() {
            let packed = |rows: usize| self.packed(rows, method);
            let footprint = self.footprint(method);
            let workload = self.invariants.workload_with(n, dtype, footprint, scattered);
            (workload, self.invariants.stats_with(spec, dtype, &packed))
        } else {
            (self.invariants.workload(n, dtype), self.invariants.stats(spec, dtype))
        };
        let workload = workload.in_precision(self.options.precision);
        let seconds = Choice::least(self.options, &workload, &stats)?;
        let permutes_b = block_size(spec).is_some() && self.options.space == Space::Caller;
        let bytes = 2.0 * workload.ncols as f64 * n as f64 * dtype.size() as f64;
        let b_copy = if permutes_b { bytes / self.options.target.memory_bandwidth } else { 0.0 };
        // Tasks take as long as in the natural order.
        let same = self.natural.candidates.iter().find(|candidate| candidate.spec == spec);
        let same = same.filter(|candidate| !matches!(candidate.outcome, Outcome::Rejected { .. }));
        let imbalance = same.and_then(|c| c.cost).map_or(1.0, |cost| cost.imbalance);
        let is_row_wise = spec == FormatSpec::Csr;
        Some(seconds * if is_row_wise { imbalance } else { 1.0 } + b_copy)
    }

    /// Packed columns of windows of `rows` rows in a method's order.
    fn packed(&self, rows: usize, method: Method) -> u64 {
        let Some(packed) = &self.packed else { return self.invariants.packed(rows) };
        // Of the sampled heights the largest that is not above; single rows share nothing.
        let sampled = HEIGHTS.iter().rposition(|&height| height <= rows);
        let Some(found) = sampled.and_then(|at| packed.get(at)) else {
            return self.invariants.packed(1);
        };
        let is_made_for = matches!(
            method,
            Method::Window { window_rows } if window_rows.is_none_or(|own| own as usize == rows)
        );
        let factor = if is_made_for { 1.0 } else { OTHER_HEIGHT };
        let packed = (*found as f64 * factor) as u64;
        packed.min(self.invariants.packed(1)).max(self.invariants.packed(rows))
    }

    /// What caches fetch in a method's order: as in RCM's or the natural one, or less where windows of 64
    /// rows are expected to fetch less.
    fn footprint(&self, method: Method) -> Footprint {
        let (near, far) = (self.packed(16, method) as f64, self.packed(64, method) as f64);
        self.footprint.reordered(near, far)
    }
}
