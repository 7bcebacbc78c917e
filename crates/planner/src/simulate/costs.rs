//! What every task of a schedule costs.

use super::ScheduleCost;
use crate::schedule::{Reduction, Schedule, Windows};

/// How often an atomic addition to C costs a plain store: it reads as well as writes.
const ATOMIC_STORES: f64 = 2.0;

/// Seconds of one worker for every task of a schedule, for `n` columns of C (at least 1).
///
/// A task for some columns of a window loads all of the window's tiles, which beginning the window
/// would have done already: all parts but the first pay for that. A part of a window by tiles writes
/// the window's rows, or adds to them.
#[must_use]
pub fn task_costs(
    schedule: &Schedule,
    windows: &(impl Windows + ?Sized),
    n: usize,
    cost: &ScheduleCost,
) -> Vec<f64> {
    each_task_cost(schedule, windows, n, cost).collect()
}

/// The same one by one, without memory for all of them.
pub(super) fn each_task_cost(
    schedule: &Schedule,
    windows: &(impl Windows + ?Sized),
    n: usize,
    cost: &ScheduleCost,
) -> impl Iterator<Item = f64> {
    let n = n.max(1);
    let of_task = move |i: usize| {
        let task = schedule.tasks()[i];
        let tiles = task.tile_end - task.tile_start;
        let n_windows = task.window_end - task.window_start;
        let (first, last) =
            (windows.tile_ptr(task.windows().start), windows.tile_ptr(task.windows().end));
        let is_part = task.tile_start != first || task.tile_end != last;
        let (cols, begun_before) = match schedule.columns() {
            None => (n, false),
            Some(columns) => (columns.of_task(i, n).len(), columns.ranges[i].start > 0),
        };
        let stores = match schedule.reduction() {
            Reduction::Atomic if is_part => ATOMIC_STORES,
            _ => 1.0,
        };
        let own = if schedule.columns().is_some() { 0.0 } else { cost.task };
        let again = if begun_before { tiles as f64 * cost.linear.tile_again } else { 0.0 };
        own + again
            + cost.linear.work(tiles, 0, cols as f64).max(tiles as f64 * cost.tile)
            + stores * cost.linear.work(0, n_windows, cols as f64)
    };
    (0..schedule.tasks().len()).map(of_task)
}

/// Seconds of one worker for every window that a second pass adds up: reading the parts and writing
/// the sum, each a pass over the window's rows of C. Empty if there is no second pass.
#[must_use]
pub fn reduction_costs(schedule: &Schedule, n: usize, cost: &ScheduleCost) -> Vec<f64> {
    if schedule.reduction() == Reduction::Atomic || schedule.columns().is_some() {
        return Vec::new();
    }
    let mut costs = Vec::new();
    let tasks = schedule.tasks();
    let mut i = 0;
    while i < tasks.len() {
        let window = tasks[i].window_start;
        let mut end = i + 1;
        while tasks.get(end).is_some_and(|task| task.window_start == window) {
            end += 1;
        }
        if end - i > 1 {
            let passes = (end - i + 1) as f64;
            costs.push(cost.task + passes * cost.linear.work(0, 1, n.max(1) as f64));
        }
        i = end;
    }
    costs
}
