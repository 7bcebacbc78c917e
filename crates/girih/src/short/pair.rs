//! A matrix and its transpose, planned and prepared together.

use girih_backend::{BackendError, DenseScalar, SpmmBackend};
use girih_formats::{Csr, CsrPattern, FormatError, Scalar, for_any_tiling};
use girih_planner::{Op, Plan, PlanError, PlanOptions, Planner, Reorder, Space};
use girih_reorder::Reordering;

use super::{Operand, PlanMatrix, PreparePlan, Prepared};

/// Plans of a matrix and its transpose: what [`PlanMatrix::plan_pair`] makes.
///
/// | A | second plan | planning | memory and preparing |
/// |---|---|---|---|
/// | equal to Aᵀ | none: the first serves both | once | once |
/// | of a symmetric pattern | in the first's order and format | once, and tiles | twice |
/// | any other | its own order and format | twice | twice |
///
/// ```
/// use girih::PlanPair;
/// use girih::prelude::*;
///
/// // [ 1 0 2 ]
/// // [ 0 3 0 ]
/// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let plans = a.plan_pair(1)?;
/// let mut pair = plans.prepare()?;
/// assert_eq!(pair.multiply(&[1.0f32, 1.0, 1.0][..])?, [3.0, 3.0]);
/// assert_eq!(pair.multiply_transposed(&[1.0f32, 1.0][..])?, [1.0, 3.0, 2.0]);
///
/// // New values for both, in A's order.
/// pair.refresh(&[10.0f32, 20.0, 30.0])?;
/// assert_eq!(pair.multiply_transposed(&[1.0f32, 1.0][..])?, [10.0, 30.0, 20.0]);
///
/// // A symmetric matrix is prepared once. Plans are saved one by one.
/// let symmetric = Csr::<f64>::identity(3)?.plan_pair(1)?;
/// assert!(symmetric.transposed().is_none() && symmetric.prepare()?.is_shared());
/// let again = PlanPair::from_plans(plans.plan().clone(), plans.transposed().cloned())?;
/// assert_eq!(again.plan().nrows(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PlanPair {
    plan: Plan,
    transposed: Option<Plan>,
}

impl PlanPair {
    /// As [`PlanMatrix::plan_pair`].
    pub(super) fn of<T: Scalar>(a: &Csr<T>, options: PlanOptions) -> Result<Self, PlanError> {
        if a.is_symmetric() {
            return Ok(Self { plan: a.plan(options.op(Op::None))?, transposed: None });
        }
        Self::for_any_values(a, options)
    }

    /// The same with a second plan even if A equals its transpose now: for values that will not stay symmetric.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub fn for_any_values<T: Scalar>(
        a: &Csr<T>,
        options: impl Into<PlanOptions>,
    ) -> Result<Self, PlanError> {
        let plan = a.plan(options.into().op(Op::None))?;
        let options = plan.options().clone().op(Op::Transpose);
        let transposed = match has_symmetric_pattern(a)? {
            false => Planner::new(options).plan(a)?,
            true => in_the_order_of(&plan, a, options.format(plan.spec()))?,
        };
        Ok(Self { plan, transposed: Some(transposed) })
    }

    /// A pair of plans that were saved. Whether the second is of the same matrix is for the caller to know:
    /// compared are shapes, numbers of entries and value types. Without a second plan the first must be of a
    /// matrix that equals its transpose, which takes O(nnz) to see.
    ///
    /// # Errors
    /// [`PlanError::OtherMatrix`] if this is not so, or if the second plan was not made with [`Op::Transpose`].
    pub fn from_plans(plan: Plan, transposed: Option<Plan>) -> Result<Self, PlanError> {
        let of = |plan: &Plan| (plan.nrows(), plan.ncols(), plan.nnz(), plan.dtype());
        let (m, k, nnz, dtype) = of(&plan);
        let fits = match &transposed {
            None => partners_of(&plan).is_ok(),
            Some(second) => {
                of(second) == (k, m, nnz, dtype) && second.options().op == Op::Transpose
            }
        };
        match fits {
            true => Ok(Self { plan, transposed }),
            false => Err(PlanError::OtherMatrix),
        }
    }

    /// The plan of A.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The plan of Aᵀ; `None` if the first serves both.
    #[must_use]
    pub fn transposed(&self) -> Option<&Plan> {
        self.transposed.as_ref()
    }

    /// Prepares both, each for the backend of this machine that is estimated fastest:
    /// [`PreparePlan::prepare`].
    ///
    /// # Errors
    /// As [`PreparePlan::prepare`].
    pub fn prepare(&self) -> Result<PreparedPair, BackendError> {
        self.prepare_by(PreparePlan::prepare)
    }

    /// Prepares both for a backend of the caller's choice.
    ///
    /// # Errors
    /// As [`SpmmBackend::prepare`].
    pub fn prepare_on(&self, backend: &dyn SpmmBackend) -> Result<PreparedPair, BackendError> {
        self.prepare_by(|plan| plan.prepare_on(backend))
    }

    fn prepare_by(
        &self,
        prepare: impl Fn(&Plan) -> Result<Prepared, BackendError>,
    ) -> Result<PreparedPair, BackendError> {
        let plain = prepare(&self.plan)?;
        let second = match &self.transposed {
            Some(plan) => Second::Own(prepare(plan)?),
            None => Second::Shared { plan: Box::new(self.plan.clone()), partners: None },
        };
        Ok(PreparedPair { plain, second })
    }
}

