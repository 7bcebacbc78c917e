//! The tasks of a schedule, on a panel of B.

use std::ops::Range;

use girih_planner::schedule::Columns;
use girih_simd::{Output, RowMap};

use super::Prepared;
use super::formats::{Multiply, Panel, add_up};
use super::split::SplitWindow;
use crate::kernels::CpuScalar;
use crate::layout::CsrLayout;
use crate::thresholds::SUMS_CARRIED_ROWS;

impl<T: CpuScalar> Prepared<T> {
    /// Runs all tasks on a panel of columns, and adds up the parts of split windows.
    pub(super) fn panel(&self, whole: &Panel<'_, T>) {
        let n = whole.width;
        if let Some(columns) = &self.columns {
            return self.tasks_by_columns(columns, whole);
        }
        // Parts of one window may belong to several shares, which then can't add them up.
        let in_shares = whole.share.is_some_and(|share| share.of > 1);
        let needs_sums = !in_shares && !self.split.windows().is_empty();
        let Some(mut sums) = needs_sums.then(|| self.split.lend_sums()).flatten() else {
            self.tasks_on(whole, None);
            let windows = self.split.windows();
            self.for_each(windows.len(), whole, |i| self.add_up_window(&windows[i], whole));
            return;
        };
        let sums = sums.elements();
        for j in (0..n).step_by(self.split.panel_cols) {
            let width = self.split.panel_cols.min(n - j);
            let panel = whole.part(&(j..j + width));
            let rows = self.tiling.layout().window_rows();
            self.tasks_on(&panel, Some(Output::sums(sums, width, false)));
            let windows = self.split.windows();
            self.for_each(windows.len(), &panel, |i| {
                let SplitWindow { window, tasks, first_part } = &windows[i];
                let first = first_part * rows * width;
                let sums = &sums[first..first + tasks.len() * rows * width];
                let map = RowMap::for_slots(self.tiling.layout(), window * rows, rows);
                self.kernels.combine(sums, tasks.len(), &panel.out, map, width);
            });
        }
    }

    /// Runs the tasks of whole windows, and those of split windows if there is scratch for their sums.
    fn tasks_on(&self, panel: &Panel<'_, T>, sums: Option<Output<T::Acc>>) {
        let rows = self.tiling.layout().window_rows();
        let parts = panel.csr_layout.map_or(1, CsrLayout::parts);
        self.for_each(self.tasks.len() * parts, panel, |i| {
            let (i, part) = (self.split.nth(i / parts), i % parts);
            let task = &self.tasks[i];
            let tiles = task.tile_start..task.tile_end;
            let slots = task.windows().start * rows..task.windows().end * rows;
            match (self.split.window_of(i), sums) {
                (None, _) if let Some(csr_layout) = panel.csr_layout => {
                    csr_layout.multiply(i, part, panel);
                }
                // Tasks that are parts of a window are not cut again.
                _ if part > 0 => {}
                (None, _) => {
                    let map = RowMap::for_slots(self.tiling.layout(), slots.start, slots.len());
                    self.multiply(slots, tiles, map, panel);
                }
                (Some(window), Some(out)) => {
                    let part = window.first_part + i - window.tasks.start;
                    let len = RowMap::for_slots(self.tiling.layout(), slots.start, rows).len();
                    let map = RowMap::Consecutive { first: part * rows, len };
                    self.multiply(slots, tiles, map, &Panel { out, ..*panel });
                }
                (Some(_), None) => {}
            }
        });
    }

    /// Runs the tasks of a schedule that cuts windows by columns. Such products are not packed, so the panel
    /// is the whole product.
    fn tasks_by_columns(&self, columns: &Columns, whole: &Panel<'_, T>) {
        let rows = self.tiling.layout().window_rows();
        self.for_each(self.tasks.len(), whole, |i| {
            let cols = columns.of_task(i, whole.width);
            if cols.is_empty() {
                return;
            }
            let task = &self.tasks[i];
            let slots = task.windows().start * rows..task.windows().end * rows;
            let map = RowMap::for_slots(self.tiling.layout(), slots.start, slots.len());
            self.multiply(slots, task.tile_start..task.tile_end, map, &whole.part(&cols));
        });
    }

    /// Computes one split window on one thread, its parts in order: the same bits without scratch.
    fn add_up_window(&self, split: &SplitWindow, panel: &Panel<'_, T>) {
        let rows = self.tiling.layout().window_rows();
        let slots = split.window * rows..(split.window + 1) * rows;
        for start in slots.clone().step_by(SUMS_CARRIED_ROWS) {
            let slots = start..slots.end.min(start + SUMS_CARRIED_ROWS);
            let map = RowMap::for_slots(self.tiling.layout(), start, slots.len());
            add_up(
                split.tasks.clone(),
                |task| task + 1,
                map,
                panel,
                |tasks, map, panel| {
                    let tiles =
                        self.tasks[tasks.start].tile_start..self.tasks[tasks.end - 1].tile_end;
                    self.multiply(slots.clone(), tiles, map, panel);
                },
            );
        }
    }

    /// Multiplies the rows of slots that exist.
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>) {
        // Beyond a natural layout's last row there are slots, but no rows.
        let slots = slots.start..slots.start + map.len();
        self.tiling.multiply(slots, tiles, map, on);
    }

    /// Runs `f` on every index below `count`: in parallel if that is profitable, or on those of the panel's
    /// share.
    fn for_each(&self, count: usize, on: &Panel<'_, T>, f: impl Fn(usize) + Sync + Send) {
        match (on.share, self.lowering.grain(count, on.width)) {
            (Some(share), _) => share.indices(count).for_each(f),
            (None, Some(grain)) => self.team.for_each(count, grain, f),
            (None, None) => (0..count).for_each(f),
        }
    }
}
