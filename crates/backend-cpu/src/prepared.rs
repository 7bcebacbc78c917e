//! A prepared plan: the driver that runs tasks.

use std::fmt;
use std::ops::Range;

use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, PreparedSpmm, ProductShape,
};
use girih_formats::{Buffer, FormatSpec, Scalar, Tiling};
use girih_planner::{Columns, Schedule, Task};

use crate::Isa;
use crate::formats::{CARRIED_ROWS, Multiply, Panel, Relaid, add_up, suited};
use crate::isa::{KernelScalar, Kernels};
use crate::operands::{Input, Output, RowMap};
use crate::packing::{PACKED_ROWS, Packing, Piece};
use crate::reuse::hides_a;
use crate::room::Room;
use crate::split::{Split, SplitWindow};
use crate::team::Team;

/// A plan's tiles and tasks, shared, with the kernels that multiply them.
pub(crate) struct Prepared<T: Scalar> {
    isa: Isa,
    kernels: Kernels<T>,
    team: Team,
    tiling: Tiling<T>,
    tasks: Buffer<Task>,
    /// The columns of C that each task is for, if not for all.
    columns: Option<Columns>,
    /// Values stored: what work is estimated by.
    stored: usize,
    relaid: Option<Relaid<T>>,
    packing: Option<Packing<T>>,
    split: Split<T::Acc>,
    room: Room,
    /// Whether a single column of B [hides](Input::hides_a) A.
    column_hides_a: bool,
}

/// Work, in multiply-adds, that is worth sharing with other threads: some 10 µs for one.
const SHARED: usize = 1 << 19;

/// Work that a thread takes at a time. Where rows are short, or B is not in the first-level cache, it is
/// several times the microsecond that it could be.
const GRAIN: usize = 1 << 16;

/// The work of finding a stored value, in multiply-adds.
const FIND: usize = 15;

impl<T: KernelScalar> Prepared<T> {
    /// The schedule must be valid for the tiling.
    ///
    /// # Errors
    /// If the sums of split windows don't fit in memory.
    pub(crate) fn new(
        isa: Isa,
        team: Team,
        tiling: &Tiling<T>,
        schedule: &Schedule,
        n: usize,
    ) -> Result<Self, String> {
        let (tasks, columns) = (schedule.tasks(), schedule.columns());
        let tile = match tiling.spec() {
            FormatSpec::Bcsr { block_rows, block_cols } => block_rows * block_cols,
            FormatSpec::Wcsr { window_rows, pad_cols } => window_rows * pad_cols,
            FormatSpec::BlockedEll { block_size } => block_size * block_size,
            FormatSpec::TwoFour => 2,
            FormatSpec::Csr => 1,
            FormatSpec::BMat { .. } => 0,
        };
        let stored = tiling.nnz().max(tile.saturating_mul(tiling.n_tiles() as usize));
        // Parts of a window that differ by columns write to their own elements of C: nothing to add up.
        let split = Split::new(tiling, if columns.is_some() { &[] } else { &tasks[..] }, stored)?;
        let room = Room::here();
        let (relaid, packing) = match tiling {
            // Laid out once more a row has one place, and tasks for some columns share their rows.
            Tiling::Csr(a) if columns.is_none() => {
                let whole = |(i, task): (usize, &Task)| match split.of_task(i) {
                    Some(_) => 0..0,
                    None => task.windows(),
                };
                let tasks: Vec<_> = tasks.iter().enumerate().map(whole).collect();
                suited(a, &tasks, n, team.threads(), room)
            }
            _ => (None, None),
        };
        let column_hides_a = match tiling {
            Tiling::Csr(a) if n == 1 && room.asks => hides_a(a.csr()),
            _ => false,
        };
        Ok(Self {
            isa,
            kernels: T::kernels(isa),
            team,
            tiling: tiling.clone(),
            tasks: tasks.clone(),
            columns: columns.cloned(),
            stored,
            relaid,
            packing,
            split,
            room,
            column_hides_a,
        })
    }

    /// Whether a B of `k` rows and `n` columns hides A.
    fn hides_a(&self, k: usize, n: usize) -> bool {
        match n {
            1 => self.column_hides_a,
            _ => self.room.hides_a(k, n * size_of::<T>()),
        }
    }

