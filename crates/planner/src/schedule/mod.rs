//! Who computes which tiles, for which columns of C.
//!
//! Three kinds of schedule, all of them the same validated type:
//!
//! | cut by | windows | dispatch | several tasks of a window |
//! |---|---|---|---|
//! | [`Schedule::by_window`] | one to a task | in order | never |
//! | [`Schedule::by_size`], [`Schedule::by_limit`] | grouped, long ones split by tiles | in order | added up |
//! | [`Schedule::sm_aligned`] | split by columns of C | a partition for each worker | disjoint columns |

mod check;
mod columns;
mod cut;
mod error;
mod kind;
mod sm_aligned;
mod task;
mod task_size;
mod windows;

use girih_formats::{AnyTiling, Buffer};
use serde::{Deserialize, Serialize};

use crate::cost::LinearCost;

pub use columns::Columns;
pub use error::ScheduleError;
pub use kind::ScheduleKind;
pub use sm_aligned::{COLUMN_UNIT, Partitioning};
pub use task::{ColRange, Task};
pub use task_size::TaskSize;
pub use windows::{TilePtr, Windows};

/// How the sums of a window that several tasks share become its rows of C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reduction {
    /// Tasks leave partial sums, which a second pass adds in the order of the tasks: C is the same to
    /// the last bit, whoever computed what.
    #[default]
    TwoPass,
    /// Tasks may add to C as they finish (AsyncSparse §III-C), in any order: a backend may add
    /// atomically, and one that adds in order does more than it has to.
    Atomic,
}

impl Reduction {
    /// A name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TwoPass => "two-pass",
            Self::Atomic => "atomic",
        }
    }
}

/// Tasks that cover every window, every column of C and every tile of a tiling exactly once, in
/// order.
///
/// A window that is cut into several tasks has their partial results summed in task order, whoever
/// computes them, so a product does not depend on the number of workers; unless the schedule allows
/// [`Reduction::Atomic`].
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    tasks: Buffer<Task>,
    columns: Option<Columns>,
    reduction: Reduction,
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
        Self::try_from_parts(tasks.into(), None, Reduction::TwoPass, tiling)
    }

    /// Takes all parts of a schedule as they are and validates them: O(tasks).
    ///
    /// # Errors
    /// As [`try_new`](Self::try_new), and if columns leave a gap or overlap, or partitions do not
    /// cover the tasks.
    pub fn try_from_parts(
        tasks: impl Into<Buffer<Task>>,
        columns: Option<Columns>,
        reduction: Reduction,
        windows: &(impl Windows + ?Sized),
    ) -> Result<Self, ScheduleError> {
        let this = Self { tasks: tasks.into(), columns, reduction };
        this.check(windows)?;
        Ok(this)
    }

    /// Whether this is a schedule of these windows: what every reader and backend asks before it
    /// relies on that. O(tasks).
    ///
    /// # Errors
    /// As [`try_from_parts`](Self::try_from_parts).
    pub fn check(&self, windows: &(impl Windows + ?Sized)) -> Result<(), ScheduleError> {
        check::check(&self.tasks, self.columns.as_ref(), windows)
    }

    /// One task for each window, in order: what the hardware's own scheduler balances, and fastest
    /// for BCSR (AsyncSparse §III-F). O(windows).
    #[must_use]
    pub fn by_window(windows: &(impl Windows + ?Sized)) -> Self {
        Self::of_tasks(cut::by_window(windows), Reduction::TwoPass, windows)
    }

    /// Cuts a tiling into tasks of about `tiles_per_task` tiles: whole windows are grouped up to
    /// that many, and a window with more than twice as many is split.
    #[must_use]
    pub fn by_tiles(windows: &(impl Windows + ?Sized), tiles_per_task: u64) -> Self {
        Self::by_size(windows, TaskSize { tiles: tiles_per_task, windows: u64::MAX, together: 1 })
    }

    /// Cuts a tiling into tasks no larger than `size`: whole windows are grouped up to it, and a
    /// window with more than twice as many tiles is split into equal parts (AsyncSparse §III-C, with
    /// windows grouped and parts even).
    /// O(tasks · log windows).
    #[must_use]
    pub fn by_size(windows: &(impl Windows + ?Sized), size: TaskSize) -> Self {
        Self::of_tasks(cut::by_size(windows, size), Reduction::TwoPass, windows)
    }

    /// One task for each window of at most `limit` tiles, and for longer ones that [may be
    /// split](Windows::may_split) sub-tasks of `limit` tiles each, the last with what is left: the fixed-size
    /// splitting of AsyncSparse §III-C.
    /// O(tasks).
    #[must_use]
    pub fn by_limit(windows: &(impl Windows + ?Sized), limit: u64, reduction: Reduction) -> Self {
        Self::of_tasks(cut::by_limit(windows, limit), reduction, windows)
    }

    /// Partitions of windows × columns for persistent workers, balanced and without additions: see
    /// [`Partitioning`]. `n` columns of C count as at least 1.
    ///
    /// # Panics
    /// If there are 2³² columns or more.
    #[must_use]
    pub fn sm_aligned(
        windows: &(impl Windows + ?Sized),
        n: usize,
        workers: usize,
        cost: &LinearCost,
    ) -> Self {
        Partitioning::search(windows, n, workers, cost).schedule(windows)
    }

    /// Tasks that were cut here.
    fn of_tasks(tasks: Vec<Task>, reduction: Reduction, windows: &(impl Windows + ?Sized)) -> Self {
        debug_assert_eq!(check::check(&tasks, None, windows), Ok(()));
        Self { tasks: tasks.into(), columns: None, reduction }
    }

    /// The tasks, in order of their windows, columns and tiles.
    ///
    /// Beside [`columns`](Self::columns), tasks alone do not say all: several may have the same tiles.
    #[must_use]
    pub fn tasks(&self) -> &Buffer<Task> {
        &self.tasks
    }

    /// The columns of C that tasks are for and the partitions they make up; `None` where every task
    /// is for all columns and goes to whichever worker is free.
    #[must_use]
    pub fn columns(&self) -> Option<&Columns> {
        self.columns.as_ref()
    }

    /// How windows that several tasks share are added up.
    #[must_use]
    pub fn reduction(&self) -> Reduction {
        self.reduction
    }

    /// Windows whose tiles several tasks share.
    #[must_use]
    pub fn split_windows(&self) -> usize {
        let split = |i: usize, task: &Task| {
            let next = &self.tasks[i + 1];
            task.window_start == next.window_start
                && task.tile_end == next.tile_start
                && task.tile_start < next.tile_start
        };
        let pairs = self.tasks.len().saturating_sub(1);
        let (mut count, mut last) = (0, None);
        for (i, task) in self.tasks[..pairs].iter().enumerate() {
            if split(i, task) && last != Some(task.window_start) {
                count += 1;
                last = Some(task.window_start);
            }
        }
        count
    }
}
