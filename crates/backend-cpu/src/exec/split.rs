//! Windows that a schedule cuts into several tasks, and the sums of their parts.

use std::ops::Range;

use girih_formats::{Scalar, Tiling};
use girih_planner::schedule::Task;

use super::scratch::{LentBuffer, ScratchPool};
use crate::lowering::SplitSums;
use crate::thresholds::{SUMS_FREE, SUMS_MAX, SUMS_UNIT};

/// A window whose tiles several consecutive tasks share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SplitWindow {
    pub(crate) window: usize,
    /// Its tasks.
    pub(crate) tasks: Range<usize>,
    /// Parts of all split windows before it.
    pub(crate) first_part: usize,
}

/// The split windows of a schedule, and scratch for their sums.
#[derive(Debug)]
pub(crate) struct SplitWindows<A: Scalar> {
    windows: Vec<SplitWindow>,
    /// The tasks in the order in which to run them; empty if that is their own.
    order: Vec<usize>,
    /// Columns that the scratch holds at a time.
    pub(crate) panel_cols: usize,
    /// Sums that the scratch holds.
    len: usize,
    scratch: ScratchPool<A>,
}

impl<A: Scalar> SplitWindows<A> {
    /// Finds the split windows and allocates scratch for their sums: as wide a panel as fits a quarter of the
    /// bytes of the tiling's values, at least 256 bytes for each row and part.
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
        let too_large = || format!("{parts} parts of split windows need more memory than there is");
        let rows = parts.checked_mul(tiling.layout().window_rows()).ok_or_else(too_large)?;
        let budget = SUMS_FREE.max(stored.saturating_mul(size_of::<T>()) / 4);
        let bytes = (budget / rows.max(1)).clamp(SUMS_UNIT, SUMS_MAX) / SUMS_UNIT * SUMS_UNIT;
        let panel_cols = bytes / size_of::<A>();
        let len = rows.checked_mul(panel_cols).ok_or_else(too_large)?;
        let scratch = ScratchPool::new(1, len).map_err(|_| too_large())?;
        let order = order(tiling, tasks, &windows);
        Ok(Self { windows, order, panel_cols, len, scratch })
    }

    /// Numbers of the windows and their sums.
    pub(crate) fn sums(&self) -> SplitSums {
        match self.windows.last() {
            None => SplitSums::default(),
            Some(last) => SplitSums {
                windows: self.windows.len(),
                parts: last.first_part + last.tasks.len(),
                cols: self.panel_cols,
                bytes: self.len * size_of::<A>(),
            },
        }
    }

    /// The split windows, in order.
    pub(crate) fn windows(&self) -> &[SplitWindow] {
        &self.windows
    }

    /// The task to run as number `i`.
    pub(crate) fn nth(&self, i: usize) -> usize {
        self.order.get(i).copied().unwrap_or(i)
    }

    /// The split window that a task is part of, if it is one.
    pub(crate) fn window_of(&self, task: usize) -> Option<&SplitWindow> {
        let after = self.windows.partition_point(|w| w.tasks.start <= task);
        self.windows[..after].last().filter(|w| w.tasks.contains(&task))
    }

    /// The scratch for sums; `None` while another product uses it.
    pub(crate) fn lend_sums(&self) -> Option<LentBuffer<'_, A>> {
        self.scratch.lend()
    }
}

/// The order in which to run tasks if windows are split: O(tasks · log). Empty if none is.
///
/// Rows of CSR so long that they are split have most of their columns in common. So parts of all these rows
/// run by their first columns: parts that begin near each other find the rows of B that they use in the
/// caches, while one row after the other would read all of B each time. Whole rows run in their own order,
/// each after the parts that begin before its middle column, and find these rows of B too.
fn order<T: Scalar>(tiling: &Tiling<T>, tasks: &[Task], windows: &[SplitWindow]) -> Vec<usize> {
    let mut parts: Vec<usize> = windows.iter().flat_map(|window| window.tasks.clone()).collect();
    if parts.is_empty() {
        return parts;
    }
    let whole = (0..tasks.len()).filter(|&task| is_whole(tiling, &tasks[task]));
    let Tiling::Csr(a) = tiling else {
        parts.extend(whole);
        return parts;
    };
    let col = |entry: u64| a.csr().col_idx().get(entry as usize).copied();
    parts.sort_by_key(|&task| col(tasks[task].tile_start));
    let mut order = Vec::with_capacity(tasks.len());
    let (mut parts, mut reached) = (parts.into_iter().peekable(), None);
    for task in whole {
        let Task { tile_start, tile_end, .. } = tasks[task];
        reached = reached.max(col(tile_start + (tile_end - tile_start) / 2));
        while let Some(part) = parts.next_if(|&part| col(tasks[part].tile_start) <= reached) {
            order.push(part);
        }
        order.push(task);
    }
    order.extend(parts);
    order
}

/// Whether a task has all tiles of its windows.
fn is_whole<T: Scalar>(tiling: &Tiling<T>, task: &Task) -> bool {
    task.tile_start == tiling.tile_ptr(task.windows().start)
        && task.tile_end == tiling.tile_ptr(task.windows().end)
}

#[cfg(test)]
mod tests {
    use girih_formats::{Csr, RowCsr, RowLayout};
    use girih_planner::Schedule;
    use girih_planner::schedule::TaskSize;

    use super::*;

    #[test]
    fn parts_of_long_rows_are_run_by_their_first_columns_and_whole_rows_between() {
        // Rows 1 and 3 have a hundred columns, every one and every second; the others one.
        let lens = [1, 100, 1, 100, 1];
        let row_ptr = (0..=5).map(|row| lens[..row].iter().sum::<u64>()).collect::<Vec<_>>();
        let col = |row, i| match row {
            1 => i,
            3 => 2 * i,
            _ => 30 * row as u32,
        };
        let cols = (0..5).flat_map(|row| (0..lens[row] as u32).map(move |i| col(row, i)));
        let a = Csr::try_new(5, 200, row_ptr, cols.collect::<Vec<_>>(), vec![1.0f32; 203]).unwrap();
        let layout = RowLayout::natural(5, 1).unwrap();
        let tiling = Tiling::Csr(RowCsr::try_new(layout, a).unwrap());
        let schedule = Schedule::by_size(&tiling, TaskSize { tiles: 25, windows: 2, together: 1 });
        let split = SplitWindows::<f32>::new(&tiling, schedule.tasks(), 203).unwrap();
        let begins = |i| {
            let task = &schedule.tasks()[split.nth(i)];
            (task.windows().start, task.tile_start - tiling.tile_ptr(task.windows().start))
        };
        let order: Vec<_> = (0..schedule.tasks().len()).map(begins).collect();
        let [to_0, to_60] = [[(1, 0), (3, 0)], [(1, 25), (1, 50)]];
        assert_eq!(order[..3], [to_0[0], to_0[1], (0, 0)]);
        assert_eq!(order[3..7], [to_60[0], to_60[1], (3, 25), (2, 0)]);
        assert_eq!(order[7..], [(1, 75), (3, 50), (4, 0), (3, 75)]);
    }
}
