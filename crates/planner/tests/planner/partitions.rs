//! Partitions by columns: what the search finds covers every element of C exactly once, and whatever
//! was corrupted or made by hand and does not is rejected.

use std::collections::BTreeMap;

use girih_planner::Schedule;
use girih_planner::cost::LinearCost;
use girih_planner::schedule::{
    ColRange, Columns, Partitioning, Reduction, ScheduleError, Task, TilePtr, Windows,
};
use proptest::prelude::*;

const COST: LinearCost = LinearCost { tile_col: 1.0, window_col: 2.0, fixed: 9.0, tile_again: 1.5 };

fn windows() -> impl Strategy<Value = TilePtr> {
    prop::collection::vec(prop_oneof![Just(0), 1..4u64, 1..300u64], 0..30)
        .prop_map(TilePtr::of_counts)
}

/// The parts of a schedule, to be tampered with.
#[derive(Clone, Debug, PartialEq)]
struct Parts {
    tasks: Vec<Task>,
    ranges: Vec<ColRange>,
    partition_ptr: Vec<u64>,
    cut_for: u32,
}

impl Parts {
    fn of(schedule: &Schedule) -> Self {
        let columns = schedule.columns().unwrap();
        Self {
            tasks: schedule.tasks().to_vec(),
            ranges: columns.ranges.to_vec(),
            partition_ptr: columns.partition_ptr.to_vec(),
            cut_for: columns.cut_for,
        }
    }

    fn check(&self, windows: &TilePtr) -> Result<Schedule, ScheduleError> {
        let columns = Columns {
            cut_for: self.cut_for,
            ranges: self.ranges.clone().into(),
            partition_ptr: self.partition_ptr.clone().into(),
        };
        Schedule::try_from_parts(self.tasks.clone(), Some(columns), Reduction::TwoPass, windows)
    }

    /// How often every (window, column, tile) is computed, by listing them; `None` if a task leaves
    /// the matrix. A window without tiles counts as one.
    fn counts(&self, windows: &TilePtr) -> Option<BTreeMap<(u64, u32, u64), u32>> {
        let mut counts = BTreeMap::new();
        for (task, cols) in self.tasks.iter().zip(&self.ranges) {
            if task.window_end > windows.n_windows() as u64
                || task.window_start >= task.window_end
                || cols.end > self.cut_for
                || task.tile_end < task.tile_start
            {
                return None;
            }
            let first = windows.tile_ptr(task.windows().start);
            let last = windows.tile_ptr(task.windows().end);
            if task.tile_start < first || task.tile_end > last {
                return None;
            }
            for w in task.windows() {
                let own = windows.tile_ptr(w)..windows.tile_ptr(w + 1);
                let begin = own.start.max(task.tile_start);
                let tiles = if own.is_empty() {
                    own.start..own.start + 1
                } else {
                    begin..own.end.min(task.tile_end)
                };
                for tile in tiles {
                    for col in cols.start..cols.end {
                        *counts.entry((w as u64, col, tile)).or_default() += 1;
                    }
                }
            }
        }
        Some(counts)
    }

    /// Whether everything is computed exactly once, in whatever order.
    fn covers_once(&self, windows: &TilePtr) -> bool {
        let Some(counts) = self.counts(windows) else { return false };
        let per_window = |w: usize| windows.tiles(w).max(1) as usize * self.cut_for as usize;
        let all: usize = (0..windows.n_windows()).map(per_window).sum();
        counts.len() == all && counts.values().all(|&count| count == 1)
    }
}

