//! How an order is searched for: what is computed, what is not, and why.

use super::common::options;
use girih_formats::{Csr, FormatSpec};
use girih_planner::explanation::{Considered, Outcome};
use girih_planner::{FormatChoice, Plan, PlanOptions, Planner, Reorder};
use girih_reorder::{Method, simple};

const WCSR: FormatSpec = FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 };

fn shuffled(a: &Csr<f32>) -> Csr<f32> {
    simple::random(a.nrows(), 1).unwrap().apply_symmetric(a).unwrap()
}

fn auto(format: FormatChoice, n: usize) -> PlanOptions {
    options("cpu", n).format(format).reorder(Reorder::Auto)
}

fn plan(a: &Csr<f32>, options: PlanOptions) -> Plan {
    Planner::new(options).plan(a).unwrap()
}

fn reason<'a>(plan: &'a Plan, name: &str) -> Option<&'a str> {
    let orderings: &[Considered] = &plan.explanation().orderings;
    match &orderings.iter().find(|order| order.name == name).unwrap().outcome {
        Outcome::Rejected { reason } => Some(reason),
        Outcome::Chosen | Outcome::Lost => None,
    }
}

fn chosen(plan: &Plan) -> &str {
    let orderings = &plan.explanation().orderings;
    let mut chosen = orderings.iter().filter(|order| order.outcome == Outcome::Chosen);
    let name = &chosen.next().unwrap().name;
    assert!(chosen.next().is_none());
    name
}

#[test]
fn where_no_order_is_faster_none_is_computed() {
    // Every row of a window has the same columns already.
    let blocks = girih_generate::block_sparse::<f32>(4096, 4096, 64, 0.2, 1).unwrap();
    let plan = plan(&blocks, auto(FormatChoice::Fixed(WCSR), 512));
    assert_eq!(chosen(&plan), "natural");
    for name in ["rcm", "window:64"] {
        assert!(reason(&plan, name).unwrap().contains("no order takes less than"), "{plan:?}");
    }
    assert!(plan.explanation().order.contains("stay"));
}

#[test]
fn shuffled_rows_are_put_into_windows() {
    let grid = shuffled(&girih_generate::laplacian_5pt(120, 120).unwrap());
    let plan = plan(&grid, auto(FormatChoice::Fixed(WCSR), 128));
    assert_eq!(chosen(&plan), "window:64", "{}", plan.explanation());
    assert!(plan.explanation().order.contains("times as fast"));
}

#[test]
fn a_window_ordering_is_not_computed_where_rcm_does() {
    // What RCM makes of a band leaves nothing to save for kernels that work row by row.
    let band = shuffled(&girih_generate::banded(30_000, 30_000, 6, 12, 1).unwrap());
    let plan = plan(&band, auto(FormatChoice::Fixed(FormatSpec::Csr), 512));
    assert_eq!(chosen(&plan), "rcm", "{}", plan.explanation());
    assert!(reason(&plan, "window:16").unwrap().contains("without it"), "{}", plan.explanation());
}

#[test]
fn the_time_for_planning_covers_orders() {
    let grid = shuffled(&girih_generate::laplacian_5pt(120, 120).unwrap());
    let planned = |planning_seconds: Option<f64>| {
        let options = auto(FormatChoice::Fixed(WCSR), 128).planning_seconds(planning_seconds);
        plan(&grid, options)
    };
    assert_eq!(chosen(&planned(Some(1e3))), chosen(&planned(None)));
    let none = planned(Some(0.0));
    assert_eq!(chosen(&none), "natural");
    for name in ["rcm", "window:64"] {
        let reason = reason(&none, name).unwrap();
        assert!(reason.contains("left of the 0.00 µs for planning"), "{reason}");
    }
    // Time for RCM, which takes milliseconds, and not for windows, which take half a second.
    let some = planned(Some(0.05));
    assert_eq!(reason(&some, "rcm"), None);
    assert!(reason(&some, "window:64").unwrap().contains("for planning"), "{}", some.explanation());
}

#[test]
fn what_is_left_after_an_order_is_for_formats() {
    // RCM takes some milliseconds by estimate, and so do the counts of formats in its order.
    let grid = shuffled(&girih_generate::laplacian_5pt(120, 120).unwrap());
    let left_out = |reorder, planning_seconds| {
        let options =
            auto(FormatChoice::Auto, 128).reorder(reorder).planning_seconds(planning_seconds);
        let plan = plan(&grid, options);
        let outcomes = plan.explanation().candidates.iter().map(|c| c.outcome.clone());
        let is_left_out = |outcome: &Outcome| matches!(outcome, Outcome::Rejected { reason } if reason.contains("for planning"));
        outcomes.filter(is_left_out).count()
    };
    let rcm = Reorder::By(Method::Rcm);
    let some = Some(0.003);
    assert_eq!(left_out(Reorder::None, some), 0);
    assert!(left_out(rcm, some) > 4);
    assert_eq!(left_out(rcm, Some(0.1)), 0);
}

#[test]
fn b_is_gathered_only_if_there_is_time_to_price_that() {
    let blocks = girih_generate::block_sparse::<f32>(1024, 1024, 16, 0.05, 1).unwrap();
    let a = shuffled(&blocks);
    let planned = |planning_seconds| {
        let bcsr = FormatSpec::Bcsr { block_rows: 16, block_cols: 16 };
        let reorder = Reorder::By(Method::Window { window_rows: None });
        let format = FormatChoice::Fixed(bcsr);
        plan(&a, auto(format, 256).reorder(reorder).planning_seconds(planning_seconds))
    };
    assert!(planned(None).b_permutation().is_some());
    assert!(planned(Some(1e3)).b_permutation().is_some());
    assert!(planned(Some(0.0)).b_permutation().is_none());
}

#[test]
fn what_is_found_is_the_same_on_any_number_of_threads() {
    let graph = shuffled(&girih_generate::rmat(11, 8, 1).unwrap());
    let grid = shuffled(&girih_generate::laplacian_5pt(60, 60).unwrap());
    let found = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut found = Vec::new();
            for device in ["cpu", "h200"] {
                for a in [&graph, &grid] {
                    let options = options(device, 256).reorder(Reorder::Auto);
                    found.push(plan(a, options).explanation().clone());
                }
            }
            found
        })
    };
    let one = found(1);
    assert!([2, 5].into_iter().all(|threads| found(threads) == one));
}
