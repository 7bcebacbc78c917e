//! A prepared plan: made by a [`CpuLowering`] and run by it.
//!
//! [`product`](super::product) reads B in place or packed, [`tasks`](super::tasks) runs the tasks on it.

use std::fmt;

use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, Lowering, PreparedSpmm, ProductShape,
    put_new_values,
};
use girih_formats::{Buffer, FormatError, Scalar, Tiling};
use girih_planner::file::Attachment;
use girih_planner::schedule::{Columns, Task};
use girih_planner::{Fingerprint, NewValues, Plan, Schedule};

use super::scratch::{PanelScratch, ScratchPool};
use super::split::SplitWindows;
use super::team::Team;
use crate::NAME;
use crate::isa::{KernelScalar, Kernels};
use crate::layout::{CsrLayout, Sources};
use crate::lowering::{Case, CpuLowering, ProductLowering};
use crate::operands::{Input, Output, Source};
use crate::prepare::saved::{LoadError, load};
use crate::prepare::{LayoutSource, Parts, build};

/// A plan's tiles and tasks, shared, with the kernels that multiply them.
pub(crate) struct Prepared<T: Scalar> {
    /// Every decision. The other fields were made by it, and products read it.
    pub(crate) lowering: CpuLowering,
    /// Whether the layout came with the plan.
    pub(super) is_loaded: bool,
    pub(super) kernels: Kernels<T>,
    pub(super) team: Team,
    pub(super) tiling: Tiling<T>,
    pub(super) tasks: Buffer<Task>,
    /// The columns of C that each task is for, if not for all.
    pub(super) columns: Option<Columns>,
    pub(super) csr_layout: Option<CsrLayout<T>>,
    pub(super) panel_scratch: Option<PanelScratch<T>>,
    pub(super) split: SplitWindows<T::Acc>,
    /// For a B that kernels can't read in place.
    pub(super) b_copies: ScratchPool<T>,
    /// How new values get into the tiling, and from there into the copy of CSR.
    pub(super) new_values: Option<NewValues>,
    pub(super) sources: Option<Sources>,
    #[cfg(test)]
    pub(super) recorder: Option<&'static crate::exec::recorder::Recorder>,
}

impl<T: KernelScalar> Prepared<T> {
    /// Prepares for this machine.
    #[cfg(test)]
    pub(super) fn new(
        isa: crate::Isa,
        team: Team,
        tiling: &Tiling<T>,
        schedule: &Schedule,
        n: usize,
    ) -> Result<Self, String> {
        let case = Case::new(tiling, n, team.threads(), isa, crate::machine::Machine::detect());
        Self::build(case, team, tiling, schedule)
    }

    /// Prepares for the machine of `case`. The schedule must be valid for the tiling.
    ///
    /// # Errors
    /// If the sums of split windows don't fit in memory.
    pub(crate) fn build(
        case: Case,
        team: Team,
        tiling: &Tiling<T>,
        schedule: &Schedule,
    ) -> Result<Self, String> {
        let parts = build(tiling, schedule, case, LayoutSource::Matrix)?;
        Ok(Self::from_parts(parts, team, tiling, schedule, false))
    }

    /// Prepares by the layout that a plan has saved for this machine.
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
    ) -> Result<Self, LoadError> {
        let parts = load(tiling, schedule, matrix, case, saved)?;
        Ok(Self::from_parts(parts, team, tiling, schedule, true))
    }

    fn from_parts(
        Parts { lowering, built, split }: Parts<'_, T>,
        team: Team,
        tiling: &Tiling<T>,
        schedule: &Schedule,
        is_loaded: bool,
    ) -> Self {
        let mut csr_layout = built.csr_layout;
        if let Some(CsrLayout::Tiles(tiled)) = &mut csr_layout {
            tiled.prefetches_b = lowering.prefetch_b.choice;
        }
        Self {
            kernels: T::kernels(lowering.case.isa),
            csr_layout,
            panel_scratch: built.panel_scratch,
            lowering,
            is_loaded,
            team,
            tiling: tiling.clone(),
            tasks: schedule.tasks().clone(),
            columns: schedule.columns().cloned(),
            split,
            b_copies: ScratchPool::growing(),
            new_values: None,
            sources: None,
            #[cfg(test)]
            recorder: None,
        }
    }

    /// The same, ready for new values on the pattern of `plan`, which it was prepared for.
    pub(crate) fn refreshable(self, plan: &Plan) -> Self {
        Self { new_values: Some(plan.new_values()), ..self }
    }

    /// B as a product reads it.
    pub(super) fn input(&self, b: Input<T>, product: &ProductLowering) -> Input<T> {
        Input {
            is_far: product.b_is_far,
            prefetch_a: product.prefetch_a,
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

    /// One pass over the values, in parallel, and one more for a copy of CSR. The first call also finds out where
    /// they go, and copies the value array, which the plan shares.
    fn refresh(&mut self, values: DenseView<'_>) -> Result<(), BackendError> {
        let refused = |reason| BackendError::NewValues { backend: NAME.to_owned(), reason };
        if let (Some(layout), Tiling::Csr(a), None) =
            (&self.csr_layout, &self.tiling, &self.sources)
        {
            self.sources = Some(layout.sources(a).map_err(refused)?);
        }
        let Some(order) = &mut self.new_values else {
            return Err(refused("it was prepared without a plan".to_owned()));
        };
        put_new_values(NAME, order, &mut self.tiling, values)?;
        if let (Some(layout), Tiling::Csr(a), Some(sources)) =
            (&mut self.csr_layout, &self.tiling, &self.sources)
        {
            layout.refresh(a, sources);
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

/// The error of a product for which there is no memory for a copy of B.
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
