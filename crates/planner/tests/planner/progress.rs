//! What a planner tells of what it does.

use std::cell::RefCell;
use std::thread;

use super::common::options;
use girih_formats::{Csr, FormatSpec};
use girih_planner::progress::{Progress, Share, Stage};
use girih_planner::{FormatChoice, Plan, PlanOptions, Planner, Reorder, Space};
use girih_reorder::{Method, simple};

const BCSR: FormatSpec = FormatSpec::Bcsr { block_rows: 16, block_cols: 16 };
const WCSR: FormatSpec = FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 };

const WINDOWS: Method = Method::Window { window_rows: None };

fn shuffled(a: &Csr<f32>) -> Csr<f32> {
    simple::random(a.nrows(), 1).unwrap().apply_symmetric(a).unwrap()
}

fn grid() -> Csr<f32> {
    shuffled(&girih_generate::laplacian_5pt(60, 60).unwrap())
}

/// A plan, and what was reported during planning; checks what holds of any planning.
fn observed(a: &Csr<f32>, options: PlanOptions) -> (Plan, Vec<Progress>) {
    let here = thread::current().id();
    let heard = RefCell::new(Vec::new());
    let observer = |progress: Progress| {
        assert_eq!(thread::current().id(), here, "{progress}");
        heard.borrow_mut().push(progress);
    };
    let plan = Planner::new(options).observe(&observer).plan(a).unwrap();
    let heard = heard.into_inner();
    check(&heard);
    (plan, heard)
}

/// Shares never fall within a stage and end at its total; orders never fall; calls are few.
fn check(heard: &[Progress]) {
    assert!(heard.len() < 500, "{}", heard.len());
    for stage in heard.chunk_by(|a, b| a.stage == b.stage) {
        let shares: Vec<Share> = stage.iter().filter_map(|progress| progress.share).collect();
        assert!(shares.windows(2).all(|pair| pair[0].done <= pair[1].done), "{stage:?}");
        assert!(shares.windows(2).all(|pair| pair[0].total == pair[1].total), "{stage:?}");
        assert!(shares.last().is_none_or(|last| last.done == last.total), "{stage:?}");
        assert!(stage.iter().all(|progress| progress.order == stage[0].order), "{stage:?}");
    }
    let orders: Vec<Share> = heard.iter().filter_map(|progress| progress.order).collect();
    assert!(orders.windows(2).all(|pair| pair[0].done <= pair[1].done), "{orders:?}");
    assert!(orders.iter().all(|order| order.done < order.total), "{orders:?}");
}

/// The stages, each as often as it begins.
fn stages(heard: &[Progress]) -> Vec<Stage> {
    heard.chunk_by(|a, b| a.stage == b.stage).map(|stage| stage[0].stage).collect()
}

#[test]
fn a_format_is_chosen_in_stages() {
    use Stage::{Formats, Schedules, SlotMap, Statistics, Tasks, Tiles};

    let all = options("cpu", 64).keep_slot_map(true);
    let (plan, heard) = observed(&grid(), all);
    assert_eq!(stages(&heard), [Statistics, Formats, Schedules, Tiles, SlotMap, Tasks]);
    // Every format is counted, and nothing says of which order: there is one only.
    let formats = heard.iter().filter(|progress| progress.stage == Formats);
    assert_eq!(formats.count(), plan.explanation().candidates.len() + 1);
    assert!(heard.iter().all(|progress| progress.order.is_none()), "{heard:?}");
    let fixed = options("cpu", 64).format(WCSR);
    let (_, heard) = observed(&grid(), fixed);
    assert_eq!(stages(&heard), [Statistics, Formats, Schedules, Tiles, Tasks]);
}

#[test]
fn a_search_for_an_order_tells_of_each() {
    use Stage::{Bound, Formats, Order, Sample, Schedules, Statistics, Tasks, Tiles};

    let format = FormatChoice::Fixed(WCSR);
    let search = options("cpu", 128).format(format).reorder(Reorder::Auto);
    let (_, heard) = observed(&grid(), search);
    let windows = Order(Method::Window { window_rows: Some(64) });
    let expected = [
        [Statistics, Formats, Schedules].as_slice(),
        &[Bound, Sample],
        &[Order(Method::Rcm), Statistics, Formats, Schedules],
        &[windows, Statistics, Formats, Schedules],
        &[Statistics, Formats, Schedules],
        &[Tiles, Tasks],
    ];
    assert_eq!(stages(&heard), expected.concat());
    let order = |stage| heard.iter().find(|progress| progress.stage == stage).unwrap().order;
    assert_eq!(order(Statistics), Some(Share { done: 0, total: 3 }));
    assert_eq!(order(Order(Method::Rcm)), Some(Share { done: 1, total: 3 }));
    assert_eq!(order(windows), Some(Share { done: 2, total: 3 }));
    assert_eq!([order(Bound), order(Tiles)], [None, None]);
}

#[test]
fn an_order_of_rows_and_columns_is_told_of_too() {
    use Stage::{BPermutation, Blocks, Formats, Move, Schedules, Statistics, Tasks, Tiles};

    let a = shuffled(&girih_generate::block_sparse(512, 512, 16, 0.05, 1).unwrap());
    let format = FormatChoice::Fixed(BCSR);
    let by_windows = options("cpu", 256).format(format).reorder(WINDOWS);
    let (_, heard) = observed(&a, by_windows.clone());
    let blocks = Blocks { rows: 16, cols: 16 };
    let expected = [blocks, Statistics, Formats, Schedules, Move, BPermutation, Tiles, Tasks];
    assert_eq!(stages(&heard), expected);
    let (_, heard) = observed(&a, by_windows.space(Space::Permuted));
    let windows = Stage::Order(Method::Window { window_rows: Some(16) });
    assert_eq!(stages(&heard), [windows, Move, Statistics, Formats, Schedules, Tiles, Tasks]);
}

#[test]
fn an_order_that_is_given_is_observed_like_any_other() {
    let a = grid();
    let order = Method::Reverse.order(a.pattern()).unwrap();
    let planner = Planner::new(options("cpu", 64));
    let heard = RefCell::new(Vec::new());
    let observer = |progress| heard.borrow_mut().push(progress);
    let plan = planner.observe(&observer).plan_reordered(&a, &order).unwrap();
    assert_eq!(plan, planner.plan_reordered(&a, &order).unwrap());
    check(&heard.take());
    let plan = planner.observe(&observer).plan_ordered(&a, order.rows()).unwrap();
    assert_eq!(plan, planner.plan_ordered(&a, order.rows()).unwrap());
    check(&heard.take());
}

#[test]
fn an_observer_changes_no_byte_on_any_number_of_threads() {
    let bytes = |plan: &Plan| {
        let mut bytes = Vec::new();
        plan.write_to(&mut bytes).unwrap();
        bytes
    };
    let matrices = [grid(), shuffled(&girih_generate::rmat(9, 8, 1).unwrap())];
    let made = || {
        let mut made = Vec::new();
        for a in &matrices {
            for (device, reorder) in [
                ("cpu", Reorder::None),
                ("cpu", Reorder::Auto),
                ("h200", Reorder::Auto),
                ("cpu", Reorder::By(WINDOWS)),
            ] {
                let options = options(device, 128).reorder(reorder);
                let unseen = bytes(&Planner::new(options.clone()).plan(a).unwrap());
                let (plan, heard) = observed(a, options);
                assert!(bytes(&plan) == unseen, "{device}, {reorder:?}");
                made.push((unseen, heard));
            }
        }
        made
    };
    let outside = made();
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert!(pool.install(made) == outside, "{threads} threads");
    }
}
