//! A prepared plan, made by a [`CpuLowering`] and run by it: [`panels`] reads B in place or packed, [`tasks`] runs
//! the tasks on it.

mod panels;
#[cfg(test)]
mod ran;
mod tasks;

use std::fmt;

use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, Lowering, PreparedSpmm, ProductShape,
};
use girih_formats::{Buffer, FormatError, Scalar, Tiling};
use girih_planner::{Attachment, Columns, Fingerprint, Schedule, Task};

use crate::NAME;
use crate::copies::Copies;
use crate::formats::{Made, Relaid, Source as CopySource};
use crate::isa::{KernelScalar, Kernels};
use crate::lowering::{Case, CpuLowering, Product, Work};
use crate::operands::{Input, Output, Source};
use crate::packing::Packing;
use crate::saved::{Loaded, NotLoaded, load};
use crate::split::Split;
use crate::team::Team;

/// A plan's tiles and tasks, shared, with the kernels that multiply them.
pub(crate) struct Prepared<T: Scalar> {
    /// Every decision: what is below was made by it, and products read it.
    pub(crate) lowering: CpuLowering,
    /// Whether the layout came with the plan.
    is_loaded: bool,
    kernels: Kernels<T>,
    team: Team,
    tiling: Tiling<T>,
    tasks: Buffer<Task>,
    /// The columns of C that each task is for, if not for all.
    columns: Option<Columns>,
    relaid: Option<Relaid<T>>,
    packing: Option<Packing<T>>,
    split: Split<T::Acc>,
    copies: Copies<T>,
    #[cfg(test)]
    recorder: Option<&'static crate::lowering::ran::Recorder>,
}

/// What the schedule says of a tiling, and the sums of split windows.
///
/// # Errors
/// If these don't fit in memory.
pub(crate) fn work<T: KernelScalar>(
    tiling: &Tiling<T>,
    schedule: &Schedule,
    case: &Case,
) -> Result<(Work, Split<T::Acc>), String> {
    let (tasks, columns) = (schedule.tasks(), schedule.columns());
    // Parts of a window that differ by columns write to their own elements of C: nothing to add up.
    let cut = if columns.is_some() { &[] } else { &tasks[..] };
    let split = Split::new(tiling, cut, case.stored)?;
    let work = Work { tasks: tasks.len(), by_columns: columns.is_some(), split: split.sums() };
    Ok((work, split))
}

/// What [`Prepared::of`] would decide, without copies of the matrix.
///
/// # Errors
/// As [`Prepared::of`].
pub(crate) fn lowered<T: KernelScalar>(
    tiling: &Tiling<T>,
    schedule: &Schedule,
    case: Case,
) -> Result<CpuLowering, String> {
    let (work, split) = work(tiling, schedule, &case)?;
    let mut counted = Made::new(tiling, schedule.tasks(), &split, CopySource::Nowhere);
    Ok(CpuLowering::decide(case, work, &mut counted))
}

impl<T: KernelScalar> Prepared<T> {
    /// Decided for this machine.
    #[cfg(test)]
    fn new(
        isa: crate::Isa,
        team: Team,
        tiling: &Tiling<T>,
        schedule: &Schedule,
        n: usize,
    ) -> Result<Self, String> {
        let case = Case::of(tiling, n, team.threads(), isa, crate::machine::Machine::here());
        Self::of(case, team, tiling, schedule)
    }

    /// Decided for a machine. The schedule must be valid for the tiling.
    ///
    /// # Errors
    /// If the sums of split windows don't fit in memory.
    pub(crate) fn of(
        case: Case,
        team: Team,
        tiling: &Tiling<T>,
        schedule: &Schedule,
    ) -> Result<Self, String> {
        let (work, split) = work(tiling, schedule, &case)?;
        let mut made = Made::new(tiling, schedule.tasks(), &split, CopySource::Matrix);
        let lowering = CpuLowering::decide(case, work, &mut made);
        Ok(Self::from_parts((lowering, made, split), team, tiling, schedule, false))
    }

    /// By the layout that a plan keeps for this machine.
    ///
    /// # Errors
    /// As [`load`].
    pub(crate) fn load(
        case: Case,
        team: Team,
        tiling: &Tiling<T>,
        schedule: &Schedule,
        matrix: Option<&Fingerprint>,
        saved: &Attachment,
    ) -> Result<Self, NotLoaded> {
        let loaded = load(tiling, schedule, matrix, case, saved)?;
        Ok(Self::from_parts(loaded, team, tiling, schedule, true))
    }

    fn from_parts(
        (lowering, made, split): Loaded<'_, T>,
        team: Team,
        tiling: &Tiling<T>,
        schedule: &Schedule,
        is_loaded: bool,
    ) -> Self {
        let mut relaid = made.relaid;
        if let Some(Relaid::Patterns(patterns)) = &mut relaid {
            patterns.prefetch(lowering.prefetch_b.choice);
        }
        Self {
            kernels: T::kernels(lowering.case.isa),
            relaid,
            packing: made.packing,
            lowering,
            is_loaded,
            team,
            tiling: tiling.clone(),
            tasks: schedule.tasks().clone(),
            columns: schedule.columns().cloned(),
            split,
            copies: Copies::new(),
            #[cfg(test)]
            recorder: None,
        }
    }

    /// B as a product reads it.
    fn placed(&self, b: Input<T>, product: &Product) -> Input<T> {
        Input {
            is_far: product.b_is_far,
            hides_a: product.prefetch_a,
            #[cfg(test)]
            recorder: self.recorder,
            ..b
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
        let out = Output::new(&mut c, alpha, beta);
        match Input::in_place(&b) {
            Some(b) => self.product(b, out, n),
            None => self.copied(Source::new(&b), out, n).map_err(no_memory)?,
        }
        Ok(())
    }

    fn lowering(&self, n: usize) -> Lowering {
        let lowering = self.lowering.describe(n, self.team.threads());
        match self.is_loaded {
            true => lowering.with("layout", "loaded with the plan", "kept for this machine"),
            false => lowering,
        }
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
            .field("isa", &self.lowering.case.isa)
            .field("spec", &self.tiling.spec())
            .field("dtype", &T::DTYPE)
            .field("tasks", &self.tasks.len())
            .field("split_windows", &self.split.windows().len())
            .finish_non_exhaustive()
    }
}
