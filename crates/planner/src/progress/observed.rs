//! A planner that reports its progress.

use std::fmt::{self, Debug};

use girih_formats::{Csr, RowLayout, Scalar};
use girih_reorder::Reordering;

use crate::error::PlanError;
use crate::plan::Plan;
use crate::planner::Planner;
use crate::progress::{Progress, Watch};

/// A [`Planner`] that reports its progress to an observer: see [`Planner::observe`].
#[derive(Clone, Copy)]
pub struct Observed<'a> {
    planner: &'a Planner,
    observer: &'a dyn Fn(Progress),
}

impl Planner {
    /// This planner, reporting its progress to `observer`. Plans stay the same, byte for byte.
    ///
    /// The observer is called on the thread that plans, and on no other: when a stage begins, and as things
    /// get done where they are counted; some hundred times in all. Planning waits while it runs.
    ///
    /// ```
    /// use girih_generate::laplacian_5pt;
    /// use girih_planner::Planner;
    /// use girih_planner::progress::Progress;
    ///
    /// let a = laplacian_5pt::<f32>(30, 30)?;
    /// let plan = Planner::default()
    ///     .observe(&|progress: Progress| println!("{progress}"))
    ///     .plan(&a)?;
    /// assert_eq!(plan, Planner::default().plan(&a)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn observe<'a>(&'a self, observer: &'a dyn Fn(Progress)) -> Observed<'a> {
        Observed { planner: self, observer }
    }
}

impl Observed<'_> {
    /// As [`Planner::plan`].
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub fn plan<T: Scalar>(&self, a: &Csr<T>) -> Result<Plan, PlanError> {
        self.planner.make(a, None, Watch::by(self.observer))
    }

    /// As [`Planner::plan_ordered`].
    ///
    /// # Errors
    /// As [`Planner::plan_ordered`].
    pub fn plan_ordered<T: Scalar>(
        &self,
        a: &Csr<T>,
        layout: &RowLayout,
    ) -> Result<Plan, PlanError> {
        self.plan_reordered(a, &Reordering::of_layout(layout.clone(), None))
    }

    /// As [`Planner::plan_reordered`].
    ///
    /// # Errors
    /// As [`Planner::plan_reordered`].
    pub fn plan_reordered<T: Scalar>(
        &self,
        a: &Csr<T>,
        order: &Reordering,
    ) -> Result<Plan, PlanError> {
        self.planner.make(a, Some(order), Watch::by(self.observer))
    }
}

impl Debug for Observed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed").field("planner", self.planner).finish_non_exhaustive()
    }
}
