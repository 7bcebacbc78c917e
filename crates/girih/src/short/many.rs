//! Many sparse matrices of one pattern.

use girih_backend::ndarray::{Array3, ArrayView2, ArrayView3, ArrayViewMut3, Axis};
use girih_backend::{BackendError, DenseScalar, SpmmBackend};
use girih_parallel::current_num_threads;
use girih_parallel::prelude::*;
use girih_planner::Plan;

use super::batch::{SMALL, like, stacked};
use super::{PreparePlan, Prepared};

/// Multiplies a batch of sparse matrices that share one pattern, each by a dense matrix of its own.
///
/// The pattern is planned and prepared once, for each thread if products are small, and its values are
/// replaced before each product. So memory does not grow with the batch. A product costs moving its values once
/// or twice besides, O(nnz), as [`Prepared::refresh`] does, and a few microseconds of calls. For matrices whose
/// values stay the same over many products, one [`Prepared`] each is faster.
///
/// ```
/// use girih::ndarray::array;
/// use girih::prelude::*;
/// use girih::PreparedMany;
///
/// // [ v₀ 0  v₁ ]
/// // [ 0  v₂ 0  ]
/// let pattern = Csr::from_triplets(2, 3, [(0, 0, 1.0f32), (0, 2, 1.0), (1, 1, 1.0)])?;
/// let mut many = PreparedMany::prepare_on(&pattern.plan(1)?, &girih::CpuBackend::new())?;
/// let values = array![[1.0f32, 2.0, 3.0], [10.0, 20.0, 30.0]];
/// let b = array![[[1.0f32], [1.0], [1.0]], [[1.0], [0.0], [0.0]]];
/// let c = many.multiply(values.view(), b.view())?;
/// assert_eq!(c, array![[[3.0], [3.0]], [[10.0], [0.0]]]);
///
/// // The same B for all.
/// let b = array![[1.0f32], [0.0], [1.0]];
/// let c = many.multiply(values.view(), b.broadcast((2, 3, 1)).unwrap())?;
/// assert_eq!(c, array![[[3.0], [0.0]], [[30.0], [0.0]]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PreparedMany {
    /// At least one; one for each thread if products are small.
    workers: Vec<Prepared>,
}

impl PreparedMany {
    /// Prepares for the backend of this machine that is estimated fastest: [`PreparePlan::prepare`].
    ///
    /// # Errors
    /// As [`PreparePlan::prepare`].
    pub fn prepare(plan: &Plan) -> Result<Self, BackendError> {
        Self::prepare_by(plan, PreparePlan::prepare)
    }

    /// Prepares for a backend of the caller's choice.
    ///
    /// # Errors
    /// As [`SpmmBackend::prepare`].
    pub fn prepare_on(plan: &Plan, backend: &dyn SpmmBackend) -> Result<Self, BackendError> {
        Self::prepare_by(plan, |plan| plan.prepare_on(backend))
    }

    fn prepare_by(
        plan: &Plan,
        prepare: impl Fn(&Plan) -> Result<Prepared, BackendError>,
    ) -> Result<Self, BackendError> {
        let is_small = plan.nnz().saturating_mul(plan.options().n) <= SMALL;
        let count = if is_small { current_num_threads() } else { 1 };
        Ok(Self { workers: (0..count).map(|_| prepare(plan)).collect::<Result<_, _>>()? })
    }

    /// The pattern, prepared, with the values of one of the matrices.
    #[must_use]
    pub fn one(&self) -> &Prepared {
        &self.workers[0]
    }

    /// `Aₜ·Bₜ` for each matrix of a batch, in a C of its own.
    ///
    /// # Errors
    /// As [`multiply_into`](Self::multiply_into).
    #[expect(clippy::needless_pass_by_value, reason = "operands are references and views")]
    pub fn multiply<T: DenseScalar>(
        &mut self,
        values: ArrayView2<'_, T>,
        b: ArrayView3<'_, T>,
    ) -> Result<Array3<T::Acc>, BackendError> {
        let mut c = like(&b, [b.dim().0, self.one().nrows(), b.dim().2])?;
        self.multiply_into(1.0, values, b, 0.0, c.view_mut())?;
        Ok(c)
    }

    /// `Cₜ = α·Aₜ·Bₜ + β·Cₜ` for each matrix of a batch.
    ///
    /// `values` is batch×nnz, each row in the order of the entries of the matrix that was planned; B is batch×k×n
    /// and C batch×m×n, with any strides; a stride of 0 repeats one B. Small products run on all threads, each
    /// whole on one; larger ones one after another. The bits are those that the matrix alone would get.
    ///
    /// # Errors
    /// If a shape or a value type does not fit, C being unchanged then; and [`BackendError::NewValues`] if the
    /// backend can't put new values on the plan.
    #[expect(clippy::needless_pass_by_value, reason = "operands are references and views")]
    pub fn multiply_into<T: DenseScalar>(
        &mut self,
        alpha: f64,
        values: ArrayView2<'_, T>,
        b: ArrayView3<'_, T>,
        beta: f64,
        mut c: ArrayViewMut3<'_, T::Acc>,
    ) -> Result<(), BackendError> {
        let one = self.one();
        let (batch, n, nnz) = (values.nrows(), b.dim().2, one.nnz());
        stacked("values", (1, batch, values.ncols()), (1, batch, nnz))?;
        stacked("B", b.dim(), (batch, one.ncols(), n))?;
        stacked("C", c.dim(), (batch, one.nrows(), n))?;
        if batch == 0 || n == 0 {
            return Ok(());
        }
        let threads = if nnz.saturating_mul(n) <= SMALL { self.workers.len() } else { 1 };
        let len = batch.div_ceil(threads);
        let chunks = c.axis_chunks_iter_mut(Axis(0), len);
        let shares: Vec<_> = chunks.zip(&mut self.workers).collect();
        let each =
            |(share, (mut c, worker)): (usize, (ArrayViewMut3<'_, T::Acc>, &mut Prepared))| {
                (share * len..).zip(c.outer_iter_mut()).try_for_each(|(t, c)| {
                    worker.refresh_from(values.index_axis_move(Axis(0), t).into())?;
                    let b = T::erase(b.index_axis_move(Axis(0), t));
                    worker.as_spmm().execute(alpha, b, beta, T::erase_acc_mut(c))
                })
            };
        shares.into_par_iter().enumerate().with_max_len(1).try_for_each(each)
    }
}
