//! From a matrix and options to a plan.

use girih_formats::stats::SharedStats;
use girih_formats::{AnyCsr, AnyTiling, Csr, FormatError, FormatSpec, RowLayout, Scalar, Tiling};
use girih_reorder::Reordering;

use crate::choice::{Choice, over_limit};
use crate::error::PlanError;
use crate::explanation;
use crate::explanation::{Candidate, Explanation};
use crate::fingerprint::Fingerprint;
use crate::options::{FormatChoice, Op, PlanOptions};
use crate::ordering::{Chosen, Reorder, choose};
use crate::plan::Plan;
use crate::progress::{Stage, Watch};

/// Makes plans.
///
/// ```
/// use girih_formats::Csr;
/// use girih_planner::{PlanOptions, Planner};
///
/// let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0f32, 2.0, 3.0])?;
/// let plan = Planner::new(PlanOptions::new(8)).plan(&a)?;
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

    /// Chooses an order and a format for a matrix, builds its tiles and cuts them into tasks. With
    /// [`Op::Transpose`](crate::Op) all of this is done for its transpose, which is computed first.
    ///
    /// Candidates are priced by counts of the pattern, O(nnz) each and made once for all that share
    /// them; only the chosen one is built.
    /// Orders that move columns copy the matrix while they are priced and built. For a
    /// [single product](PlanOptions::once) nothing is priced or copied: O(m).
    ///
    /// # Errors
    /// [`PlanError::Options`] if an option is out of range, [`PlanError::Refused`] if the fixed
    /// format breaks an option, [`PlanError::NothingFits`] if every candidate does,
    /// [`PlanError::Ordering`] if the requested order cannot be computed, and
    /// [`PlanError::Format`] if the fixed format cannot hold the matrix, or a slot map is requested
    /// and it is pattern-only.
    pub fn plan<T: Scalar>(&self, a: &Csr<T>) -> Result<Plan, PlanError> {
        self.make(a, None, Watch::nobody())
    }

    /// What there is to choose from for a matrix, with prices, in the fixed order; whatever format the
    /// options fix. Nothing is built: O(nnz) for each count that was not made for another candidate.
    ///
    /// # Errors
    /// [`PlanError::Options`] if an option is out of range, [`PlanError::NothingFits`] if every candidate
    /// breaks one.
    pub fn candidates<T: Scalar>(&self, a: &Csr<T>) -> Result<Vec<Candidate>, PlanError> {
        let nrows = match self.options.op {
            Op::None => a.nrows(),
            Op::Transpose => a.ncols(),
        };
        self.candidates_ordered(a, &RowLayout::natural(nrows, 1)?)
    }

    /// Like [`candidates`](Self::candidates), with rows in the order of `layout`: what an ordering
    /// saves, before it is taken.
    ///
    /// # Errors
    /// As [`candidates`](Self::candidates), and if the layout is of another matrix.
    pub fn candidates_ordered<T: Scalar>(
        &self,
        a: &Csr<T>,
        layout: &RowLayout,
    ) -> Result<Vec<Candidate>, PlanError> {
        let options = PlanOptions { format: FormatChoice::Auto, ..self.options.clone() };
        let options = options.with_honouring_kernels();
        options.check()?;
        let a = &options.op.apply(a);
        check_layout(a, layout)?;
        let shared = SharedStats::new(a.pattern(), layout);
        Ok(Choice::of(&options, &shared, T::DTYPE, Watch::nobody())?.candidates)
    }

    /// Like [`plan`](Self::plan), with rows in the order of `layout`; its windows are re-cut to
    /// each format's height.
    ///
    /// # Errors
    /// As [`plan`](Self::plan), and if the layout is of another matrix.
    pub fn plan_ordered<T: Scalar>(
        &self,
        a: &Csr<T>,
        layout: &RowLayout,
    ) -> Result<Plan, PlanError> {
        self.plan_reordered(a, &Reordering::of_layout(layout.clone(), None))
    }

    /// Like [`plan`](Self::plan), in an order that was computed before, whatever the options say of
    /// one. Its windows are re-cut to each format's height; its columns are used in the permuted
    /// space, and elsewhere where blocks of columns save more than the copy of B takes.
    ///
    /// # Errors
    /// As [`plan`](Self::plan), and if the order is of another matrix.
    ///
    /// ```
    /// use girih_generate::laplacian_5pt;
    /// use girih_planner::{PlanOptions, Planner};
    /// use girih_reorder::Method;
    ///
    /// let a = laplacian_5pt::<f32>(30, 30)?;
    /// let order = Method::Reverse.order(a.pattern())?;
    /// let plan = Planner::default().plan_reordered(&a, &order)?;
    /// assert_eq!(plan.row_permutation().new_index(0), 899);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plan_reordered<T: Scalar>(
        &self,
        a: &Csr<T>,
        order: &Reordering,
    ) -> Result<Plan, PlanError> {
        self.make(a, Some(order), Watch::nobody())
    }

    /// Makes a plan, in an order if one is given, whatever the options say of one.
    pub(crate) fn make<T: Scalar>(
        &self,
        a: &Csr<T>,
        given: Option<&Reordering>,
        watch: Watch<'_>,
    ) -> Result<Plan, PlanError> {
        self.make_any(AnyCsr::from(a), given, watch)
    }

    /// [`make`](Self::make), compiled once for each value type in this crate, not in each that uses it.
    fn make_any(
        &self,
        a: AnyCsr<'_>,
        given: Option<&Reordering>,
        watch: Watch<'_>,
    ) -> Result<Plan, PlanError> {
        match a {
            AnyCsr::F16(a) => self.make_typed(a, given, watch),
            AnyCsr::Bf16(a) => self.make_typed(a, given, watch),
            AnyCsr::F32(a) => self.make_typed(a, given, watch),
            AnyCsr::F64(a) => self.make_typed(a, given, watch),
            AnyCsr::C32(a) => self.make_typed(a, given, watch),
            AnyCsr::C64(a) => self.make_typed(a, given, watch),
        }
    }

    /// [`make`](Self::make), for a value type.
    fn make_typed<T: Scalar>(
        &self,
        a: &Csr<T>,
        given: Option<&Reordering>,
        watch: Watch<'_>,
    ) -> Result<Plan, PlanError> {
        let mut options = self.options.clone().with_honouring_kernels();
        if given.is_some() {
            options.reorder = Reorder::Given;
        }
        options.check()?;
        let a = &options.op.apply(a);
        if let Some(given) = given {
            check_order(given, a.nrows(), a.ncols())?;
        }
        if options.once {
            return once(options, a);
        }
        let Chosen { arranged, mut choice, considered, reason: order } =
            choose(&options, a, given, watch)?;
        let spec = choice.spec;
        let layout = arranged.layout.with_window_rows(spec.window_rows())?;
        let matrix = &arranged.matrix;
        watch.stage(Stage::Tiles);
        let (tiling, fingerprint) =
            girih_parallel::join(|| Tiling::from_csr(matrix, spec, layout), || Fingerprint::of(a));
        let tiling = tiling?;
        let slot_map = if options.keep_slot_map {
            watch.stage(Stage::SlotMap);
            Some(tiling.slot_map(matrix.pattern())?)
        } else {
            None
        };
        watch.stage(Stage::Tasks);
        let best = choice.schedules[0];
        let schedule =
            choice.cut(&options, (a.ncols(), a.nnz())).schedule(&best, &tiling, &choice.linear);
        let explanation = Explanation {
            reason: std::mem::take(&mut choice.reason),
            candidates: std::mem::take(&mut choice.candidates),
            schedule: explanation::sentence(&schedule, best.kind, &options),
            schedules: choice.schedules,
            order,
            orderings: considered,
            measured: None,
        };
        Ok(Plan {
            tiling: AnyTiling::from(tiling),
            schedule,
            options,
            fingerprint: Some(fingerprint),
            explanation,
            slot_map,
            placement: arranged.placement,
            attachments: Vec::new(),
        })
    }
}

