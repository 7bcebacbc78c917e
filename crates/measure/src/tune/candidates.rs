//! The candidates to time, by the planner's estimates.

use std::fmt::{self, Display};

use girih::planner::explanation::Outcome;
use girih::planner::progress::Progress;
use girih::planner::{Op, Reorder, Space};
use girih::reorder::Reordering;
use girih::{Csr, DeviceSpec, FormatChoice, FormatSpec, Plan, PlanOptions, Planner, Scalar};

use super::config::TuneConfig;
use crate::{MeasureError, is_unsupported};

/// A plan that may be the fastest.
pub(super) struct Candidate {
    pub(super) plan: Plan,
    /// Whether rows are in the order of the plan that is tuned, which is not the matrix's.
    pub(super) reordered: bool,
}

/// The format, and the order if the plan has one.
impl Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        name(f, self.plan.spec(), self.reordered)
    }
}

fn name(f: &mut impl fmt::Write, spec: FormatSpec, reordered: bool) -> fmt::Result {
    let order = if reordered { ", rows reordered" } else { "" };
    write!(f, "{spec}{order}")
}

/// The candidates, the plan's own format and order first, then by their estimates.
pub(super) struct Candidates {
    pub(super) candidates: Vec<Candidate>,
    /// Those that cannot be planned, and why.
    pub(super) skipped: Vec<(String, String)>,
}

/// Finds the candidates: the plan's own, and those with the least estimates among all formats in the orders that
/// the plan allows.
///
/// # Errors
/// What the planner fails with, other than that a format does not suit.
pub(super) fn find<T: Scalar>(
    plan: &Plan,
    a: &Csr<T>,
    (n, target): (usize, DeviceSpec),
    config: &TuneConfig,
    hears: &(dyn Fn(Progress) + Send + Sync),
) -> Result<Candidates, MeasureError> {
    let kernels = girih::kernels_for(&target);
    let memory_limit = config.memory_limit.or(plan.options().memory_limit);
    let mut options = plan.options().clone();
    options.n = n;
    options.target = target;
    options.kernels = kernels;
    options.memory_limit = memory_limit;
    options.reorder = Reorder::None;
    // The matrix is the plan's, transposed if the plan is of a transpose.
    options.op = Op::None;
    let orders = orders(plan);
    let own_order = orders.len() - 1;
    // Every format in every order, with its estimate.
    let mut found: Vec<(f64, usize, FormatSpec)> = Vec::new();
    for (at, order) in orders.iter().enumerate() {
        let chosen = make(&options, FormatChoice::Auto, a, order.as_ref(), hears)
            .map_err(|source| planning("the matrix", source))?;
        let priced = chosen.explanation().candidates.iter();
        let priced = priced.filter(|c| !matches!(c.outcome, Outcome::Rejected { .. }));
        found.extend(priced.filter_map(|c| Some((c.cost?.seconds, at, c.spec))));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let own = (own_order, plan.spec());
    let others = found.into_iter().map(|(_, at, spec)| (at, spec)).filter(|&other| other != own);
    let wanted = [own].into_iter().chain(others.take(config.top));

    let mut candidates = Candidates { candidates: Vec::new(), skipped: Vec::new() };
    for (at, spec) in wanted {
        let order = orders[at].as_ref();
        match make(&options, FormatChoice::Fixed(spec), a, order, hears) {
            Ok(plan) => candidates.candidates.push(Candidate { plan, reordered: order.is_some() }),
            Err(error) if is_unsupported(&error) => {
                let mut what = String::new();
                let _ = name(&mut what, spec, order.is_some());
                candidates.skipped.push((what, error.to_string()));
            }
            Err(source) => return Err(planning(&spec.to_string(), source)),
        }
    }
    Ok(candidates)
}

/// The orders that candidates may have, the plan's own last; `None` is the matrix's.
fn orders(plan: &Plan) -> Vec<Option<Reordering>> {
    let rows = plan.row_permutation();
    let cols = plan.col_permutation().cloned();
    if rows.is_identity() && cols.is_none() {
        return vec![None];
    }
    match plan.space() {
        // Callers keep their vectors in this order.
        Space::Permuted => {
            vec![Some(Reordering::new(&rows, cols))]
        }
        Space::Caller => {
            // The windows of an ordering, which may end early, and not its permutation alone.
            let order = Reordering::of_layout(plan.tiling().layout().clone(), cols);
            vec![None, Some(order)]
        }
    }
}

fn make<T: Scalar>(
    options: &PlanOptions,
    format: FormatChoice,
    a: &Csr<T>,
    order: Option<&Reordering>,
    hears: &(dyn Fn(Progress) + Send + Sync),
) -> Result<Plan, girih::PlanError> {
    let mut options = options.clone();
    options.format = format;
    let planner = Planner::new(options);
    let planner = planner.observe(hears);
    match order {
        Some(order) => planner.plan_reordered(a, order),
        None => planner.plan(a),
    }
}

pub(super) fn planning(what: &str, source: girih::PlanError) -> MeasureError {
    MeasureError::Plan { what: what.to_owned(), source }
}
