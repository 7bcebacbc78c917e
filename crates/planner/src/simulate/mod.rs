//! Replaying a schedule on P workers, without a machine.
//!
//! ```
//! use girih_planner::Schedule;
//! use girih_planner::cost::LinearCost;
//! use girih_planner::schedule::TilePtr;
//! use girih_planner::simulate::{ScheduleCost, simulate};
//!
//! let windows = TilePtr::of_counts([8, 1, 1, 1, 1, 8]);
//! let cost = ScheduleCost {
//!     linear: LinearCost { tile_col: 1.0, window_col: 0.0, fixed: 0.0, tile_again: 0.0 },
//!     task: 0.0,
//!     tile: 0.0,
//! };
//! let replay = simulate(&Schedule::by_window(&windows), &windows, 1, 2, &cost);
//! // One worker takes the first long window, the other the short ones and then the second long one.
//! assert_eq!((replay.makespan, replay.total), (12.0, 20.0));
//! assert_eq!(replay.idle_share(), 1.0 - 20.0 / 24.0);
//! ```

mod costs;
mod replay;
mod svg;

use serde::{Deserialize, Serialize};

use crate::cost::LinearCost;
use crate::schedule::{COLUMN_UNIT, Schedule, Windows};

pub use costs::{reduction_costs, task_costs};
pub(crate) use replay::Busy;
use replay::dispatch;
pub use replay::{Replay, Span, in_order, partitioned};
pub use svg::svg;

/// What the tasks of a schedule cost one worker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleCost {
    /// Tiles and windows.
    pub linear: LinearCost,
    /// Seconds to begin a task; counted once for a persistent worker.
    pub task: f64,
    /// Seconds of a tile at the least, however few columns there are.
    pub tile: f64,
}

/// Replays a schedule of `windows` for `n` columns of C on `workers` workers (at least 1): in order
/// to whoever is free first, as hardware dispatches blocks; or partition by partition, where the
/// schedule has partitions. Windows that are added up in a second pass are, by all workers, once the
/// tasks are through.
///
/// O(tasks · log(workers)). Does not count [`LinearCost::fixed`].
#[must_use]
pub fn simulate(
    schedule: &Schedule,
    windows: &(impl Windows + ?Sized),
    n: usize,
    workers: usize,
    cost: &ScheduleCost,
) -> Replay {
    let costs = task_costs(schedule, windows, n, cost);
    let first = match schedule.columns() {
        Some(columns) => partitioned(&costs, &columns.partition_ptr, workers, cost.task),
        None => in_order(&costs, workers),
    };
    let second = reduction_costs(schedule, n, cost);
    if second.is_empty() { first } else { first.then(&in_order(&second, workers)) }
}

/// What [`simulate`] says of makespan and total, without a timeline: memory for the workers only.
pub(crate) fn busy(
    schedule: &Schedule,
    windows: &(impl Windows + ?Sized),
    n: usize,
    workers: usize,
    cost: &ScheduleCost,
) -> Busy {
    if schedule.columns().is_some() {
        let Replay { makespan, total, .. } = simulate(schedule, windows, n, workers, cost);
        return Busy { makespan, total };
    }
    let first = dispatch(costs::each_task_cost(schedule, windows, n, cost), workers, |_| {});
    let second = dispatch(reduction_costs(schedule, n, cost).into_iter(), workers, |_| {});
    Busy { makespan: first.makespan + second.makespan, total: first.total + second.total }
}

/// The least that any schedule of these windows can take: all the work shared out evenly, or the
/// dearest piece that cannot be divided, a step of [`COLUMN_UNIT`] columns of a window. Neither
/// beginning a task nor loading a tile twice counts.
#[must_use]
pub fn lower_bound(
    windows: &(impl Windows + ?Sized),
    n: usize,
    workers: usize,
    cost: &LinearCost,
) -> f64 {
    let cols = n.max(1) as f64;
    let unit = cols.min(f64::from(COLUMN_UNIT));
    let (mut total, mut largest) = (0.0, 0.0f64);
    for w in 0..windows.n_windows() {
        let col = cost.work(windows.tiles(w), 1, 1.0);
        total += col * cols;
        largest = largest.max(col * unit);
    }
    largest.max(total / workers.max(1) as f64)
}
