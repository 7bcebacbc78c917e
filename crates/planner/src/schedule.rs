//! Who computes which tiles.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use girih_formats::{AnyTiling, Buffer, Scalar, Tiling, for_any_tiling};

use crate::{ScheduleError, TaskSize};

/// A piece of work: one or more whole windows, or a part of one.
///
/// Tiles are counted as in [`Tiling::tile_ptr`](girih_formats::Tiling::tile_ptr).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Task {
    /// First window.
    pub window_start: u64,
    /// One past the last window.
    pub window_end: u64,
    /// First tile.
    pub tile_start: u64,
    /// One past the last tile.
    pub tile_end: u64,
}

impl Task {
    /// The windows, as a range.
    #[must_use]
    pub fn windows(&self) -> Range<usize> {
        self.window_start as usize..self.window_end as usize
    }

    /// The tiles, as a range.
    #[must_use]
    pub fn tiles(&self) -> Range<usize> {
        self.tile_start as usize..self.tile_end as usize
    }
}

/// Tasks that cover every window and every tile of a tiling exactly once, in order.
///
/// A window that is cut into several tasks has their partial results summed in task order, whoever
/// computes them, so a product does not depend on the number of workers.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    tasks: Buffer<Task>,
}

impl Schedule {
    /// Takes tasks as they are and validates them against the tiling: O(tasks).
    ///
    /// # Errors
    /// [`ScheduleError`] naming the first task that leaves a gap, overlaps, or cuts a window while
    /// holding others.
    pub fn try_new(
        tasks: impl Into<Buffer<Task>>,
        tiling: &AnyTiling,
    ) -> Result<Self, ScheduleError> {
        let tasks = tasks.into();
        for_any_tiling!(tiling, t => check(&tasks, t))?;
        Ok(Self { tasks })
    }

    /// Cuts a tiling into tasks of about `tiles_per_task` tiles: whole windows are gathered up to
    /// that many, and a window with more than twice as many is split (AsyncSparse §III-F).
    #[must_use]
    pub fn by_tiles(tiling: &AnyTiling, tiles_per_task: u64) -> Self {
        let size = TaskSize { tiles: tiles_per_task, windows: u64::MAX };
        Self::by_size(tiling, size)
    }

    /// Cuts a tiling into tasks no larger than `size`: whole windows are gathered up to it, and a
    /// window with more than twice as many tiles is split into equal parts (AsyncSparse §III-F).
    /// O(tasks · log windows).
    #[must_use]
    pub fn by_size(tiling: &AnyTiling, size: TaskSize) -> Self {
        let tasks = for_any_tiling!(tiling, t => cut(t, size));
        debug_assert_eq!(for_any_tiling!(tiling, t => check(&tasks, t)), Ok(()));
        Self { tasks: tasks.into() }
    }

    /// The tasks, in order of their tiles.
    #[must_use]
    pub fn tasks(&self) -> &Buffer<Task> {
        &self.tasks
    }
}

/// Gathers windows and splits the long ones.
fn cut<T: Scalar>(tiling: &Tiling<T>, size: TaskSize) -> Vec<Task> {
    let (max_tiles, max_windows) = (size.tiles.max(1), size.windows.max(1));
    let n_windows = tiling.n_windows();
    let mut tasks = Vec::new();
    let mut first = 0;
    while first < n_windows {
        let start = tiling.tile_ptr(first);
        let last = first + usize::try_from(max_windows).map_or(n_windows, |w| w.min(n_windows));
        let fits = |w: usize| tiling.tile_ptr(w) - start <= max_tiles;
        let end = last_where(first, last.min(n_windows), fits).max(first + 1);
        let tiles = tiling.tile_ptr(end) - start;
        let parts = if tiles > max_tiles.saturating_mul(2) { tiles.div_ceil(max_tiles) } else { 1 };
        // Equal parts: part p ends at the p-th share, so none is left with a remainder.
        let share = |p: u64| start + (u128::from(tiles) * u128::from(p) / u128::from(parts)) as u64;
        tasks.extend((0..parts).map(|p| Task {
            window_start: first as u64,
            window_end: end as u64,
            tile_start: share(p),
            tile_end: share(p + 1),
        }));
        first = end;
    }
    tasks
}

/// The largest `w` in `from..=to` for which `holds`, which holds for `from` and, once it does not,
/// never again. O(log(w − from)): it gallops, for `w` is usually near.
fn last_where(from: usize, to: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut good, mut step) = (from, 1);
    while step <= to - good && holds(good + step) {
        good += step;
        step *= 2;
    }
    while step > 0 {
        if step <= to - good && holds(good + step) {
            good += step;
        }
        step /= 2;
    }
    good
}

/// Checks that tasks cover every window and tile exactly once, in order.
fn check<T: Scalar>(tasks: &[Task], tiling: &Tiling<T>) -> Result<(), ScheduleError> {
    let n_windows = tiling.n_windows() as u64;
    // The first window and tile not covered yet. A window is covered when its last tile is.
    let (mut window, mut tile) = (0u64, 0u64);
    for (i, task) in tasks.iter().enumerate() {
        let bad = |reason| Err(ScheduleError { task: i, reason });
        if task.window_start != window || task.tile_start != tile {
            return bad("does not begin where the one before it ends");
        }
        if task.window_end <= task.window_start || task.tile_end < task.tile_start {
            return bad("is empty or runs backwards");
        }
        if task.window_end > n_windows {
            return bad("leaves the tiling");
        }
        let last = tiling.tile_ptr(task.window_end as usize);
        let whole =
            task.tile_start == tiling.tile_ptr(task.window_start as usize) && task.tile_end == last;
        if !whole && task.window_end - task.window_start != 1 {
            return bad("cuts a window while holding others");
        }
        if task.tile_end > last {
            return bad("runs past its window");
        }
        if !whole && task.tile_end == task.tile_start {
            return bad("is an empty part of a window");
        }
        window = if task.tile_end == last { task.window_end } else { task.window_start };
        tile = task.tile_end;
    }
    if window != n_windows {
        return Err(ScheduleError {
            task: tasks.len(),
            reason: "is missing: windows are left over",
        });
    }
    Ok(())
}
