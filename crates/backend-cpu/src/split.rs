//! Windows that a schedule cuts into several tasks, and the sums of their parts.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, TryLockError};

use girih_formats::{Scalar, Tiling};
use girih_planner::Task;

/// A window whose tiles several consecutive tasks share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SplitWindow {
    pub(crate) window: usize,
    /// Its tasks.
    pub(crate) tasks: Range<usize>,
    /// Parts of all split windows before it.
    pub(crate) first_part: usize,
}

/// The split windows of a schedule and room for their sums.
#[derive(Debug)]
pub(crate) struct Split<A> {
    windows: Vec<SplitWindow>,
    /// Columns that there is room for at a time.
    pub(crate) panel: usize,
    sums: Mutex<Vec<A>>,
}

/// Columns are cut into panels at multiples of this, in bytes of sums: 4 lines.
const PANEL_UNIT: usize = 256;

/// The widest panel, in bytes of sums.
const PANEL_MAX: usize = 4096;

/// Room for sums that needs no justification by the size of the matrix, in bytes.
const FREE_ROOM: usize = 1 << 20;

impl<A: Scalar> Split<A> {
    /// Finds the split windows and allocates room for their sums: as wide a panel as fits a quarter
    /// of the tiling's values, at least 256 bytes for each row and part.
    ///
    /// # Errors
    /// If the sums exceed the address space.
    pub(crate) fn new<T: Scalar<Acc = A>>(
        tiling: &Tiling<T>,
        tasks: &[Task],
        stored: usize,
    ) -> Result<Self, String> {
        let mut windows: Vec<SplitWindow> = Vec::new();
        let mut parts = 0;
        for (i, task) in tasks.iter().enumerate() {
            if is_whole(tiling, task) {
                continue;
            }
            let window = task.windows().start;
            match windows.last_mut() {
                Some(last) if last.window == window => last.tasks.end = i + 1,
                _ => windows.push(SplitWindow { window, tasks: i..i + 1, first_part: parts }),
            }
            parts += 1;
        }
        let too_large = || format!("{parts} parts of split windows need more room than there is");
        let rows = parts.checked_mul(tiling.layout().window_rows()).ok_or_else(too_large)?;
        let budget = FREE_ROOM.max(stored.saturating_mul(size_of::<T>()) / 4);
        let bytes = (budget / rows.max(1)).clamp(PANEL_UNIT, PANEL_MAX) / PANEL_UNIT * PANEL_UNIT;
        let panel = bytes / size_of::<A>();
        let len =
            rows.checked_mul(panel).filter(|&len| len <= isize::MAX as usize / size_of::<A>());
        let mut sums = Vec::new();
        sums.try_reserve_exact(len.ok_or_else(too_large)?).map_err(|_| too_large())?;
        sums.resize(rows * panel, A::ZERO);
        Ok(Self { windows, panel, sums: Mutex::new(sums) })
    }

    /// The split windows, in order.
    pub(crate) fn windows(&self) -> &[SplitWindow] {
        &self.windows
    }

    /// The split window that a task is part of, if it is one.
    pub(crate) fn of_task(&self, task: usize) -> Option<&SplitWindow> {
        let after = self.windows.partition_point(|w| w.tasks.start <= task);
        self.windows[..after].last().filter(|w| w.tasks.contains(&task))
    }

    /// The room for sums; `None` while another product uses it.
    ///
    /// Never waits: the product that uses it may be further up on this very thread's stack, its
    /// thread having been lent to this one by rayon.
    pub(crate) fn room(&self) -> Option<MutexGuard<'_, Vec<A>>> {
        match self.sums.try_lock() {
            Ok(sums) => Some(sums),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Whether a task has all tiles of its windows.
fn is_whole<T: Scalar>(tiling: &Tiling<T>, task: &Task) -> bool {
    task.tile_start == tiling.tile_ptr(task.windows().start)
        && task.tile_end == tiling.tile_ptr(task.windows().end)
}