    /// The product on operands that fit, α ≠ 0.
    fn product(&self, b: Input<T>, out: Output<T::Acc>, n: usize) {
        let relaid = self.relaid.as_ref().filter(|relaid| relaid.suits(n));
        let (kernels, gathers) = (&self.kernels, self.kernels.gathers());
        let whole = Panel { kernels, b, out, width: n, relaid, alone: false, gathers };
        let Some(packing) = self.packing.as_ref().filter(|packing| packing.suits(n)) else {
            return self.panel(&whole);
        };
        let count = packing.pieces(n).count();
        if packing.apart(count, self.team.threads()) {
            let alone = Panel { alone: true, ..whole };
            self.team.for_each(count, 1, |i| {
                let Some(piece) = packing.pieces(n).nth(i) else { return };
                match packing.room() {
                    Some(mut room) => self.packed(&piece, room.make_mut(), packing, &alone),
                    None => self.panel(&alone.part(&piece.cols)),
                }
            });
        } else if let Some(mut room) = packing.room() {
            let room = room.make_mut();
            packing.pieces(n).for_each(|piece| self.packed(&piece, room, packing, &whole));
        } else {
            self.panel(&whole);
        }
    }

    /// The product on some columns, which are packed first.
    fn packed(
        &self,
        Piece { cols, of_group }: &Piece,
        room: &mut [T],
        packing: &Packing<T>,
        whole: &Panel<'_, T>,
    ) {
        let (stride, of_group) = (packing.row_stride(), *of_group);
        let panel = whole.part(cols);
        self.pack(&panel, room, stride);
        let row_stride = stride as isize;
        let packed = Input { ptr: room.as_ptr(), row_stride, col_stride: 1, of_group, ..panel.b };
        self.panel(&Panel { b: packed, ..panel });
    }

    /// Packs the columns of B that are a panel's.
    fn pack(&self, panel: &Panel<'_, T>, room: &mut [T], stride: usize) {
        let rows = PACKED_ROWS * stride;
        let pack = |i: usize, to: &mut [T]| {
            self.kernels.pack(panel.b, i * PACKED_ROWS, panel.width, to, stride);
        };
        let team = if panel.alone { &Team::Alone } else { &self.team };
        team.for_each_chunk(room, rows, pack);
    }

    /// The product on a panel of columns.
    fn panel(&self, whole: &Panel<'_, T>) {
        let n = whole.width;
        if let Some(columns) = &self.columns {
            return self.parts_on(columns, whole);
        }
        let room = if self.split.windows().is_empty() { None } else { self.split.room() };
        let Some(mut sums) = room else {
            self.tasks_on(whole, None);
            let windows = self.split.windows();
            self.for_each(windows.len(), whole, |i| self.add_up_window(&windows[i], whole));
            return;
        };
        for j in (0..n).step_by(self.split.panel) {
            let width = self.split.panel.min(n - j);
            let (b, out) = (whole.b.at_col(j), whole.out.at_col(j));
            let panel = Panel { b, out, width, ..*whole };
            let rows = self.tiling.layout().window_rows();
            self.tasks_on(&panel, Some(Output::sums(&mut sums, width, false)));
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
        self.for_each(self.tasks.len(), panel, |i| {
            let task = &self.tasks[i];
            let tiles = task.tile_start..task.tile_end;
            let slots = task.windows().start * rows..task.windows().end * rows;
            match (self.split.of_task(i), sums) {
                (None, _) if let Some(relaid) = panel.relaid => relaid.multiply(i, panel),
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
        for start in slots.clone().step_by(CARRIED_ROWS) {
            let slots = start..slots.end.min(start + CARRIED_ROWS);
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

    /// Runs `f` on every index, in parallel if that pays.
    fn for_each(&self, count: usize, on: &Panel<'_, T>, f: impl Fn(usize) + Sync + Send) {
        let work = self.stored.saturating_mul(on.width + FIND);
        if on.alone || count < 2 || work < SHARED {
            (0..count).for_each(f);
        } else {
            self.team.for_each(count, GRAIN.div_ceil((work / count).max(1)), f);
        }
    }
}

impl<T: KernelScalar + DenseScalar> PreparedSpmm for Prepared<T> {
    fn execute(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        let (m, k, dtype) = (self.tiling.nrows(), self.tiling.ncols(), T::DTYPE);
        let n = ProductShape { m, k, dtype }.check_operands(&b, &c)?;
        let (Some(b), Some(mut c)) = (T::view(b), T::acc_view_mut(c)) else {
            unreachable!("the operands' types were checked");
        };
        let (alpha, beta) = (T::Acc::from_f64(alpha), T::Acc::from_f64(beta));
        if m == 0 || n == 0 {
            return Ok(());
        }
        if alpha.is_zero() {
            if beta.is_zero() {
                c.fill(T::Acc::ZERO);
            } else {
                c.mapv_inplace(|x| beta * x);
            }
            return Ok(());
        }
        let b = Input { hides_a: self.hides_a(k, n), ..Input::new(&b) };
        self.product(b, Output::new(&mut c, alpha, beta), n);
        Ok(())
    }
}

impl<T: Scalar> fmt::Debug for Prepared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("isa", &self.isa)
            .field("spec", &self.tiling.spec())
            .field("dtype", &T::DTYPE)
            .field("tasks", &self.tasks.len())
            .field("split_windows", &self.split.windows().len())
            .finish_non_exhaustive()
    }
}
