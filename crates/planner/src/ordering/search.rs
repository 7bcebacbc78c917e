//! Which order, where the cost estimate chooses: stage after stage, each only where it is profitable.
//!
//! 1. What no order can go below ([`bound`](super::bound)): where that is close to the natural order, rows
//!    stay, for the price of a few passes over the indices.
//! 2. What orders are expected to reach, by windows that are grown in a few parts of the matrix.
//! 3. The orderings that are expected to be faster than what was found so far, the cheapest first.

use girih_formats::{Csr, Scalar};
use girih_reorder::{Method, Reordering};

use super::Considered;
use super::choose::{Chosen, PricedOrder, methods};
use super::effort::{Allowance, Step};
use super::expected::Expected;
use super::fixed::FixedOrder;
use crate::error::PlanError;
use crate::explanation::{Outcome, Seconds};
use crate::options::PlanOptions;
use crate::progress::{Stage, Watch};

/// An ordering that is not free is computed only if what was found so far takes this many times as long as is expected of
/// it. None is computed where the bound of all orders is closer than that.
const EXPECTED_GAIN: f64 = 1.05;

/// One that was computed is taken if the natural order is estimated to take this many times as long: what it cost is spent.
/// Of 26 orders that were estimated 1 to 5 % faster, 17 were, of 35 real matrices on a Zen 5.
const LEAST_GAIN: f64 = 1.01;

/// An ordering that is expected to take this many times as long as what was found is not computed, even
/// where it costs next to nothing.
const HOPELESS: f64 = 1.1;

/// The fastest of the natural order and every method's, by estimate.
pub(super) fn auto<T: Scalar>(
    options: &PlanOptions,
    a: &Csr<T>,
    natural: &Reordering,
    watch: Watch<'_>,
) -> Result<Chosen<T>, PlanError> {
    let n_orders = 1 + methods(options.format).len();
    let first = PricedOrder::of(options, a, natural, None, watch.with_order(0, n_orders))?;
    let natural_seconds = first.seconds();
    let mut considered = vec![first.considered("natural".to_owned())];
    let spent = first.choice.planning_seconds;
    let mut allowance = Allowance::new(options, a.pattern(), natural_seconds, spent);
    let found = match prospects(options, a, &first, &mut allowance, watch) {
        Ok(mut expected) => {
            orders(options, a, &mut expected, natural_seconds, &mut allowance, watch)
        }
        Err(reason) => Found {
            best: None,
            considered: methods(options.format)
                .into_iter()
                .map(|method| rejected(method, reason.clone()))
                .collect(),
        },
    };
    considered.extend(found.considered);
    let gain = |priced: &PricedOrder<T>| natural_seconds / priced.seconds().max(f64::MIN_POSITIVE);
    let (priced, reason) = match found.best.filter(|best| gain(&best.priced) >= LEAST_GAIN) {
        Some(best) => {
            // Formats that could not be faster were left out; they are in the explanation if there is time.
            let timed = PlanOptions { planning_seconds: allowance.left(), ..options.clone() };
            let full = match allowance.has(Step::pricing(a.pattern())) {
                true => Some(PricedOrder::of(&timed, a, &best.ordering, None, watch)?),
                false => None,
            };
            let full = full.filter(|full| full.seconds() <= best.priced.seconds());
            let full = full.unwrap_or(best.priced);
            let at = 1 + best.at;
            considered[at] = full.considered(considered[at].name.clone());
            considered[at].outcome = Outcome::Chosen;
            let (name, gain) = (&considered[at].name, gain(&full));
            let reason = format!("rows are in {name} order, estimated {gain:.2} times as fast");
            (full, reason)
        }
        None => {
            considered[0].outcome = Outcome::Chosen;
            let least = 100.0 * (LEAST_GAIN - 1.0);
            let reason = format!(
                "rows stay in their order: no ordering that was computed is estimated {least:.0} % faster"
            );
            (first, reason)
        }
    };
    let PricedOrder { arranged, choice, .. } = priced;
    Ok(Chosen { arranged, choice, considered, reason })
}

