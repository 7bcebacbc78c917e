//! Replays: makespans worked out by hand, bounds that hold for every schedule.

use girih_planner::Schedule;
use girih_planner::cost::LinearCost;
use girih_planner::schedule::{Reduction, TaskSize, TilePtr, Windows};
use girih_planner::simulate::{
    ScheduleCost, in_order, lower_bound, partitioned, simulate, svg, task_costs,
};
use proptest::prelude::*;

const LINEAR: LinearCost =
    LinearCost { tile_col: 1.0, window_col: 0.5, fixed: 0.0, tile_again: 0.0 };
const COST: ScheduleCost = ScheduleCost { linear: LINEAR, task: 0.25, tile: 0.0 };

#[test]
fn tasks_go_to_whoever_is_free_first() {
    let replay = in_order(&[3.0, 1.0, 1.0, 4.0], 2);
    let workers: Vec<_> = replay.spans.iter().map(|s| (s.worker, s.start, s.end)).collect();
    assert_eq!(workers, [(0, 0.0, 3.0), (1, 0.0, 1.0), (1, 1.0, 2.0), (1, 2.0, 6.0)]);
    assert_eq!((replay.makespan, replay.total), (6.0, 9.0));
    assert_eq!(replay.busy(), [3.0, 6.0]);
    assert_eq!(replay.imbalance(), 12.0 / 9.0);
    assert_eq!(in_order(&[], 3).imbalance(), 1.0);
}

#[test]
fn partitions_stay_with_their_workers() {
    let replay = partitioned(&[1.0, 2.0, 3.0, 4.0], &[0, 2, 2, 4], 3, 0.5);
    assert_eq!(replay.makespan, 7.5);
    assert_eq!(replay.total, 11.0);
    assert_eq!(replay.busy(), [3.5, 0.0, 7.5]);
}

#[test]
fn a_second_pass_begins_when_the_tasks_have_ended() {
    let windows = TilePtr::of_counts([6, 1]);
    let ordered = Schedule::by_limit(&windows, 3, Reduction::TwoPass);
    let tasks: Vec<_> = ordered.tasks().iter().map(|t| (t.window_start, t.tiles())).collect();
    assert_eq!(tasks, [(0, 0..3), (0, 3..6), (1, 6..7)]);
    assert_eq!(ordered.split_windows(), 1);
    // Each part 0.25 + 2 · (3 + 0.5); adding up 0.25 + three passes of 2 · 0.5.
    let replay = simulate(&ordered, &windows, 2, 3, &COST);
    assert_eq!(replay.makespan, 7.25 + 3.25);
    assert_eq!(replay.second_pass, Some(3));
    let atomic = Schedule::by_limit(&windows, 3, Reduction::Atomic);
    let replay = simulate(&atomic, &windows, 2, 3, &COST);
    // Adding to C costs two stores, and nothing afterwards.
    assert_eq!((replay.makespan, replay.second_pass), (8.25, None));
}

#[test]
fn a_part_that_begins_inside_of_a_window_loads_it_again() {
    let windows = TilePtr::of_counts([4]);
    let linear = LinearCost { tile_again: 10.0, ..LINEAR };
    let schedule = Schedule::sm_aligned(&windows, 32, 2, &linear);
    let costs =
        task_costs(&schedule, &windows, 32, &ScheduleCost { linear, task: 0.25, tile: 0.0 });
    assert_eq!(costs, [16.0 * 4.5, 40.0 + 16.0 * 4.5]);
}

fn windows() -> impl Strategy<Value = TilePtr> {
    prop::collection::vec(prop_oneof![Just(0), 1..4u64, 1..300u64], 1..60)
        .prop_map(TilePtr::of_counts)
}

proptest! {
    #[test]
    fn no_schedule_beats_the_bound(
        windows in windows(), n in 1..300usize, workers in 1..20usize, limit in 1..200u64,
    ) {
        let bound = lower_bound(&windows, n, workers, &LINEAR);
        let size = TaskSize { tiles: limit, windows: 7, together: 1 };
        for schedule in [
            Schedule::by_window(&windows),
            Schedule::by_size(&windows, size),
            Schedule::by_limit(&windows, limit, Reduction::TwoPass),
            Schedule::by_limit(&windows, limit, Reduction::Atomic),
            Schedule::sm_aligned(&windows, n, workers, &LINEAR),
        ] {
            // A window in parts by tiles may be finer than the bound's indivisible pieces.
            let divided = schedule.split_windows() > 0;
            let replay = simulate(&schedule, &windows, n, workers, &COST);
            let least = if divided { replay.total / workers as f64 } else { bound };
            prop_assert!(replay.makespan >= least * (1.0 - 1e-9));
            prop_assert!((0.0..1.0).contains(&replay.idle_share()));
            let ends = replay.spans.iter().map(|span| span.end);
            prop_assert_eq!(ends.fold(0.0, f64::max), replay.makespan);
            prop_assert!((replay.busy().iter().sum::<f64>() - replay.total).abs() <= 1e-9 * replay.total);
            let order = schedule.tasks().len() <= replay.spans.len();
            prop_assert!(order);
        }
    }

    #[test]
    fn partitions_come_close_to_what_units_allow(
        windows in windows(), n in 1..600usize, workers in 1..20usize,
    ) {
        let schedule = Schedule::sm_aligned(&windows, n, workers, &LINEAR);
        let replay = simulate(&schedule, &windows, n, workers, &ScheduleCost { task: 0.0, ..COST });
        let cols = n.min(16) as f64;
        let unit = (0..windows.n_windows())
            .map(|w| LINEAR.work(windows.tiles(w), 1, cols))
            .fold(0.0, f64::max);
        let even = replay.total / workers as f64;
        prop_assert!(replay.makespan <= (even + unit) * (1.0 + 1e-9));
    }
}

#[test]
fn a_timeline_is_drawn_small() {
    let windows = TilePtr::of_counts((0..20_000).map(|w| w % 17));
    let schedule = Schedule::by_limit(&windows, 10, Reduction::TwoPass);
    let replay = simulate(&schedule, &windows, 16, 132, &COST);
    let drawing = svg(&replay, "20000 windows < & >");
    assert!(drawing.starts_with("<svg ") && drawing.ends_with("</svg>\n"));
    assert!(drawing.contains("20000 windows &lt; &amp; &gt;"));
    assert!(drawing.len() < 132 * 1000 * 90, "{}", drawing.len());
    assert_eq!(drawing.matches("<rect").count(), drawing.matches("/>").count());
    assert!(!svg(&in_order(&[], 2), "nothing").contains("NaN"));
}

#[test]
fn a_tile_takes_its_latency_however_narrow_c_is() {
    let windows = TilePtr::of_counts([100, 1]);
    let schedule = Schedule::by_window(&windows);
    let cost = ScheduleCost { task: 0.0, tile: 3.0, ..COST };
    let costs = |n| task_costs(&schedule, &windows, n, &cost);
    let window = LINEAR.window_col;
    assert_eq!(costs(1)[0], 300.0 + window);
    let wide = 1_000_000;
    let bare = ScheduleCost { tile: 0.0, ..cost };
    assert_eq!(costs(wide), task_costs(&schedule, &windows, wide, &bare));
}
