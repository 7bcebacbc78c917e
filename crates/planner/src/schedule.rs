//! Who computes which tiles.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use girih_formats::{AnyTiling, Buffer};

use crate::PlanError;

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
    /// [`PlanError::Schedule`] naming the first task that leaves a gap, overlaps, or cuts a window
    /// while holding others.
    pub fn try_new(tasks: impl Into<Buffer<Task>>, tiling: &AnyTiling) -> Result<Self, PlanError> {
        let tasks = tasks.into();
        check(&tasks, tiling)?;
        Ok(Self { tasks })
    }

    /// Cuts a tiling into tasks of about `tiles_per_task` tiles: whole windows are gathered up to
    /// that many, and a window with more than twice as many is split (AsyncSparse §III-F).
    #[must_use]
    pub fn by_tiles(tiling: &AnyTiling, tiles_per_task: u64) -> Self {
        let limit = tiles_per_task.max(1);
        let mut tasks = Vec::new();
        let mut open = Task { window_start: 0, window_end: 0, tile_start: 0, tile_end: 0 };
        for w in 0..tiling.n_windows() {
            let (start, end) = (tiling.tile_ptr(w), tiling.tile_ptr(w + 1));
            let splits = end - start > 2 * limit;
            let full = end - open.tile_start > limit;
            if (splits || full) && open.window_end > open.window_start {
                tasks.push(open);
                open = Task {
                    window_start: w as u64,
                    window_end: w as u64,
                    tile_start: start,
                    tile_end: start,
                };
            }
            if splits {
                let parts = (end - start).div_ceil(limit);
                // Equal parts: part p ends at the p-th share, so none is left with a remainder.
                let cut = |p: u64| {
                    start + (u128::from(end - start) * u128::from(p) / u128::from(parts)) as u64
                };
                for p in 0..parts {
                    tasks.push(Task {
                        window_start: w as u64,
                        window_end: w as u64 + 1,
                        tile_start: cut(p),
                        tile_end: cut(p + 1),
                    });
                }
                open = Task {
                    window_start: w as u64 + 1,
                    window_end: w as u64 + 1,
                    tile_start: end,
                    tile_end: end,
                };
            } else {
                open.window_end = w as u64 + 1;
                open.tile_end = end;
            }
        }
        if open.window_end > open.window_start {
            tasks.push(open);
        }
        debug_assert!(check(&tasks, tiling).is_ok());
        Self { tasks: tasks.into() }
    }

    /// The tasks, in order of their tiles.
    #[must_use]
    pub fn tasks(&self) -> &Buffer<Task> {
        &self.tasks
    }
}

/// Checks that tasks cover every window and tile exactly once, in order.
fn check(tasks: &[Task], tiling: &AnyTiling) -> Result<(), PlanError> {
    let n_windows = tiling.n_windows() as u64;
    // The first window and tile not covered yet. A window is covered when its last tile is.
    let (mut window, mut tile) = (0u64, 0u64);
    for (i, task) in tasks.iter().enumerate() {
        let bad = |reason| Err(PlanError::Schedule { task: i, reason });
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
        return Err(PlanError::Schedule {
            task: tasks.len(),
            reason: "is missing: windows are left over",
        });
    }
    Ok(())
}
