//! A prepared plan, made by a [`CpuLowering`] and run by it: [`panels`](super::panels) reads B in place or packed,
//! [`tasks`](super::tasks) runs the tasks on it.

use std::fmt;

use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, Lowering, PreparedSpmm, ProductShape,
};
use girih_formats::{Buffer, FormatError, Scalar, Tiling};
use girih_planner::{Attachment, Columns, Fingerprint, Schedule, Task};

use crate::NAME;
use crate::exec::scratch::copies::Copies;
use crate::exec::scratch::packing::Packing;
use crate::exec::split::Split;
use crate::exec::team::Team;
use crate::isa::{KernelScalar, Kernels};
use crate::layout::Relaid;
use crate::lowering::{Case, CpuLowering, Product};
use crate::operands::{Input, Output, Source};
use crate::prepare::saved::{Loaded, NotLoaded, load};
use crate::prepare::{Made, Source as CopySource, work};

/// A plan's tiles and tasks, shared, with the kernels that multiply them.
pub(crate) struct Prepared<T: Scalar> {
    /// Every decision: what is below was made by it, and products read it.
    pub(crate) lowering: CpuLowering,
    /// Whether the layout came with the plan.
    pub(super) is_loaded: bool,
    pub(super) kernels: Kernels<T>,
    pub(super) team: Team,
    pub(super) tiling: Tiling<T>,
    pub(super) tasks: Buffer<Task>,
    /// The columns of C that each task is for, if not for all.
    pub(super) columns: Option<Columns>,
    pub(super) relaid: Option<Relaid<T>>,
    pub(super) packing: Option<Packing<T>>,
    pub(super) split: Split<T::Acc>,
    pub(super) copies: Copies<T>,
    #[cfg(test)]
    pub(super) recorder: Option<&'static crate::exec::recorder::Recorder>,
}

impl<T: KernelScalar> Prepared<T> {
    /// Decided for this machine.
    #[cfg(test)]
    pub(super) fn new(
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
    pub(super) fn placed(&self, b: Input<T>, product: &Product) -> Input<T> {
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
