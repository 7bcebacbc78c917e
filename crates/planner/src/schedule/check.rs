//! What makes tasks a schedule: every (window, column, tile) exactly once, in order.

use super::{ColRange, Columns, Task, Windows};
use crate::schedule::ScheduleError;

/// How far tasks have come.
struct Covered {
    /// The first window that is not covered, and the first column of C in it that is not.
    window: u64,
    col: u32,
    /// The end of the strip of columns whose tiles are being covered; `col` if none was begun.
    strip_end: u32,
    /// The first tile that is not covered in the strip.
    tile: u64,
}

/// Checks tasks against the windows they are for. O(tasks).
///
/// Within a window, strips of columns follow one another; within a strip, ranges of tiles do. A task
/// of several windows has all of their columns and tiles.
pub(super) fn check(
    tasks: &[Task],
    columns: Option<&Columns>,
    windows: &(impl Windows + ?Sized),
) -> Result<(), ScheduleError> {
    let cut_for = match columns {
        None => 1,
        Some(columns) => {
            check_columns(tasks.len(), columns)?;
            columns.cut_for
        }
    };
    let n_windows = windows.n_windows() as u64;
    let mut covered = Covered { window: 0, col: 0, strip_end: 0, tile: 0 };
    for (i, task) in tasks.iter().enumerate() {
        let bad = |reason| Err(ScheduleError { task: i, reason });
        let cols = match columns {
            None => ColRange { start: 0, end: 1 },
            Some(columns) => columns.ranges[i],
        };
        if task.window_start != covered.window || task.tile_start != covered.tile {
            return bad("does not begin where the one before it ends");
        }
        if task.window_end <= task.window_start || task.tile_end < task.tile_start {
            return bad("is empty or runs backwards");
        }
        if task.window_end > n_windows {
            return bad("leaves the tiling");
        }
        if cols.start != covered.col {
            return bad("does not begin at the column where the one before it ends");
        }
        if cols.end <= cols.start || cols.end > cut_for {
            return bad("has no columns or too many");
        }
        if covered.strip_end > covered.col && cols.end != covered.strip_end {
            return bad("has other columns than the part of its window before it");
        }
        let last = windows.tile_ptr(task.window_end as usize);
        let first = windows.tile_ptr(task.window_start as usize);
        let all_tiles = task.tile_start == first && task.tile_end == last;
        let all_cols = cols.start == 0 && cols.end == cut_for;
        if !(all_tiles && all_cols) && task.window_end - task.window_start != 1 {
            return bad("cuts a window while holding others");
        }
        if task.tile_end > last {
            return bad("runs past its window");
        }
        if !all_tiles && task.tile_end == task.tile_start {
            return bad("is an empty part of a window");
        }
        covered = if task.tile_end < last {
            Covered { strip_end: cols.end, tile: task.tile_end, ..covered }
        } else if cols.end < cut_for {
            Covered { window: covered.window, col: cols.end, strip_end: cols.end, tile: first }
        } else {
            Covered { window: task.window_end, col: 0, strip_end: 0, tile: last }
        };
    }
    if covered.window != n_windows {
        return Err(ScheduleError {
            task: tasks.len(),
            reason: "is missing: windows are left over",
        });
    }
    Ok(())
}

/// Checks that there are columns for every task and that partitions cover the tasks once, in order.
fn check_columns(n_tasks: usize, columns: &Columns) -> Result<(), ScheduleError> {
    let bad = |task, reason| Err(ScheduleError { task, reason });
    if columns.ranges.len() != n_tasks {
        return bad(columns.ranges.len().min(n_tasks), "has no columns beside it");
    }
    if columns.cut_for == 0 {
        return bad(0, "is cut for a product without columns");
    }
    let ptr = &columns.partition_ptr;
    if ptr.first() != Some(&0) || ptr.last() != Some(&(n_tasks as u64)) {
        return bad(n_tasks, "is not the end of the last partition");
    }
    match ptr.windows(2).position(|pair| pair[1] < pair[0]) {
        Some(at) => bad(ptr[at + 1] as usize, "ends a partition before it begins"),
        None => Ok(()),
    }
}
