//! The short way from a matrix to a product: [`spmm`] for one, [`PlanMatrix::plan`] and
//! [`PreparePlan::prepare`] for many.
//!
//! Nothing here multiplies: these are thin layers over [`Planner`], [`backends`](crate::backends) and
//! [`PreparedSpmm`](crate::PreparedSpmm), which remain the way to all that this one leaves out.

mod batch;
#[cfg(any(feature = "faer", feature = "nalgebra"))]
mod foreign;
mod gather;
mod many;
mod operand;
mod pair;
mod prepared;
mod sampled;

use std::sync::LazyLock;

use thiserror::Error;

use girih_backend::{Aggregation, BackendError, DenseScalar, Epilogue, Registry, SpmmBackend};
use girih_formats::{Csr, FormatError, Scalar};
use girih_planner::{Plan, PlanError, PlanOptions, Planner};

pub use many::PreparedMany;
pub use operand::Operand;
pub use pair::{PlanPair, PreparedPair};
pub use prepared::Prepared;
pub use sampled::{sddmm, sddmm_into};

/// A product that was not planned, or not computed, or its matrix not made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpmmError {
    /// The matrix is not one, or does not fit another.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The matrix could not be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The product could not be computed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// The device's backend, made once: it stays open, and kernels stay loaded, between preparations.
#[cfg(feature = "cuda")]
static DEVICE: LazyLock<crate::CudaBackend> = LazyLock::new(crate::CudaBackend::default);

/// The [`backends`](crate::backends) of this machine.
static HERE: LazyLock<Registry> = LazyLock::new(|| {
    let backends = crate::host_backends();
    #[cfg(feature = "cuda")]
    let backends = backends.prefer(DEVICE.clone());
    backends
});

/// The backends that one product is for.
static FOR_ONE: LazyLock<Registry> = LazyLock::new(crate::host_backends);

/// `A·B`, once: B may be an ndarray matrix or vector, or a slice; C is of the same kind.
///
/// A is multiplied as it is stored, on the CPU: other layouts and devices save time from the second product on. For
/// many products, [plan](PlanMatrix::plan) and [prepare](PreparePlan::prepare) once. O(m) time besides the
/// product, and no copy of A but of complex values.
///
/// ```
/// use girih::ndarray::array;
/// use girih::prelude::*;
///
/// // [ 1 0 2 ]
/// // [ 0 3 0 ]
/// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let b = array![[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];
/// assert_eq!(girih::spmm(&a, &b)?, array![[3.0, 2.0], [0.0, 3.0]]);
/// assert_eq!(girih::spmm(&a, &[1.0, 1.0, 1.0][..])?, [3.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If B has not as many rows as A has columns, or there is no memory.
pub fn spmm<T: DenseScalar, B: Operand<Value = T>>(
    a: &Csr<T>,
    b: B,
) -> Result<B::Product, SpmmError> {
    let options = PlanOptions::new(b.matrix().ncols()).once(true);
    let plan = a.plan(options)?;
    let prepared = plan.prepare_on(FOR_ONE.best_for(&plan)?.backend)?;
    Ok(prepared.multiply(b)?)
}

/// Plans a matrix: [`Planner::plan`], as a method of [`Csr`].
pub trait PlanMatrix {
    /// Plans products with as many columns as given, or with [`PlanOptions`].
    ///
    /// ```
    /// use girih::prelude::*;
    ///
    /// let a = Csr::<f32>::identity(100)?;
    /// let plan = a.plan(64)?;
    /// let transposed = a.plan(PlanOptions::new(64).format(FormatSpec::Csr).op(Op::Transpose))?;
    /// assert_eq!((plan.nrows(), transposed.spec()), (100, FormatSpec::Csr));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Planner::plan`].
    fn plan(&self, options: impl Into<PlanOptions>) -> Result<Plan, PlanError>;

    /// Plans products with the matrix and with its transpose, whatever [`PlanOptions::op`] says.
    ///
    /// [`PlanPair`] says what a symmetric matrix, or pattern, saves. To find out takes O(nnz).
    ///
    /// # Errors
    /// As [`Planner::plan`].
    fn plan_pair(&self, options: impl Into<PlanOptions>) -> Result<PlanPair, PlanError>;
}

impl<T: Scalar> PlanMatrix for Csr<T> {
    fn plan(&self, options: impl Into<PlanOptions>) -> Result<Plan, PlanError> {
        Planner::new(options.into()).plan(self)
    }

    fn plan_pair(&self, options: impl Into<PlanOptions>) -> Result<PlanPair, PlanError> {
        PlanPair::of(self, options.into())
    }
}

/// Prepares a plan: [`SpmmBackend::prepare`], as a method of [`Plan`].
pub trait PreparePlan {
    /// Prepares for the backend of this machine that is estimated fastest, as
    /// [`Registry::best_for`] chooses among [`backends`](crate::backends).
    ///
    /// The backends are made at the first call and kept as long as the process lives.
    ///
    /// ```
    /// use girih::prelude::*;
    ///
    /// let a = Csr::<f64>::identity(3)?;
    /// let prepared = a.plan(1)?.prepare()?;
    /// assert_eq!(prepared.multiply(&[1.0, 2.0, 3.0][..])?, [1.0, 2.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`BackendError::NoBackend`] if none can run the plan, and what the chosen one fails for.
    fn prepare(&self) -> Result<Prepared, BackendError>;

    /// The same among the backends that execute an epilogue, for
    /// [`Prepared::multiply_with`]: not every one does.
    ///
    /// # Errors
    /// [`BackendError::NoBackend`] if none can run the plan with the epilogue, and what the chosen one fails
    /// for.
    fn prepare_with(&self, epilogue: &Epilogue<'_>) -> Result<Prepared, BackendError>;

    /// The same among the backends that compute an aggregation, for [`Prepared::aggregate`]. They do so for
    /// plans in CSR.
    ///
    /// # Errors
    /// [`BackendError::NoBackend`] if none can aggregate by the plan, and what the chosen one fails for.
    fn prepare_aggregating(&self, aggregation: Aggregation) -> Result<Prepared, BackendError>;

    /// Prepares for a backend of the caller's choice.
    ///
    /// # Errors
    /// As [`SpmmBackend::prepare`].
    fn prepare_on(&self, backend: &dyn SpmmBackend) -> Result<Prepared, BackendError>;
}

impl PreparePlan for Plan {
    fn prepare(&self) -> Result<Prepared, BackendError> {
        self.prepare_on(HERE.best_for(self)?.backend)
    }

    fn prepare_with(&self, epilogue: &Epilogue<'_>) -> Result<Prepared, BackendError> {
        let chosen = HERE.best_that(self, |backend| backend.supports_epilogue(self, epilogue))?;
        self.prepare_on(chosen.backend)
    }

    fn prepare_aggregating(&self, aggregation: Aggregation) -> Result<Prepared, BackendError> {
        let chosen =
            HERE.best_that(self, |backend| backend.supports_aggregation(self, aggregation))?;
        self.prepare_on(chosen.backend)
    }

    fn prepare_on(&self, backend: &dyn SpmmBackend) -> Result<Prepared, BackendError> {
        Ok(Prepared::new(backend.name(), self, backend.prepare(self)?))
    }
}