/// A plan of the transpose of a matrix of symmetric pattern, by the order that another plan of it has.
fn in_the_order_of<T: Scalar>(
    plan: &Plan,
    a: &Csr<T>,
    options: PlanOptions,
) -> Result<Plan, PlanError> {
    if options.reorder == Reorder::None {
        return Planner::new(options).plan(a);
    }
    let cols = plan.col_permutation().cloned();
    let order = match plan.space() {
        Space::Caller => Reordering::of_layout(plan.tiling().layout().clone(), cols),
        Space::Permuted => Reordering::new(&plan.row_permutation(), cols),
    };
    Planner::new(options).plan_reordered(a, &order)
}

/// Whether each entry has a partner across the diagonal, whatever its value. O(nnz).
fn has_symmetric_pattern<T: Scalar>(a: &Csr<T>) -> Result<bool, FormatError> {
    Ok(a.nrows() == a.ncols() && a.with_values(vec![T::ONE; a.nnz()])?.is_symmetric())
}

/// A pair that is ready for products: A·X and Aᵀ·Y.
#[derive(Debug)]
pub struct PreparedPair {
    plain: Prepared,
    second: Second,
}

/// What multiplies by Aᵀ.
#[derive(Debug)]
enum Second {
    Own(Prepared),
    /// The first. New values must be symmetric, too: `partners` says which value each one must equal, once
    /// there were any.
    Shared {
        plan: Box<Plan>,
        partners: Option<Vec<u64>>,
    },
}

impl PreparedPair {
    /// A, prepared.
    #[must_use]
    pub fn plain(&self) -> &Prepared {
        &self.plain
    }

    /// Aᵀ, prepared: the same as [`plain`](Self::plain) if [shared](Self::is_shared).
    #[must_use]
    pub fn transposed(&self) -> &Prepared {
        match &self.second {
            Second::Own(prepared) => prepared,
            Second::Shared { .. } => &self.plain,
        }
    }

    /// Whether one prepared plan serves A and Aᵀ.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(self.second, Second::Shared { .. })
    }

    /// `A·X`: [`Prepared::multiply`] of [`plain`](Self::plain).
    ///
    /// # Errors
    /// As [`Prepared::multiply`].
    pub fn multiply<B: Operand>(&self, x: B) -> Result<B::Product, BackendError> {
        self.plain.multiply(x)
    }

    /// `Aᵀ·Y`: [`Prepared::multiply`] of [`transposed`](Self::transposed).
    ///
    /// # Errors
    /// As [`Prepared::multiply`].
    pub fn multiply_transposed<B: Operand>(&self, y: B) -> Result<B::Product, BackendError> {
        self.transposed().multiply(y)
    }

    /// Puts new values on the pattern of both, in the order of A's entries: [`Prepared::refresh`].
    ///
    /// A second plan has its values moved through a permutation that the first call finds, and keeps. A
    /// shared pair compares each value with its partner instead, and is refreshed once: O(nnz).
    ///
    /// # Errors
    /// As [`Prepared::refresh`], and [`BackendError::NewValues`] if a [shared](Self::is_shared) pair's values
    /// are not symmetric; [`PlanPair::for_any_values`] plans for those. The pair is then as it was, unless the
    /// backend fails with Aᵀ after it had taken the values of A.
    pub fn refresh<T: DenseScalar>(&mut self, values: &[T]) -> Result<(), BackendError> {
        match &mut self.second {
            Second::Own(prepared) => {
                self.plain.refresh(values)?;
                return prepared.refresh(values);
            }
            Second::Shared { plan, partners } => {
                let partners = match partners {
                    Some(partners) => &*partners,
                    missing => missing.insert(partners_of(plan).map_err(refused(&self.plain))?),
                };
                let equal = |(value, &at): (&T, &u64)| values.get(at as usize) == Some(value);
                if values.len() == partners.len() && !values.iter().zip(partners).all(equal) {
                    let reason =
                        "they are not symmetric, and one prepared plan serves the matrix and its \
                                  transpose; plan the pair for any values"
                            .to_owned();
                    return Err(refused(&self.plain)(reason));
                }
            }
        }
        self.plain.refresh(values)
    }
}

/// The error of values that a prepared plan does not take.
fn refused(prepared: &Prepared) -> impl Fn(String) -> BackendError {
    let backend = prepared.backend().to_owned();
    move |reason| BackendError::NewValues { backend: backend.clone(), reason }
}

/// For each entry (i, j) of a symmetric matrix that was planned, the place of entry (j, i). O(nnz).
fn partners_of(plan: &Plan) -> Result<Vec<u64>, String> {
    fn release<T: Scalar>(plan: &Plan, held: &Csr<T>) -> Result<Vec<u64>, String> {
        let a = plan.release(held).map_err(|error| error.to_string())?;
        match a.nnz() == plan.nnz() && a.is_symmetric() {
            true => Ok(partners(a.pattern())),
            false => Err("the plan does not say which entries are partners".to_owned()),
        }
    }
    for_any_tiling!(plan.tiling(), t => release(plan, &t.to_csr()))
}

fn partners(pattern: CsrPattern<'_>) -> Vec<u64> {
    // Rows come in order, so the entries of a column are met in the order in which its row has them.
    let mut next = pattern.row_ptr()[..pattern.nrows()].to_vec();
    let across = pattern.col_idx().iter().map(|&j| {
        let place = &mut next[j as usize];
        *place += 1;
        *place - 1
    });
    across.collect()
}
