//! The operand check that every backend makes first.

use std::borrow::Cow;

use girih_formats::{Complex, DType, Tiling};
use girih_planner::{NewValues, Plan, PlanError};
use half::{bf16, f16};
use ndarray::Axis;

use crate::dense::{DenseScalar, DenseView, DenseViewMut};
use crate::error::{BackendError, Unsupported};

/// What a plan asks of its operands: B is k×n, C m×n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductShape {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// Value type of A and B; C has its [accumulation type](DType::accumulator), unless it is
    /// [rounded](Self::check_rounded).
    pub dtype: DType,
}

impl ProductShape {
    /// The shape of a plan's products.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let tiling = plan.tiling();
        Self { m: tiling.nrows(), k: tiling.ncols(), dtype: tiling.dtype() }
    }

    /// Checks both operands and gives n. Every backend calls this before it writes anything.
    ///
    /// # Errors
    /// [`BackendError::Shape`] or [`BackendError::DType`] naming the operand: B before C, the shape
    /// before the value type.
    pub fn check_operands(
        &self,
        b: &DenseView<'_>,
        c: &DenseViewMut<'_>,
    ) -> Result<usize, BackendError> {
        self.check_c_of(b, c, self.dtype.accumulator())
    }

    /// [`check_operands`](Self::check_operands) of a backend whose C may also be [rounded](Self::rounds_to) to 16 bits.
    ///
    /// # Errors
    /// As [`check_operands`](Self::check_operands).
    pub fn check_rounded(
        &self,
        b: &DenseView<'_>,
        c: &DenseViewMut<'_>,
    ) -> Result<usize, BackendError> {
        let of = if self.rounds_to(c.dtype()) { c.dtype() } else { self.dtype.accumulator() };
        self.check_c_of(b, c, of)
    }

    /// Whether a value type is one that products are rounded to: f16 and bf16, where sums are of f32.
    #[must_use]
    pub fn rounds_to(&self, dtype: DType) -> bool {
        matches!(dtype, DType::F16 | DType::Bf16) && self.dtype.accumulator() == DType::F32
    }

    /// Refuses a value type that C has neither by itself nor [rounded](Self::rounds_to).
    ///
    /// # Errors
    /// [`Unsupported::Output`] for all others.
    pub fn check_output(&self, dtype: DType) -> Result<(), Unsupported> {
        let (own, sums) = (self.dtype, self.dtype.accumulator());
        let others = if sums == DType::F32 { ", f16 or bf16" } else { "" };
        match dtype == sums || self.rounds_to(dtype) {
            true => Ok(()),
            false => Err(Unsupported::Output {
                dtype,
                reason: format!("C of products in {own} is of {sums}{others}, not of {dtype}"),
            }),
        }
    }

    /// Checks B and a C of a value type.
    fn check_c_of(
        &self,
        b: &DenseView<'_>,
        c: &DenseViewMut<'_>,
        of: DType,
    ) -> Result<usize, BackendError> {
        self.check_b(b)?;
        let n = b.dim().1;
        check("C", c.dim(), (self.m, n), c.dtype(), of)?;
        Ok(n)
    }

    pub(crate) fn check_b(&self, b: &DenseView<'_>) -> Result<(), BackendError> {
        check("B", b.dim(), (self.k, b.dim().1), b.dtype(), self.dtype)
    }
}

/// Puts new values, one column, into a tiling that a backend has prepared: what
/// [`refresh`](crate::PreparedSpmm::refresh) does first. Values that do not lie next to each other are copied.
///
/// # Errors
/// As [`refresh`](crate::PreparedSpmm::refresh) says.
pub fn put_new_values<T: DenseScalar>(
    backend: &str,
    order: &mut NewValues,
    tiling: &mut Tiling<T>,
    values: DenseView<'_>,
) -> Result<(), BackendError> {
    let values = one_column::<T>(values, tiling.nnz())?;
    order.put(tiling, &values).map_err(|error| refused(backend, &error))
}

/// The same for a backend that keeps a clone of the plan and lays its tiles out again.
///
/// # Errors
/// As [`refresh`](crate::PreparedSpmm::refresh) says.
pub fn put_values_into_plan(
    backend: &str,
    order: &mut NewValues,
    plan: &mut Plan,
    values: DenseView<'_>,
) -> Result<(), BackendError> {
    fn put<T: DenseScalar>(
        order: &mut NewValues,
        plan: &mut Plan,
        values: DenseView<'_>,
    ) -> Result<Result<(), PlanError>, BackendError> {
        let values = one_column::<T>(values, plan.nnz())?;
        Ok(plan.put_values(order, &values))
    }
    let done = match plan.dtype() {
        DType::F16 => put::<f16>(order, plan, values),
        DType::Bf16 => put::<bf16>(order, plan, values),
        DType::F32 => put::<f32>(order, plan, values),
        DType::F64 => put::<f64>(order, plan, values),
        DType::C32 => put::<Complex<f32>>(order, plan, values),
        DType::C64 => put::<Complex<f64>>(order, plan, values),
    };
    done?.map_err(|error| refused(backend, &error))
}

fn refused(backend: &str, error: &PlanError) -> BackendError {
    BackendError::NewValues { backend: backend.to_owned(), reason: error.to_string() }
}

/// Values that are given as one column, next to each other.
fn one_column<T: DenseScalar>(
    values: DenseView<'_>,
    nnz: usize,
) -> Result<Cow<'_, [T]>, BackendError> {
    check("values", values.dim(), (nnz, 1), values.dtype(), T::DTYPE)?;
    let Some(values) = T::view(values) else { unreachable!("the value type was checked") };
    let column = values.index_axis_move(Axis(1), 0);
    Ok(match column.to_slice() {
        Some(values) => Cow::Borrowed(values),
        None => Cow::Owned(column.to_vec()),
    })
}

/// Checks one operand's shape and value type.
pub(crate) fn check(
    operand: &'static str,
    (found_rows, found_cols): (usize, usize),
    (rows, cols): (usize, usize),
    found: DType,
    expected: DType,
) -> Result<(), BackendError> {
    if (found_rows, found_cols) != (rows, cols) {
        return Err(BackendError::Shape { operand, found_rows, found_cols, rows, cols });
    }
    if found != expected {
        return Err(BackendError::DType { operand, found, expected });
    }
    Ok(())
}
