//! Which order, by the estimates of what can be made of it.

use girih_formats::stats::SharedStats;
use girih_formats::{BMat, Csr, FormatSpec, Scalar};
use girih_reorder::{Method, Permutation, Reordering};

use super::bound::block_size;
use super::effort::Step;
use super::fixed::{FixedOrder, for_format};
use super::placement::{Arranged, Placement};
use super::search::auto;
use super::{Considered, Reorder, Space};
use crate::choice::Choice;
use crate::cost::Cost;
use crate::error::PlanError;
use crate::explanation::{Outcome, Seconds};
use crate::options::{FormatChoice, PlanOptions};
use crate::progress::{Stage, Watch};

/// Heights of windows that the window ordering is considered for where the format is free.
pub(super) const WINDOW_ROWS: [u32; 2] = [16, 64];

/// The order of a plan, its format, and why.
pub(crate) struct Chosen<T: Scalar> {
    pub(crate) arranged: Arranged<T>,
    pub(crate) choice: Choice,
    /// What was priced; empty where nothing was to be chosen.
    pub(crate) considered: Vec<Considered>,
    /// In one sentence; empty where no order was requested.
    pub(crate) reason: String,
}

/// Chooses the order and the format that `options` ask for; `given` is for [`Reorder::Given`].
///
/// An ordering that is named costs what its method does; [`Reorder::Auto`] computes those that are
/// predicted to be profitable. Pricing one costs O(nnz) for every format.
pub(crate) fn choose<T: Scalar>(
    options: &PlanOptions,
    a: &Csr<T>,
    given: Option<&Reordering>,
    watch: Watch<'_>,
) -> Result<Chosen<T>, PlanError> {
    let natural = Reordering::natural(a.nrows())?;
    let only = |options: &PlanOptions, ordering: &Reordering, reason: String| {
        let PricedOrder { arranged, choice, .. } =
            PricedOrder::of(options, a, ordering, None, watch)?;
        Ok(Chosen { arranged, choice, considered: Vec::new(), reason })
    };
    match (options.reorder, given) {
        (_, Some(given)) => only(options, given, "rows are in the order that was given".to_owned()),
        (Reorder::Given, None) => Err(PlanError::Options {
            option: "reorder",
            reason:
                "the options call for a given order, but none was given; `plan_reordered` takes one"
                    .to_owned(),
        }),
        (Reorder::None, None) => only(options, &natural, String::new()),
        (Reorder::By(method), None) => {
            let fixed = FixedOrder::by(method, options);
            let ordering = fixed.compute(a.pattern(), watch)?;
            let method = fixed.method();
            let left = Step::order(method, a.pattern()).before(options);
            only(&left, &ordering, format!("rows are in the requested order, {method}"))
        }
        (Reorder::Auto, None) => auto(options, a, &natural, watch),
    }
}

/// The orderings that are considered.
pub(super) fn methods(format: FormatChoice) -> Vec<Method> {
    let windows = match format {
        FormatChoice::Fixed(_) => vec![for_format(Method::Window { window_rows: None }, format)],
        FormatChoice::Auto => {
            WINDOW_ROWS.map(|rows| Method::Window { window_rows: Some(rows) }).to_vec()
        }
    };
    [Method::Rcm].into_iter().chain(windows).collect()
}

/// An order with the best that can be made of it.
pub(super) struct PricedOrder<T: Scalar> {
    pub(super) arranged: Arranged<T>,
    pub(super) choice: Choice,
    permutes_b: bool,
    /// Rows of B that windows of 16 rows fetch.
    packed_cols: u64,
}

impl<T: Scalar> PricedOrder<T> {
    /// In the formats that the options leave to choose from, or only in some of them.
    pub(super) fn of(
        options: &PlanOptions,
        a: &Csr<T>,
        ordering: &Reordering,
        specs: Option<&[FormatSpec]>,
        watch: Watch<'_>,
    ) -> Result<Self, PlanError> {
        if options.space == Space::Permuted {
            watch.stage(Stage::Move);
        }
        let arranged = Arranged::new(a, ordering, options.space)?;
        let shared = SharedStats::new(arranged.matrix.pattern(), &arranged.layout);
        let choice = match specs {
            Some(specs) => Choice::among(options, &shared, T::DTYPE, specs, watch)?,
            None => Choice::of(options, &shared, T::DTYPE, watch)?,
        };
        let counts = shared.unions(BMat::<T>::WINDOW_ROWS, 1)?;
        let packed_cols = counts.iter().map(|&count| u64::from(count)).sum();
        drop(shared);
        let mut priced = Self { arranged, choice, permutes_b: false, packed_cols };
        if priced.arranged.placement != Placement::default() {
            priced.choice.planning_seconds += Step::moving(a.pattern()).0;
        }
        match (options.space, ordering.cols()) {
            (Space::Caller, Some(cols)) => priced.or_gathering(options, a, (ordering, cols), watch),
            _ => Ok(priced),
        }
    }