/// The plan of a single product: a matrix in CSR, cut into tasks. O(m + tasks).
fn once<T: Scalar>(options: PlanOptions, a: &Csr<T>) -> Result<Plan, PlanError> {
    let (spec, dtype) = (FormatSpec::Csr, T::DTYPE);
    let refused = |reason| PlanError::Refused { spec, reason };
    options.kernels.check(&options.target, spec, dtype).map_err(refused)?;
    let layout = RowLayout::natural(a.nrows(), 1)?;
    let tiling = AnyTiling::from(Tiling::from_csr(a, spec, layout)?);
    if let Some(reason) = over_limit(&options, tiling.bytes()) {
        return Err(refused(reason));
    }
    let reason = "csr, as it is: the plan is for a single product, for which nothing is estimated";
    Ok(Plan::unpriced(tiling, options, reason.to_owned()))
}

/// Checks that a layout is of a matrix's rows.
fn check_layout<T: Scalar>(a: &Csr<T>, layout: &RowLayout) -> Result<(), FormatError> {
    let (found, expected) = (layout.nrows(), a.nrows());
    if found == expected {
        Ok(())
    } else {
        Err(FormatError::LayoutMismatch { what: "rows", found, expected })
    }
}

/// Checks that an order is one of a matrix of this shape.
fn check_order(order: &Reordering, nrows: usize, ncols: usize) -> Result<(), PlanError> {
    let rows = ("rows", order.rows().nrows(), nrows);
    let cols = order.cols().map(|cols| ("columns", cols.len(), ncols));
    for (what, found, expected) in [rows].into_iter().chain(cols) {
        if found != expected {
            return Err(FormatError::LayoutMismatch { what, found, expected }.into());
        }
    }
    Ok(())
}
