//! The tasks of a schedule, on a panel of B.

use std::ops::Range;

use girih_planner::Columns;

use super::Prepared;
use crate::exec::formats::{Multiply, Panel, add_up};
use crate::exec::split::SplitWindow;
use crate::isa::KernelScalar;
use crate::layout::Relaid;
use crate::operands::{Output, RowMap};
use crate::thresholds::SUMS_CARRIED_ROWS;

impl<T: KernelScalar> Prepared<T> {
    /// The product on a panel of columns.
    pub(super) fn panel(&self, whole: &Panel<'_, T>) {
        let n = whole.width;
        if let Some(columns) = &self.columns {
            return self.parts_on(columns, whole);
        }
        // The parts of a window may be of several shares.
        let apart = whole.alone.is_some_and(|share| share.of > 1);
        let none = apart || self.split.windows().is_empty();
        let room = if none { None } else { self.split.room() };
        let Some(mut sums) = room else {
            self.tasks_on(whole, None);
            let windows = self.split.windows();
            self.for_each(windows.len(), whole, |i| self.add_up_window(&windows[i], whole));
            return;
        };
        let sums = sums.elements();
        for j in (0..n).step_by(self.split.panel) {
            let width = self.split.panel.min(n - j);
            let (b, out) = (whole.b.at_col(j), whole.out.at_col(j));
            let panel = Panel { b, out, width, ..*whole };
            let rows = self.tiling.layout().window_rows();
            self.tasks_on(&panel, Some(Output::sums(sums, width, false)));
            let windows = self.split.windows();
            self.for_each(windows.len(), &panel, |i| {
                let SplitWindow { window, tasks, first_part } = &windows[i];
                let first = first_part * rows * width;
                let sums = &sums[first..first + tasks.len() * rows * width];
                let map = RowMap::of(self.tiling.layout(), window * rows, rows);
                self.kernels.combine(sums, tasks.len(), &panel.out, map, width);
            });
        }
    }

    /// Runs the tasks of whole windows, and those of split windows if there is room for their sums.
    fn tasks_on(&self, panel: &Panel<'_, T>, sums: Option<Output<T::Acc>>) {
        let rows = self.tiling.layout().window_rows();
        let parts = panel.relaid.map_or(1, Relaid::parts);
        self.for_each(self.tasks.len() * parts, panel, |i| {
            let (i, part) = (self.split.nth(i / parts), i % parts);
            let task = &self.tasks[i];
            let tiles = task.tile_start..task.tile_end;
            let slots = task.windows().start * rows..task.windows().end * rows;
            match (self.split.of_task(i), sums) {
                (None, _) if let Some(relaid) = panel.relaid => relaid.multiply(i, part, panel),
                // Parts of a window are cut no further.
                _ if part > 0 => {}
                (None, _) => {
                    let map = RowMap::of(self.tiling.layout(), slots.start, slots.len());
                    self.multiply(slots, tiles, map, panel);
                }
                (Some(window), Some(out)) => {
                    let part = window.first_part + i - window.tasks.start;
                    let len = RowMap::of(self.tiling.layout(), slots.start, rows).len();
                    let map = RowMap::Consecutive { first: part * rows, len };
                    self.multiply(slots, tiles, map, &Panel { out, ..*panel });
                }
                (Some(_), None) => {}
            }
        });
    }

    /// Runs the tasks of a schedule that cuts windows by columns. Without packing, so that the panel
    /// is the whole product.
    fn parts_on(&self, columns: &Columns, whole: &Panel<'_, T>) {
        let rows = self.tiling.layout().window_rows();
        self.for_each(self.tasks.len(), whole, |i| {
            let cols = columns.of_task(i, whole.width);
            if cols.is_empty() {
                return;
            }
            let task = &self.tasks[i];
            let slots = task.windows().start * rows..task.windows().end * rows;
            let map = RowMap::of(self.tiling.layout(), slots.start, slots.len());
            let (b, out) = (whole.b.at_col(cols.start), whole.out.at_col(cols.start));
            let panel = Panel { b, out, width: cols.len(), ..*whole };
            self.multiply(slots, task.tile_start..task.tile_end, map, &panel);
        });
    }

    /// One split window on one thread, its parts in order: the same bits without scratch.
    fn add_up_window(&self, split: &SplitWindow, panel: &Panel<'_, T>) {
        let rows = self.tiling.layout().window_rows();
        let slots = split.window * rows..(split.window + 1) * rows;
        for start in slots.clone().step_by(SUMS_CARRIED_ROWS) {
            let slots = start..slots.end.min(start + SUMS_CARRIED_ROWS);
            let map = RowMap::of(self.tiling.layout(), start, slots.len());
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

    /// Runs `f` on every index, in parallel if that is profitable; on those of a share.
    fn for_each(&self, count: usize, on: &Panel<'_, T>, f: impl Fn(usize) + Sync + Send) {
        match (on.alone, self.lowering.grain(count, on.width)) {
            (Some(share), _) => share.indices(count).for_each(f),
            (None, Some(grain)) => self.team.for_each(count, grain, f),
            (None, None) => (0..count).for_each(f),
        }
    }
}