    /// The same with blocks of columns in an order too, where that is faster even with the
    /// copy of B that it takes. Skipped if no time is left to find out.
    fn or_gathering(
        mut self,
        options: &PlanOptions,
        a: &Csr<T>,
        (ordering, cols): (&Reordering, &Permutation),
        watch: Watch<'_>,
    ) -> Result<Self, PlanError> {
        let specs = self.choice.candidates.iter().map(|c| c.spec);
        let specs: Vec<FormatSpec> = specs.filter(|&spec| block_size(spec).is_some()).collect();
        if specs.is_empty() || cols.is_identity() {
            return Ok(self);
        }
        let (moving, pricing) = (Step::moving(a.pattern()).0, Step::pricing(a.pattern()).0);
        let mut spent = self.choice.planning_seconds + moving;
        let has_time = |spent: f64| options.planning_seconds.is_none_or(|limit| spent <= limit);
        if !has_time(spent + pricing) {
            return Ok(self);
        }
        watch.stage(Stage::Move);
        let arranged = Arranged::with_columns(a, ordering, cols)?;
        let mut won = false;
        for spec in watch.each(Stage::BPermutation, specs.into_iter()) {
            // Counts of the moved matrix are shared with nothing.
            if !has_time(spent + pricing) {
                continue;
            }
            spent += pricing;
            let fixed = PlanOptions { format: FormatChoice::Fixed(spec), ..options.clone() };
            // What can't be had in this order either is no candidate.
            let Ok(choice) = choice(&fixed, &arranged) else { continue };
            spent += choice.planning_seconds - choice.counting_seconds;
            let Some(cost) = chosen_cost(&choice) else { continue };
            let cost = with_gather(cost, options, &arranged.matrix);
            if cost.seconds < self.seconds() {
                choose_instead(&mut self.choice, choice, cost);
                won = true;
            }
        }
        if won {
            (self.arranged, self.permutes_b) = (arranged, true);
        }
        self.choice.planning_seconds = spent;
        Ok(self)
    }

    pub(super) fn seconds(&self) -> f64 {
        chosen_cost(&self.choice).map_or(f64::INFINITY, |cost| cost.seconds)
    }

    pub(super) fn considered(&self, name: String) -> Considered {
        Considered {
            name,
            outcome: Outcome::Lost,
            spec: Some(self.choice.spec),
            permutes_b: self.permutes_b,
            packed_cols: self.packed_cols,
            seconds: self.seconds(),
        }
    }
}

fn choice<T: Scalar>(options: &PlanOptions, arranged: &Arranged<T>) -> Result<Choice, PlanError> {
    let shared = SharedStats::new(arranged.matrix.pattern(), &arranged.layout);
    Choice::of(options, &shared, T::DTYPE, Watch::nobody())
}

/// The estimate for the format that was chosen.
fn chosen_cost(choice: &Choice) -> Option<Cost> {
    choice.candidates.iter().find(|c| c.outcome == Outcome::Chosen).and_then(|c| c.cost)
}

/// Replaces the chosen format by the one of `permuted`, at its cost with the copy of B.
fn choose_instead(choice: &mut Choice, permuted: Choice, cost: Cost) {
    let spec = permuted.spec;
    for candidate in &mut choice.candidates {
        if candidate.spec == spec {
            candidate.outcome = Outcome::Chosen;
            candidate.cost = Some(cost);
            (candidate.config, candidate.schedule) =
                (permuted.config.clone(), permuted.schedules.first().copied());
        } else if candidate.outcome == Outcome::Chosen {
            candidate.outcome = Outcome::Lost;
        }
    }
    let reason = format!(
        "{spec} is estimated fastest with columns in the order too: {}, the copy of B included",
        Seconds(cost.seconds)
    );
    let candidates = std::mem::take(&mut choice.candidates);
    *choice = Choice { reason, candidates, ..permuted };
}

/// The cost with B read and written once more.
fn with_gather<T: Scalar>(cost: Cost, options: &PlanOptions, a: &Csr<T>) -> Cost {
    let bytes = 2.0 * a.ncols() as f64 * options.n as f64 * size_of::<T>() as f64;
    let seconds = bytes / options.target.memory_bandwidth;
    Cost {
        b_memory_bytes: cost.b_memory_bytes + bytes,
        memory_seconds: cost.memory_seconds + seconds,
        seconds: cost.seconds + seconds,
        ..cost
    }
}