/// What orders are expected to reach.
///
/// # Errors
/// Why none is to be computed.
fn prospects<'a, T: Scalar>(
    options: &'a PlanOptions,
    a: &Csr<T>,
    first: &'a PricedOrder<T>,
    allowance: &mut Allowance,
    watch: Watch<'_>,
) -> Result<Expected<'a>, String> {
    let (pattern, seconds) = (a.pattern(), first.seconds());
    let bounded = allowance.spend(Step::bound(pattern), 0.0);
    bounded.map_err(|reason| format!("no bound of all orders: {reason}"))?;
    watch.stage(Stage::Bound);
    let mut expected = Expected::bound(options, pattern, T::DTYPE, &first.choice);
    let least = expected.least();
    if seconds < least * EXPECTED_GAIN {
        return Err(format!(
            "no order takes less than {}, and the natural one takes {}",
            Seconds(least),
            Seconds(seconds)
        ));
    }
    let sampled = allowance.spend(Step::sample(pattern), 0.0);
    sampled.map_err(|reason| format!("no sample of windows: {reason}"))?;
    watch.stage(Stage::Sample);
    expected.sample(pattern);
    Ok(expected)
}

/// The fastest of the orderings that were computed, and what became of all.
struct Found<T: Scalar> {
    best: Option<Best<T>>,
    considered: Vec<Considered>,
}

struct Best<T: Scalar> {
    priced: PricedOrder<T>,
    ordering: Reordering,
    at: usize,
}

fn orders<T: Scalar>(
    options: &PlanOptions,
    a: &Csr<T>,
    expected: &mut Expected<'_>,
    natural_seconds: f64,
    allowance: &mut Allowance,
    watch: Watch<'_>,
) -> Found<T> {
    let methods = methods(options.format);
    let considered = methods.iter().map(|&method| rejected(method, String::new())).collect();
    let mut found = Found { best: None, considered };
    let mut least = natural_seconds;
    let n_orders = 1 + methods.len();
    for (tried, (at, method)) in cheapest_first(methods).into_iter().enumerate() {
        let watch = watch.with_order(1 + tried, n_orders);
        let seconds = expected.seconds(method);
        let without = |reason: String| {
            format!("expected {}, {} without it{reason}", Seconds(seconds), Seconds(least))
        };
        if seconds > least * HOPELESS {
            found.considered[at] = rejected(method, without(String::new()));
            continue;
        }
        let saved = if least >= seconds * EXPECTED_GAIN { least - seconds } else { 0.0 };
        let step = Step::order(method, a.pattern());
        let may = allowance.spend(step, saved).map_err(|reason| without(format!(": {reason}")));
        if let Err(reason) = may {
            found.considered[at] = rejected(method, reason);
            continue;
        }
        let computed = FixedOrder::by(method, options)
            .compute(a.pattern(), watch)
            .map_err(PlanError::from)
            .and_then(|ordering| {
                let specs = expected.formats_below(least, method);
                let options = PlanOptions { planning_seconds: allowance.left(), ..options.clone() };
                Ok((PricedOrder::of(&options, a, &ordering, Some(&specs), watch)?, ordering))
            });
        match computed {
            Ok((priced, ordering)) => {
                // The first count was estimated with the order.
                let counted = priced.choice.counting_seconds;
                allowance.take((counted - Step::pricing(a.pattern()).0).max(0.0));
                allowance.take_from_limit(priced.choice.planning_seconds - counted);
                found.considered[at] = priced.considered(method.to_string());
                if method == Method::Rcm {
                    expected.learn(&priced.choice);
                }
                if priced.seconds() < least {
                    least = priced.seconds();
                    found.best = Some(Best { priced, ordering, at });
                }
            }
            Err(error) => found.considered[at] = rejected(method, error.to_string()),
        }
    }
    found
}

/// RCM, and then windows from the highest to the lowest, with their positions: those of 64 rows are as good
/// for kernels that work row by row, and an order for the lower ones has to be faster still.
fn cheapest_first(methods: Vec<Method>) -> Vec<(usize, Method)> {
    let mut methods: Vec<(usize, Method)> = methods.into_iter().enumerate().collect();
    methods.sort_by_key(|(_, method)| match method {
        Method::Window { window_rows } => (1, std::cmp::Reverse(*window_rows)),
        _ => (0, std::cmp::Reverse(None)),
    });
    methods
}

fn rejected(method: Method, reason: String) -> Considered {
    Considered {
        name: method.to_string(),
        outcome: Outcome::Rejected { reason },
        spec: None,
        permutes_b: false,
        packed_cols: 0,
        seconds: 0.0,
    }
}
