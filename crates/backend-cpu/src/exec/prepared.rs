//! A prepared plan: made by a [`CpuLowering`] and run by it.
//!
//! [`product`](super::product) reads B in place or packed, [`tasks`](super::tasks) runs the tasks on it.

use std::fmt;

use girih_backend::{
    Aggregation, BackendError, DenseScalar, DenseView, DenseViewMut, Epilogue, Lowering,
    PreparedSpmm, ProductShape, put_new_values,
};
use girih_formats::{Buffer, FormatError, Real, Scalar, Tiling};
use girih_planner::file::Attachment;
use girih_planner::schedule::{Columns, Task};
use girih_planner::{Fingerprint, NewValues, Plan, Schedule};
use girih_simd::Input;

use super::aggregate::known_aggregation;
use super::scratch::{PanelScratch, ScratchPool};
use super::split::SplitWindows;
use super::store_c::known_epilogue;
use super::team::Team;
use crate::NAME;
use crate::kernels::{CpuScalar, Kernels};
use crate::layout::{CsrLayout, Sources};
use crate::lowering::{Case, CpuLowering, ProductLowering};
use crate::prepare::saved::{LoadError, load};
use crate::prepare::{LayoutSource, Parts, build};

/// A plan's tiles and tasks, shared, with the kernels that multiply them.
pub(crate) struct Prepared<T: Real> {
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
    /// For a B that is widened first.
    pub(super) wide_b: ScratchPool<T::Acc>,
    /// For sums that are added up slab by slab before they are rounded.
    pub(super) slab_sums: ScratchPool<T::Acc>,
    /// How new values get into the tiling, and from there into the copy of CSR.
    pub(super) new_values: Option<NewValues>,
    pub(super) sources: Option<Sources>,
    #[cfg(test)]
    pub(super) recorder: Option<&'static girih_simd::Recorder>,
}

impl<T: CpuScalar> Prepared<T> {
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
        // Products of the plan's own columns allocate nothing.
        let Case { k, n, .. } = lowering.case;
        let product = lowering.product(n, n == 1, team.threads());
        let widened = if product.widens_b { k.saturating_mul(n) } else { 0 };
        let copied = product.line_stride.map_or(0, |stride| k.saturating_mul(stride));
        Self {
            kernels: Kernels::<T>::new(lowering.case.isa),
            csr_layout,
            panel_scratch: built.panel_scratch,
            lowering,
            is_loaded,
            team,
            tiling: tiling.clone(),
            tasks: schedule.tasks().clone(),
            columns: schedule.columns().cloned(),
            split,
            b_copies: ScratchPool::growing_from(copied),
            wide_b: ScratchPool::growing_from(widened),
            slab_sums: ScratchPool::growing(),
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
    pub(super) fn input<S: Scalar>(&self, b: Input<S>, product: &ProductLowering) -> Input<S> {
        Input {
            is_far: product.b_is_far,
            prefetch_a: product.prefetch_a,
            #[cfg(test)]
            recorder: self.recorder,
            ..b
        }
    }
}

impl<T: CpuScalar + DenseScalar> PreparedSpmm for Prepared<T> {
    fn execute(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        self.execute_with(alpha, b, beta, c, &Epilogue::new())
    }

    /// The bits are those of the
    /// plain product, put through the epilogue in the accumulation type, then rounded. A bias with other strides than 1
    /// is copied.
    fn execute_with(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
        epilogue: &Epilogue<'_>,
    ) -> Result<(), BackendError> {
        let (m, k, dtype) = (self.tiling.nrows(), self.tiling.ncols(), T::DTYPE);
        let shape = ProductShape { m, k, dtype };
        let n = shape.check_rounded(&b, &c)?;
        epilogue.check(&shape, n)?;
        known_epilogue(epilogue).map_err(|unsupported| unsupported.by(NAME))?;
        let Some(b) = T::view(b) else { unreachable!("B's type was checked") };
        if m == 0 || n == 0 {
            return Ok(());
        }
        self.product_into((alpha, beta), &b, c, epilogue).map_err(no_memory)
    }

    /// For CSR. On the threads of a product, from the entries as stored, in tasks of equally many entries. A B whose
    /// columns are not next to each other is copied.
    fn aggregate(
        &self,
        aggregation: Aggregation,
        b: DenseView<'_>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        let (m, k, dtype) = (self.tiling.nrows(), self.tiling.ncols(), T::DTYPE);
        ProductShape { m, k, dtype }.check_operands(&b, &c)?;
        known_aggregation(self.tiling.kind(), aggregation)
            .map_err(|unsupported| unsupported.by(NAME))?;
        let (Some(b), Some(c), Tiling::Csr(a)) = (T::view(b), T::acc_view_mut(c), &self.tiling)
        else {
            unreachable!("the format and the operands' types were checked");
        };
        self.aggregate_rows(a, aggregation, &b, c).map_err(no_memory)
    }

    /// On the threads of a product: one pass over the values, and one more for a copy of CSR. The first call also finds out where
    /// they go, and copies the value array, which the plan shares.
    fn refresh(&mut self, values: DenseView<'_>) -> Result<(), BackendError> {
        self.team.clone().run(|| self.put_values(values))
    }

    fn lowering(&self, n: usize) -> Lowering {
        let lowering = self.lowering.describe(n, self.team.threads());
        match self.is_loaded {
            true => lowering.with("layout", "loaded with the plan", "kept for this machine"),
            false => lowering,
        }
    }
}

impl<T: CpuScalar + DenseScalar> Prepared<T> {
    /// [`refresh`](PreparedSpmm::refresh), on the threads that loops run on.
    fn put_values(&mut self, values: DenseView<'_>) -> Result<(), BackendError> {
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
}

/// The error of a product for which there is no memory for a copy of B, a B that is widened, or sums that are rounded.
fn no_memory(source: FormatError) -> BackendError {
    BackendError::Failed {
        backend: NAME.to_owned(),
        operation: "take memory for a copy of B, or for sums of C before they are rounded"
            .to_owned(),
        source: Box::new(source),
    }
}

impl<T: Real> fmt::Debug for Prepared<T> {
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
