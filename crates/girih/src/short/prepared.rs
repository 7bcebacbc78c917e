//! A prepared plan that knows what it multiplies.

use std::ops::Mul;

use girih_backend::ndarray::{Array2, ShapeBuilder};
use girih_backend::{
    Aggregation, BackendError, DenseScalar, DenseView, DenseViewMut, Epilogue, Lowering,
    PreparedSpmm, ProductShape, zeros,
};
use girih_formats::{Complex, DType, FormatSpec};
use girih_planner::Plan;

use super::Operand;

/// A plan that is ready for products on a backend, with its shape, format and value type.
///
/// ```
/// use girih::ndarray::{Array2, array};
/// use girih::prelude::*;
///
/// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let prepared = a.plan(2)?.prepare()?;
/// assert_eq!((prepared.nrows(), prepared.ncols(), prepared.dtype()), (2, 3, DType::F32));
///
/// let b = array![[1.0f32, 0.0], [0.0, 1.0], [1.0, 1.0]];
/// let mut c = prepared.multiply(&b)?;
/// assert_eq!(c, array![[3.0, 2.0], [0.0, 3.0]]);
/// assert_eq!(&prepared * &b, c);
///
/// // C = 2·A·B − C, in place.
/// prepared.multiply_into(2.0, &b, -1.0, &mut c)?;
/// assert_eq!(c, array![[3.0, 2.0], [0.0, 3.0]]);
///
/// // A vector, and part of a matrix, in place.
/// assert_eq!(prepared.multiply(&array![1.0f32, 1.0, 1.0])?, array![3.0, 3.0]);
/// let mut wide = Array2::<f32>::zeros((2, 5));
/// prepared.multiply_into(1.0, &b, 0.0, &mut wide.slice_mut(girih::ndarray::s![.., 1..3]))?;
/// assert_eq!(wide.column(1), array![3.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Prepared {
    backend: String,
    spec: FormatSpec,
    shape: ProductShape,
    nnz: usize,
    n: usize,
    inner: Box<dyn PreparedSpmm>,
}

impl Prepared {
    /// What `backend` made of `plan`.
    pub(super) fn new(backend: &str, plan: &Plan, inner: Box<dyn PreparedSpmm>) -> Self {
        Self {
            backend: backend.to_owned(),
            spec: plan.spec(),
            shape: ProductShape::of(plan),
            nnz: plan.nnz(),
            n: plan.options().n,
            inner,
        }
    }

    /// The name of the backend.
    #[must_use]
    pub fn backend(&self) -> &str {
        &self.backend
    }

    /// The format with its sizes.
    #[must_use]
    pub fn spec(&self) -> FormatSpec {
        self.spec
    }