proptest! {
    #[test]
    fn what_is_found_covers_everything_once(
        windows in windows(), n in 0..100usize, workers in 1..20usize,
    ) {
        let schedule = Schedule::sm_aligned(&windows, n, workers, &COST);
        let parts = Parts::of(&schedule);
        prop_assert_eq!(parts.cut_for as usize, n.max(1));
        prop_assert_eq!(parts.partition_ptr.len(), workers + 1);
        prop_assert!(parts.covers_once(&windows));
        prop_assert_eq!(parts.check(&windows), Ok(schedule.clone()));
        prop_assert_eq!(schedule.split_windows(), 0);
        // A product with another number of columns is covered as well.
        for other in [0, 1, n / 2, n + 1, 3 * n + 7] {
            let columns = schedule.columns().unwrap();
            for w in 0..windows.n_windows() as u64 {
                let mut next = 0;
                for (i, task) in schedule.tasks().iter().enumerate() {
                    if task.window_start <= w && w < task.window_end {
                        let cols = columns.of_task(i, other);
                        prop_assert!(cols.is_empty() || cols.start == next);
                        next = next.max(cols.end);
                    }
                }
                prop_assert_eq!(next, other);
            }
        }
    }

    #[test]
    fn the_search_never_loses_to_greedy_points(
        windows in windows(), n in 1..600usize, workers in 1..40usize,
    ) {
        let found = Partitioning::search(&windows, n, workers, &COST);
        prop_assert!(found.objective() <= found.greedy_objective());
        prop_assert_eq!(&found, &Partitioning::search(&windows, n, workers, &COST));
    }

    /// Only what covers everything once is accepted; and what does and is rejected is out of order.
    #[test]
    fn corrupted_schedules_are_rejected(
        windows in windows(),
        n in 1..50usize,
        workers in 1..6usize,
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..12usize, prop_oneof![
                -2..=2i64, -20..=20i64, Just(i64::MAX), Just(i64::MIN), any::<i64>(),
            ]),
            1..4,
        ),
    ) {
        let honest = Parts::of(&Schedule::sm_aligned(&windows, n, workers, &COST));
        let mut parts = honest.clone();
        for (index, field, by) in changes {
            if parts.ranges.is_empty() || parts.ranges.len() != parts.tasks.len() {
                break;
            }
            let i = index.index(parts.tasks.len());
            let (task, cols) = (&mut parts.tasks[i], &mut parts.ranges[i]);
            match field {
                0 => task.window_start = task.window_start.wrapping_add_signed(by),
                1 => task.window_end = task.window_end.wrapping_add_signed(by),
                2 => task.tile_start = task.tile_start.wrapping_add_signed(by),
                3 => task.tile_end = task.tile_end.wrapping_add_signed(by),
                4 => cols.start = cols.start.wrapping_add_signed(by as i32),
                5 => cols.end = cols.end.wrapping_add_signed(by as i32),
                6 => { parts.tasks.remove(i); parts.ranges.remove(i); }
                7 => { let (t, c) = (*task, *cols); parts.tasks.insert(i, t); parts.ranges.insert(i, c); }
                8 => {
                    let other = by.unsigned_abs() as usize % parts.tasks.len();
                    parts.tasks.swap(i, other);
                    parts.ranges.swap(i, other);
                }
                9 => drop(parts.ranges.pop()),
                10 => parts.cut_for = parts.cut_for.wrapping_add_signed(by as i32),
                _ => {
                    let at = index.index(parts.partition_ptr.len());
                    parts.partition_ptr[at] = parts.partition_ptr[at].wrapping_add_signed(by);
                }
            }
        }
        // Listing what a wild number of columns covers would take for ever, and it covers too much.
        let listable = parts.cut_for <= 200;
        if parts.check(&windows).is_ok() {
            prop_assert!(listable && parts.covers_once(&windows), "{:?}", parts);
            prop_assert_eq!(parts.ranges.len(), parts.tasks.len());
            prop_assert!(parts.partition_ptr.is_sorted());
        } else {
            prop_assert_ne!(parts, honest);
        }
    }
}

