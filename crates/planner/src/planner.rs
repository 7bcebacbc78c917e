//! From a matrix and options to a plan.

use girih_formats::{AnyTiling, Csr, FormatError, RowLayout, Scalar, Tiling};

use crate::choice::Choice;
use crate::plan::schedule;
use crate::{Explanation, Fingerprint, Plan, PlanError, PlanOptions};

/// Makes plans.
///
/// ```
/// use girih_formats::Csr;
/// use girih_planner::{PlanOptions, Planner};
///
/// let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0f32, 2.0, 3.0])?;
/// let plan = Planner::new(PlanOptions { n: 8, ..PlanOptions::default() }).plan(&a)?;
/// assert_eq!((plan.nrows(), plan.ncols(), plan.nnz()), (2, 3, 3));
/// println!("{}", plan.explanation());
/// # Ok::<(), girih_planner::PlanError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Planner {
    options: PlanOptions,
}

impl Planner {
    /// A planner with these options.
    #[must_use]
    pub fn new(options: PlanOptions) -> Self {
        Self { options }
    }

    /// Chooses a format for a matrix, builds its tiles and cuts them into tasks.
    ///
    /// Candidates are priced by counts of the pattern, O(nnz) each; only the chosen one is
    /// built.
    ///
    /// # Errors
    /// [`PlanError::Options`] if an option is out of range, [`PlanError::Refused`] if the fixed
    /// format breaks an option, [`PlanError::NothingFits`] if every candidate does, and
    /// [`PlanError::Format`] if the fixed format cannot hold the matrix, or a slot map is asked for
    /// and it is pattern-only.
    pub fn plan<T: Scalar>(&self, a: &Csr<T>) -> Result<Plan, PlanError>
    where
        AnyTiling: From<Tiling<T>>,
    {
        self.plan_ordered(a, &RowLayout::natural(a.nrows(), 1)?)
    }

    /// Like [`plan`](Self::plan), with rows in the order of `layout`; its windows are re-cut to
    /// each format's height.
    ///
    /// # Errors
    /// As [`plan`](Self::plan), and if the layout is of another matrix.
    pub fn plan_ordered<T: Scalar>(&self, a: &Csr<T>, layout: &RowLayout) -> Result<Plan, PlanError>
    where
        AnyTiling: From<Tiling<T>>,
    {
        self.options.check()?;
        if layout.nrows() != a.nrows() {
            let (found, expected) = (layout.nrows(), a.nrows());
            return Err(FormatError::LayoutMismatch { what: "rows", found, expected }.into());
        }
        let Choice { spec, reason, candidates } =
            Choice::of(&self.options, a.pattern(), T::DTYPE, layout)?;
        let layout = layout.with_window_rows(spec.window_rows())?;
        let (tiling, fingerprint) =
            rayon::join(|| Tiling::from_csr(a, spec, layout), || Fingerprint::of(a));
        let tiling = tiling?;
        let slot_map =
            if self.options.keep_slot_map { Some(tiling.slot_map(a.pattern())?) } else { None };
        let tiling = AnyTiling::from(tiling);
        let (schedule, sentence) = schedule(&tiling, self.options.n);
        Ok(Plan {
            tiling,
            schedule,
            options: self.options.clone(),
            fingerprint: Some(fingerprint),
            explanation: Explanation { reason, candidates, schedule: sentence },
            slot_map,
        })
    }
}
