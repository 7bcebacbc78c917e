//! From a matrix and options to a plan.

use girih_formats::{
    AnyTiling, Csr, CsrPattern, DType, FormatError, FormatSpec, RowLayout, Scalar, Tiling,
};

use crate::cost::{Cost, Figures, Problem};
use crate::explain::{Bytes, Seconds};
use crate::figures::{bandwidth, figures};
use crate::plan::schedule;
use crate::{
    Candidate, Explanation, Fingerprint, FormatChoice, Outcome, Plan, PlanError, PlanOptions,
};

/// The formats considered when the choice is free. Of equal times the first wins.
const CANDIDATES: [FormatSpec; 10] = [
    FormatSpec::Csr,
    FormatSpec::Bcsr { block_rows: 8, block_cols: 8 },
    FormatSpec::Bcsr { block_rows: 16, block_cols: 16 },
    FormatSpec::Bcsr { block_rows: 64, block_cols: 64 },
    FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 },
    FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
    FormatSpec::Wcsr { window_rows: 64, pad_cols: 16 },
    FormatSpec::BlockedEll { block_size: 16 },
    FormatSpec::BMat { pattern_only: false },
    FormatSpec::TwoFour,
];

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
    /// Candidates are priced by counts of the pattern, O(nnz log row) each; only the chosen one is
    /// built.
    ///
    /// # Errors
    /// [`PlanError::Options`] if an option is out of range, [`PlanError::Refused`] if the fixed
    /// format breaks an option, [`PlanError::NothingFits`] if every candidate does, and
    /// [`PlanError::Format`] if the fixed format cannot hold the matrix.
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
        let (spec, reason, candidates) = match self.options.format {
            FormatChoice::Fixed(spec) => self.admit(a.pattern(), T::DTYPE, layout, spec)?,
            FormatChoice::Auto => self.choose(a.pattern(), T::DTYPE, layout)?,
        };
        let layout = layout.with_window_rows(spec.window_rows())?;
        let (tiling, fingerprint) =
            rayon::join(|| Tiling::from_csr(a, spec, layout), || Fingerprint::of(a));
        let tiling = AnyTiling::from(tiling?);
        let (schedule, sentence) = schedule(&tiling, self.options.n);
        Ok(Plan {
            tiling,
            schedule,
            options: self.options.clone(),
            fingerprint: Some(fingerprint),
            explanation: Explanation { reason, candidates, schedule: sentence },
        })
    }

    /// Checks the one format that was asked for.
    fn admit(
        &self,
        pattern: CsrPattern<'_>,
        dtype: DType,
        layout: &RowLayout,
        spec: FormatSpec,
    ) -> Result<(FormatSpec, String, Vec<Candidate>), PlanError> {
        let (cost, figures) = self.price(pattern, dtype, layout, spec, bandwidth(pattern))?;
        if let Some(reason) = self.objection(&figures) {
            return Err(PlanError::Refused { spec, reason });
        }
        let candidate = Candidate { spec, outcome: Outcome::Chosen, cost: Some(cost) };
        let reason = format!("{spec} was asked for: {}", describe(&cost));
        Ok((spec, reason, vec![candidate]))
    }

    /// Prices every candidate and takes the fastest.
    fn choose(
        &self,
        pattern: CsrPattern<'_>,
        dtype: DType,
        layout: &RowLayout,
    ) -> Result<(FormatSpec, String, Vec<Candidate>), PlanError> {
        let bandwidth = bandwidth(pattern);
        let mut candidates: Vec<Candidate> = CANDIDATES
            .into_iter()
            .map(|spec| match self.price(pattern, dtype, layout, spec, bandwidth) {
                Ok((cost, figures)) => {
                    let outcome = match self.objection(&figures) {
                        Some(reason) => Outcome::Rejected { reason },
                        None => Outcome::Lost,
                    };
                    Candidate { spec, outcome, cost: Some(cost) }
                }
                Err(error) => {
                    let outcome = Outcome::Rejected { reason: error.to_string() };
                    Candidate { spec, outcome, cost: None }
                }
            })
            .collect();
        let mut order: Vec<(usize, Cost)> = candidates
            .iter()
            .enumerate()
            .filter(|(_, c)| c.outcome == Outcome::Lost)
            .filter_map(|(i, c)| c.cost.map(|cost| (i, cost)))
            .collect();
        order.sort_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds));
        let Some(&(winner, cost)) = order.first() else {
            return Err(PlanError::NothingFits { reasons: reasons(&candidates) });
        };
        let spec = candidates[winner].spec;
        candidates[winner].outcome = Outcome::Chosen;
        let n = self.options.n;
        let mut reason = format!("{spec} is estimated fastest for n = {n}: {}", describe(&cost));
        if let Some(&(second, next)) = order.get(1) {
            let factor = next.seconds / cost.seconds.max(f64::MIN_POSITIVE);
            let second = candidates[second].spec;
            reason += &format!("; next is {second}, {factor:.2} times as long");
        }
        Ok((spec, reason, candidates))
    }

    fn price(
        &self,
        pattern: CsrPattern<'_>,
        dtype: DType,
        layout: &RowLayout,
        spec: FormatSpec,
        bandwidth: u64,
    ) -> Result<(Cost, Figures), FormatError> {
        let layout = layout.with_window_rows(spec.window_rows())?;
        let figures = figures(pattern, spec, &layout, dtype)?;
        let problem = Problem {
            nrows: pattern.nrows() as u64,
            ncols: pattern.ncols() as u64,
            bandwidth,
            n: self.options.n as u64,
            dtype,
            device: &self.options.target,
        };
        Ok((Cost::estimate(&problem, &figures), figures))
    }

    /// Why the options rule a format out, and what to do; `None` if they don't.
    fn objection(&self, figures: &Figures) -> Option<String> {
        if self.options.exact_nonfinite && !figures.is_exact() {
            return Some(format!(
                "it would store {} fill-in zeros and exact NaN and Inf propagation was asked for; \
                 csr and bmat store none",
                figures.stored - figures.nnz
            ));
        }
        match self.options.memory_limit {
            Some(limit) if figures.bytes > limit => Some(format!(
                "its tiles need {} bytes ({}) and the limit is {limit} ({})",
                figures.bytes,
                Bytes(figures.bytes),
                Bytes(limit)
            )),
            _ => None,
        }
    }
}

fn describe(cost: &Cost) -> String {
    format!("{}, bound by {}", Seconds(cost.seconds), cost.dominant.name())
}

fn reasons(candidates: &[Candidate]) -> String {
    let reasons = candidates.iter().filter_map(|c| match &c.outcome {
        Outcome::Rejected { reason } => Some(format!("{}: {reason}", c.spec)),
        Outcome::Chosen | Outcome::Lost => None,
    });
    reasons.collect::<Vec<_>>().join("; ")
}
