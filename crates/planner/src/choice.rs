//! Which format a plan uses.

use girih_formats::stats::FormatStats;
use girih_formats::{CsrPattern, DType, FormatError, FormatSpec, RowLayout};

use crate::cost::{Cost, NEAR_ROWS, Problem, mean_span, multiplied};
use crate::explain::{Bytes, Seconds};
use crate::{Candidate, FormatChoice, Outcome, PlanError, PlanOptions};

/// The formats considered when the choice is free. Of equal times the first wins.
const CANDIDATES: [FormatSpec; 10] = [
    FormatSpec::Csr,
    FormatSpec::Bcsr { block_rows: 8, block_cols: 8 },
    FormatSpec::Bcsr { block_rows: 16, block_cols: 16 },
    FormatSpec::Bcsr { block_rows: 64, block_cols: 64 },
    FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 },
    FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
    FormatSpec::Wcsr { window_rows: 64, pad_cols: 16 },
    FormatSpec::BlockedEll { block_size: 16 },
    FormatSpec::BMat { pattern_only: false },
    FormatSpec::TwoFour,
];

/// A format, and why this one.
pub(crate) struct Choice {
    pub(crate) spec: FormatSpec,
    pub(crate) reason: String,
    pub(crate) candidates: Vec<Candidate>,
}

impl Choice {
    /// Makes the choice that `options` asks for, from counts alone: nothing is built.
    pub(crate) fn of(
        options: &PlanOptions,
        pattern: CsrPattern<'_>,
        dtype: DType,
        layout: &RowLayout,
    ) -> Result<Self, PlanError> {
        let near = FormatSpec::Wcsr { window_rows: NEAR_ROWS, pad_cols: 1 };
        let near_layout = layout.with_window_rows(NEAR_ROWS)?;
        let near_cols = FormatStats::of(pattern, near, &near_layout, dtype)?.gathered_cols;
        let (span, device) = (mean_span(pattern), &options.target);
        let problem = Problem { pattern, span, near_cols, n: options.n, dtype, device };
        match options.format {
            FormatChoice::Fixed(spec) => admit(options, &problem, layout, spec),
            FormatChoice::Auto => choose(options, &problem, layout),
        }
    }
}

/// Checks the one format that was asked for.
fn admit(
    options: &PlanOptions,
    problem: &Problem<'_>,
    layout: &RowLayout,
    spec: FormatSpec,
) -> Result<Choice, PlanError> {
    let stats = count(problem, layout, spec)?;
    if let Some(reason) = objection(options, problem, &stats) {
        return Err(PlanError::Refused { spec, reason });
    }
    let cost = Cost::estimate(problem, &stats);
    let candidate = Candidate { spec, outcome: Outcome::Chosen, cost: Some(cost) };
    let reason = format!("{spec} was asked for: {}", describe(&cost));
    Ok(Choice { spec, reason, candidates: vec![candidate] })
}

/// Prices every candidate and takes the fastest.
fn choose(
    options: &PlanOptions,
    problem: &Problem<'_>,
    layout: &RowLayout,
) -> Result<Choice, PlanError> {
    let mut candidates = CANDIDATES.map(|spec| candidate(options, problem, layout, spec)).to_vec();
    let mut order: Vec<(usize, Cost)> = candidates
        .iter()
        .enumerate()
        .filter(|(_, c)| c.outcome == Outcome::Lost)
        .filter_map(|(i, c)| c.cost.map(|cost| (i, cost)))
        .collect();
    order.sort_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds));
    let Some(&(winner, cost)) = order.first() else {
        return Err(PlanError::NothingFits { reasons: reasons(&candidates) });
    };
    let spec = candidates[winner].spec;
    candidates[winner].outcome = Outcome::Chosen;
    let mut reason =
        format!("{spec} is estimated fastest for n = {}: {}", problem.n, describe(&cost));
    if let Some(&(second, next)) = order.get(1) {
        let factor = next.seconds / cost.seconds.max(f64::MIN_POSITIVE);
        let second = candidates[second].spec;
        reason += &format!("; next is {second}, {factor:.2} times as long");
    }
    Ok(Choice { spec, reason, candidates })
}

/// A format with its price, not chosen yet.
fn candidate(
    options: &PlanOptions,
    problem: &Problem<'_>,
    layout: &RowLayout,
    spec: FormatSpec,
) -> Candidate {
    match count(problem, layout, spec) {
        Ok(stats) => {
            let outcome = match objection(options, problem, &stats) {
                Some(reason) => Outcome::Rejected { reason },
                None => Outcome::Lost,
            };
            Candidate { spec, outcome, cost: Some(Cost::estimate(problem, &stats)) }
        }
        Err(error) => {
            let outcome = Outcome::Rejected { reason: error.to_string() };
            Candidate { spec, outcome, cost: None }
        }
    }
}

fn count(
    problem: &Problem<'_>,
    layout: &RowLayout,
    spec: FormatSpec,
) -> Result<FormatStats, FormatError> {
    let layout = layout.with_window_rows(spec.window_rows())?;
    FormatStats::of(problem.pattern, spec, &layout, problem.dtype)
}

/// Why the options rule a format out, and what to do; `None` if they don't.
fn objection(options: &PlanOptions, problem: &Problem<'_>, stats: &FormatStats) -> Option<String> {
    let fill_in = multiplied(problem.pattern, stats) - problem.pattern.nnz() as u64;
    if options.exact_nonfinite && fill_in > 0 {
        return Some(format!(
            "{fill_in} fill-in zeros would let NaN and Inf reach more rows; csr and bmat have none"
        ));
    }
    let needed = stats.bytes;
    options.memory_limit.filter(|&limit| needed > limit).map(|limit| {
        let (n, l) = (Bytes(needed), Bytes(limit));
        format!("its tiles need {needed} bytes ({n}) and the limit is {limit} ({l})")
    })
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
