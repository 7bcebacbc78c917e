//! A prepared plan: [`panels`] says from where B is read, [`hidden`] where A is asked for, [`tasks`] runs the
//! tasks on it.

mod hidden;
mod panels;
mod tasks;

use std::fmt;

use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, PreparedSpmm, ProductShape,
};
use girih_formats::{Buffer, FormatError, FormatSpec, Scalar, Tiling};
use girih_planner::{Columns, Schedule, Task};

use hidden::Hidden;

use crate::copies::Copies;
use crate::formats::{Relaid, panels, suited};
use crate::isa::{KernelScalar, Kernels};
use crate::operands::{Input, Output, Source};
use crate::packing::Packing;
use crate::room::Room;
use crate::split::Split;
use crate::team::Team;
use crate::{Isa, NAME};

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
    copies: Copies<T>,
    room: Room,
    hidden: Hidden,
}

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
        let (kernels, room) = (T::kernels(isa), Room::here());
        let (relaid, packing) = match tiling {
            // Laid out once more a row has one place, and tasks for some columns share their rows. Nor is
            // a panel the whole product, whose columns they are cut by.
            _ if columns.is_some() => (None, None),
            Tiling::Csr(a) => {
                let whole = |(i, task): (usize, &Task)| match split.of_task(i) {
                    Some(_) => 0..0,
                    None => task.windows(),
                };
                let entries = |i: usize| tasks[i].tile_start as usize..tasks[i].tile_end as usize;
                let in_order: Vec<_> = (0..tasks.len()).map(|i| entries(split.nth(i))).collect();
                let tasks: Vec<_> = tasks.iter().enumerate().map(whole).collect();
                suited(a, &tasks, &in_order, n, team.threads(), room)
            }
            _ => {
                let (k, threads) = (tiling.ncols(), team.threads());
                let panels = panels(tiling, stored, n, kernels.gathers(), threads, room);
                (None, panels.and_then(|panels| Packing::new(panels, k, threads, room)))
            }
        };
        let hidden = Hidden::of(tiling, stored, n, room);
        Ok(Self {
            isa,
            kernels,
            team,
            tiling: tiling.clone(),
            tasks: tasks.clone(),
            columns: columns.cloned(),
            stored,
            relaid,
            packing,
            split,
            copies: Copies::new(),
            room,
            hidden,
        })
    }

    /// B, of `n` columns, saying from how far its rows come.
    fn placed(&self, b: Input<T>, n: usize) -> Input<T> {
        let (k, row_bytes) = (self.tiling.ncols(), n * size_of::<T>());
        let hides_a = self.hidden.by(k, row_bytes, b.is_column, self.room);
        Input { is_far: k.saturating_mul(row_bytes) > self.room.b, hides_a, ..b }
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
        let out = Output::new(&mut c, alpha, beta);
        match Input::in_place(&b) {
            Some(b) => self.product(self.placed(b, n), out, n),
            None => self.copied(Source::new(&b), out, n).map_err(no_memory)?,
        }
        Ok(())
    }
}

/// What a product says for which there is no room for a copy of B.
fn no_memory(source: FormatError) -> BackendError {
    BackendError::Failed {
        backend: NAME.to_owned(),
        operation: "copy a B whose columns are not next to each other".to_owned(),
        source: Box::new(source),
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