#[test]
fn faults_of_columns_are_named() {
    let windows = TilePtr::of_counts([4, 2]);
    let task = |window_start, window_end, tile_start, tile_end| Task {
        window_start,
        window_end,
        tile_start,
        tile_end,
    };
    let cols = |start, end| ColRange { start, end };
    let fault = |tasks: &[Task], ranges: &[ColRange], partitions: &[u64]| {
        let parts = Parts {
            tasks: tasks.to_vec(),
            ranges: ranges.to_vec(),
            partition_ptr: partitions.to_vec(),
            cut_for: 32,
        };
        parts.check(&windows).err().map(|error| (error.task, error.reason))
    };
    let halves = [task(0, 1, 0, 4), task(0, 1, 0, 4), task(1, 2, 4, 6)];
    assert_eq!(fault(&halves, &[cols(0, 16), cols(16, 32), cols(0, 32)], &[0, 1, 3]), None);
    // A strip may be cut by tiles as well, if its parts have the same columns.
    let quarters = [task(0, 1, 0, 3), task(0, 1, 3, 4), task(0, 1, 0, 4), task(1, 2, 4, 6)];
    let strips = [cols(0, 16), cols(0, 16), cols(16, 32), cols(0, 32)];
    assert_eq!(fault(&quarters, &strips, &[0, 4]), None);
    for (ranges, partitions, expected) in [
        (
            [cols(0, 16), cols(15, 32), cols(0, 32)],
            vec![0, 3],
            (1, "does not begin at the column where the one before it ends"),
        ),
        (
            [cols(0, 16), cols(17, 32), cols(0, 32)],
            vec![0, 3],
            (1, "does not begin at the column where the one before it ends"),
        ),
        ([cols(0, 16), cols(16, 33), cols(0, 32)], vec![0, 3], (1, "has no columns or too many")),
        ([cols(0, 16), cols(16, 16), cols(0, 32)], vec![0, 3], (1, "has no columns or too many")),
        (
            [cols(0, 16), cols(16, 31), cols(0, 32)],
            vec![0, 3],
            (2, "does not begin where the one before it ends"),
        ),
        (
            [cols(0, 16), cols(16, 32), cols(0, 31)],
            vec![0, 3],
            (3, "is missing: windows are left over"),
        ),
        (
            [cols(0, 16), cols(16, 32), cols(0, 32)],
            vec![0, 2],
            (3, "is not the end of the last partition"),
        ),
        (
            [cols(0, 16), cols(16, 32), cols(0, 32)],
            vec![1, 3],
            (3, "is not the end of the last partition"),
        ),
        (
            [cols(0, 16), cols(16, 32), cols(0, 32)],
            vec![],
            (3, "is not the end of the last partition"),
        ),
        (
            [cols(0, 16), cols(16, 32), cols(0, 32)],
            vec![0, 2, 1, 3],
            (1, "ends a partition before it begins"),
        ),
    ] {
        assert_eq!(fault(&halves, &ranges, &partitions), Some(expected));
    }
    let other = [cols(0, 16), cols(0, 17), cols(16, 32), cols(0, 32)];
    let reason = "has other columns than the part of its window before it";
    assert_eq!(fault(&quarters, &other, &[0, 4]), Some((1, reason)));
    let both = [task(0, 2, 0, 6)];
    assert_eq!(
        fault(&both, &[cols(0, 16)], &[0, 1]),
        Some((0, "cuts a window while holding others"))
    );
    assert_eq!(fault(&both, &[], &[0, 1]), Some((0, "has no columns beside it")));
}

#[test]
fn points_near_a_boundary_move_to_it() {
    // Three windows of 8 units each for 2 workers: the average ends in the middle of the second.
    let free = LinearCost { tile_again: 0.0, ..COST };
    let middle = Partitioning::search(&TilePtr::of_counts([1, 1, 1]), 128, 2, &free);
    assert_eq!(middle.points(), [0, 12, 24]);
    // Of 33 and 32 units the greedy point would be the unit after the boundary, and moves to it.
    let dear = LinearCost { tile_again: 50.0, ..COST };
    let near = Partitioning::search(&TilePtr::of_counts([100, 102]), 512, 2, &dear);
    assert_eq!(near.points(), [0, 32, 64]);
}

#[test]
fn partitions_without_work_are_empty() {
    let none = Schedule::sm_aligned(&TilePtr::of_counts([]), 64, 4, &COST);
    assert_eq!(none.columns().unwrap().partition_ptr[..], [0; 5]);
    let few = Schedule::sm_aligned(&TilePtr::of_counts([7]), 32, 4, &COST);
    assert_eq!(few.tasks().len(), 2);
}