    /// Rows of A and C (m).
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.shape.m
    }

    /// Columns of A, rows of B (k).
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.shape.k
    }

    /// Entries of A.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// Columns of B (n) that the plan was made for. Any other number is multiplied too.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// The value type of A and B. C has its [accumulation type](DType::accumulator), or is
    /// [rounded](Self::multiply_rounded).
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.shape.dtype
    }

    /// `A·B` in a C of its own: a matrix for a matrix, a vector for a vector. Bits as
    /// [`PreparedSpmm::execute`] gives them.
    ///
    /// A C of tens of megabytes takes longer to be paged in than to be computed where rows of A are short:
    /// [`multiply_into`](Self::multiply_into) takes one that is there.
    ///
    /// # Errors
    /// If B has not as many rows as A has columns, or another value type; [`BackendError::OutOfMemory`] if there is no memory
    /// for C.
    pub fn multiply<B: Operand>(&self, b: B) -> Result<B::Product, BackendError> {
        self.multiply_with(b, &Epilogue::new())
    }

    /// `act(A·B + bias)`: [`multiply`](Self::multiply) with an [`Epilogue`] in the kernels' store.
    ///
    /// ```
    /// use girih::ndarray::array;
    /// use girih::prelude::*;
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let b = array![[1.0f32, 0.0], [0.0, 1.0], [1.0, 1.0]];
    /// let bias = array![-1.0f32, -2.5];
    /// let epilogue = Epilogue::new().bias_per_column(&bias).activation(Activation::Relu);
    /// let prepared = a.plan(2)?.prepare_with(&epilogue)?;
    /// // A·B is [3 2; 0 3].
    /// assert_eq!(prepared.multiply_with(&b, &epilogue)?, array![[2.0, 0.0], [0.0, 0.5]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported::Epilogue`](crate::Unsupported::Epilogue) if the backend can't;
    /// [`prepare_with`](super::PreparePlan::prepare_with) takes one that can. Otherwise as
    /// [`multiply`](Self::multiply), for the bias too.
    #[expect(clippy::needless_pass_by_value, reason = "operands are references and views")]
    pub fn multiply_with<B: Operand>(
        &self,
        b: B,
        epilogue: &Epilogue<'_>,
    ) -> Result<B::Product, BackendError> {
        let b = b.matrix();
        let shape = (self.nrows(), b.ncols()).set_f(B::COLUMN_MAJOR);
        let mut c = zeros("C", shape)?;
        let view = B::Value::erase_acc_mut(c.view_mut());
        self.inner.execute_with(1.0, B::Value::erase(b), 0.0, view, epilogue)?;
        Ok(B::product(c))
    }

    /// `act(A·B + bias)` in a C of f16 or bf16, where sums are of f32: rounded once, as it is stored. So it can be the
    /// next product's B.
    ///
    /// ```
    /// use girih::ndarray::{Array2, array};
    /// use girih::prelude::*;
    /// use girih::f16;
    ///
    /// let a = Csr::from_triplets(2, 2, [(0, 1, 0.5f64), (1, 0, -2.0)])?.cast::<f16>();
    /// let b = array![[3.0], [1.0]].mapv(f16::from_f64);
    /// let prepared = a.plan(1)?.prepare()?;
    /// let relu = Epilogue::new().activation(Activation::Relu);
    /// let hidden: Array2<f16> = prepared.multiply_rounded(&b, &relu)?;
    /// assert_eq!(hidden, array![[0.5], [0.0]].mapv(f16::from_f64));
    /// assert_eq!(prepared.multiply(&hidden)?, array![[0.0f32], [-1.0]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported::Output`](crate::Unsupported::Output) or [`BackendError::DType`] if the backend can't. Otherwise as
    /// [`multiply_with`](Self::multiply_with).
    pub fn multiply_rounded<'b, C: DenseScalar>(
        &self,
        b: impl Into<DenseView<'b>>,
        epilogue: &Epilogue<'_>,
    ) -> Result<Array2<C>, BackendError> {
        let b = b.into();
        let mut c = zeros("C", (self.nrows(), b.dim().1))?;
        self.inner.execute_with(1.0, b, 0.0, C::erase_mut(c.view_mut()), epilogue)?;
        Ok(c)
    }

    /// `C = α·A·B + β·C`, as [`PreparedSpmm::execute`]: B and C are arrays, vectors, slices (one column),
    /// views, or [matrices in slices](DenseView::in_slice).
    ///
    /// ```
    /// use girih::backend::SliceStrides;
    /// use girih::prelude::*;
    /// use girih::{DenseView, DenseViewMut};
    ///
    /// let prepared = Csr::<f64>::identity(2)?.plan(3)?.prepare()?;
    /// // B lies column by column, C in rows of 4 elements of which 3 are used.
    /// let (b, mut c) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0; 8]);
    /// let b = DenseView::in_slice(&b, (2, 3), SliceStrides::col_major(2))?;
    /// let into = DenseViewMut::in_slice(&mut c, (2, 3), SliceStrides::row_major(4))?;
    /// prepared.multiply_into(1.0, b, 0.0, into)?;
    /// assert_eq!(c, [1.0, 3.0, 5.0, 0.0, 2.0, 4.0, 6.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a shape or a value type does not fit; C is then unchanged.
    pub fn multiply_into<'b, 'c>(
        &self,
        alpha: f64,
        b: impl Into<DenseView<'b>>,
        beta: f64,
        c: impl Into<DenseViewMut<'c>>,
    ) -> Result<(), BackendError> {
        self.inner.execute(alpha, b.into(), beta, c.into())
    }

    /// [`multiply_into`](Self::multiply_into) with complex α and β, as [`PreparedSpmm::execute_complex`].
    ///
    /// ```
    /// use girih::prelude::*;
    ///
    /// let a = Csr::from_triplets(1, 2, [(0, 1, Complex::new(2.0f64, 1.0))])?;
    /// let (b, mut c) = ([Complex::new(0.0, 0.0), Complex::new(0.0, 3.0)], [Complex::new(1.0, 1.0)]);
    /// let prepared = a.plan(1)?.prepare()?;
    /// prepared.multiply_into_complex(Complex::i(), &b[..], (-1.0).into(), &mut c[..])?;
    /// // i·(2 + i)·3i − (1 + i)
    /// assert_eq!(c, [Complex::new(-7.0, -4.0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported::Scaling`](crate::Unsupported::Scaling) if α or β has an imaginary part and the matrix is real.
    /// Otherwise as [`multiply_into`](Self::multiply_into).
    pub fn multiply_into_complex<'b, 'c>(
        &self,
        alpha: Complex<f64>,
        b: impl Into<DenseView<'b>>,
        beta: Complex<f64>,
        c: impl Into<DenseViewMut<'c>>,
    ) -> Result<(), BackendError> {
        self.inner.execute_complex(alpha, b.into(), beta, c.into())
    }

    /// `C = act(α·A·B + β·C + bias)`: [`multiply_into`](Self::multiply_into) with an [`Epilogue`], as
    /// [`PreparedSpmm::execute_with`].
    ///
    /// # Errors
    /// As [`multiply_with`](Self::multiply_with); C is then unchanged.
    pub fn multiply_into_with<'b, 'c>(
        &self,
        alpha: f64,
        b: impl Into<DenseView<'b>>,
        beta: f64,
        c: impl Into<DenseViewMut<'c>>,
        epilogue: &Epilogue<'_>,
    ) -> Result<(), BackendError> {
        self.inner.execute_with(alpha, b.into(), beta, c.into(), epilogue)
    }

    /// The greatest, least or mean product of each row's entries instead of their sum, 0 in a row without entries:
    /// [`PreparedSpmm::aggregate`].
    ///
    /// ```
    /// use girih::ndarray::array;
    /// use girih::prelude::*;
    ///
    /// let a = Csr::from_triplets(3, 3, [(0, 0, 1.0f32), (0, 2, 1.0), (1, 1, -1.0)])?;
    /// let plan = a.plan(PlanOptions::new(2).format(FormatSpec::Csr))?;
    /// let prepared = plan.prepare_aggregating(Aggregation::Max)?;
    /// let b = array![[1.0f32, 0.0], [0.0, 1.0], [3.0, -1.0]];
    /// assert_eq!(prepared.aggregate(Aggregation::Max, &b)?, array![[3.0, 0.0], [0.0, -1.0], [0.0, 0.0]]);
    /// assert_eq!(prepared.aggregate(Aggregation::Mean, &b)?, array![[2.0, -0.5], [0.0, -1.0], [0.0, 0.0]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported::Aggregation`](crate::Unsupported::Aggregation) if the backend can't;
    /// [`prepare_aggregating`](super::PreparePlan::prepare_aggregating) takes one that can. Otherwise as
    /// [`multiply`](Self::multiply).
    #[expect(clippy::needless_pass_by_value, reason = "operands are references and views")]
    pub fn aggregate<B: Operand>(
        &self,
        aggregation: Aggregation,
        b: B,
    ) -> Result<B::Product, BackendError> {
        let b = b.matrix();
        let mut c = zeros("C", (self.nrows(), b.ncols()))?;
        let view = B::Value::erase_acc_mut(c.view_mut());
        self.inner.aggregate(aggregation, B::Value::erase(b), view)?;
        Ok(B::product(c))
    }

    /// [`aggregate`](Self::aggregate) into a C of the caller's.
    ///
    /// # Errors
    /// As [`aggregate`](Self::aggregate); C is then unchanged.
    pub fn aggregate_into<'b, 'c>(
        &self,
        aggregation: Aggregation,
        b: impl Into<DenseView<'b>>,
        c: impl Into<DenseViewMut<'c>>,
    ) -> Result<(), BackendError> {
        self.inner.aggregate(aggregation, b.into(), c.into())
    }

    /// Puts new values on the pattern, in the order of the entries of the [`Csr`](crate::Csr) that was planned:
    /// [`PreparedSpmm::refresh`]. Products then have the bits that planning and preparing the new matrix would give.
    ///
    /// ```
    /// use girih::prelude::*;
    ///
    /// let mut a = Csr::from_triplets(2, 2, [(0, 1, 2.0f64), (1, 0, 3.0)])?;
    /// let mut prepared = a.plan(1)?.prepare_on(&girih::CpuBackend::new())?;
    /// a.scale(10.0);
    /// prepared.refresh(a.values())?;
    /// assert_eq!(prepared.multiply(&[1.0, 1.0][..])?, [20.0, 30.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`BackendError::NewValues`] if the backend can't, and [`BackendError::Shape`] or
    /// [`BackendError::DType`] if there are not as many values as entries, or of another type.
    pub fn refresh<T: DenseScalar>(&mut self, values: &[T]) -> Result<(), BackendError> {
        self.inner.refresh(values.into())
    }

    /// [`refresh`](Self::refresh) from a column with any stride.
    pub(super) fn refresh_from(&mut self, values: DenseView<'_>) -> Result<(), BackendError> {
        self.inner.refresh(values)
    }

    /// What products with `n` columns execute.
    #[must_use]
    pub fn lowering(&self, n: usize) -> Lowering {
        self.inner.lowering(n)
    }

    /// The backend's own.
    #[must_use]
    pub fn as_spmm(&self) -> &dyn PreparedSpmm {
        &*self.inner
    }
}

/// As [`Prepared::multiply`].
///
/// # Panics
/// If B has not as many rows as A has columns, or another value type; or if the backend fails.
impl<B: Operand> Mul<B> for &Prepared {
    type Output = B::Product;

    fn mul(self, b: B) -> B::Product {
        self.multiply(b).unwrap_or_else(|error| panic!("{error}"))
    }
}
