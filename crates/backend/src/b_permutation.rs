//! Copies rows of B into the order of a plan's columns, for backends whose kernels do not.

use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use girih_formats::{Buffer, Complex, DType, Scalar};
use girih_parallel::prelude::*;
use girih_planner::Plan;
use half::{bf16, f16};
use ndarray::{ArrayView2, Axis, Slice};

use crate::aggregation::Aggregation;
use crate::backend::PreparedSpmm;
use crate::dense::{DenseScalar, DenseView, DenseViewMut};
use crate::epilogue::Epilogue;
use crate::error::BackendError;
use crate::lowering::Lowering;
use crate::shape::ProductShape;

/// The most columns of B in one panel: wide enough for every kernel's registers, small enough for memory.
const PANEL_COLS: usize = 256;

/// The fewest elements that one task copies.
const TASK_ELEMENTS: usize = 1 << 14;

/// Lets a backend's prepared `plan` take B in the caller's order.
///
/// If the plan has a [`b_permutation`](Plan::b_permutation), each product first copies rows of B into
/// the order of the tiles' columns, in parallel and in panels of columns. A panel has as many columns
/// as the plan's n, at most 256. The copy takes twice the time of reading B. Without a permutation,
/// `prepared` is returned unchanged. A backend calls this last in
/// [`prepare`](crate::SpmmBackend::prepare), unless its kernels permute B themselves.
///
/// One workspace of `k` times a panel's columns is allocated here. Products that run at the same time
/// do not share it: each further one allocates its own, once.
///
/// # Errors
/// [`BackendError::Failed`] if there is no memory for the workspace.
pub fn with_b_permutation(
    backend: &str,
    plan: &Plan,
    prepared: Box<dyn PreparedSpmm>,
) -> Result<Box<dyn PreparedSpmm>, BackendError> {
    let Some(columns) = plan.b_permutation() else { return Ok(prepared) };
    let order = columns.order();
    Ok(match plan.dtype() {
        DType::F16 => PermutingB::<f16>::boxed(backend, plan, order, prepared)?,
        DType::Bf16 => PermutingB::<bf16>::boxed(backend, plan, order, prepared)?,
        DType::F32 => PermutingB::<f32>::boxed(backend, plan, order, prepared)?,
        DType::F64 => PermutingB::<f64>::boxed(backend, plan, order, prepared)?,
        DType::C32 => PermutingB::<Complex<f32>>::boxed(backend, plan, order, prepared)?,
        DType::C64 => PermutingB::<Complex<f64>>::boxed(backend, plan, order, prepared)?,
    })
}

/// The lowering of a plan that [`with_b_permutation`] prepares, for a backend that lowers without
/// preparing: `inner` gives the lowering of a product with a number of columns.
pub fn b_permutation_lowering(
    plan: &Plan,
    n: usize,
    inner: impl FnOnce(usize) -> Lowering,
) -> Lowering {
    match plan.b_permutation() {
        None => inner(n),
        Some(_) => add_b_permutation(panel_cols(plan).min(n.max(1)), inner),
    }
}

/// Columns of a panel.
fn panel_cols(plan: &Plan) -> usize {
    plan.options().n.clamp(1, PANEL_COLS)
}

fn add_b_permutation(cols: usize, inner: impl FnOnce(usize) -> Lowering) -> Lowering {
    inner(cols).with(
        "rows of B",
        format!("copied into the order of the plan's columns, {cols} columns at a time"),
        "the tiles hold blocks of columns in another order than B",
    )
}

struct PermutingB<T: Scalar> {
    backend: String,
    shape: ProductShape,
    /// The row of B that stands at each column of the tiles.
    order: Vec<u32>,
    /// Columns of a panel.
    cols: usize,
    /// Workspaces that no product uses now.
    idle: Mutex<Vec<Buffer<T>>>,
    inner: Box<dyn PreparedSpmm>,
}

impl<T: DenseScalar> PermutingB<T> {
    fn boxed(
        backend: &str,
        plan: &Plan,
        order: Vec<u32>,
        inner: Box<dyn PreparedSpmm>,
    ) -> Result<Box<dyn PreparedSpmm>, BackendError> {
        let cols = panel_cols(plan);
        let (backend, shape) = (backend.to_owned(), ProductShape::of(plan));
        let this = Self { backend, shape, order, cols, idle: Mutex::default(), inner };
        let workspace = this.allocate()?;
        this.put_back(workspace);
        Ok(Box::new(this))
    }

    fn allocate(&self) -> Result<Buffer<T>, BackendError> {
        Buffer::zeroed(self.order.len().saturating_mul(self.cols)).map_err(|error| {
            BackendError::Failed {
                backend: self.backend.clone(),
                operation: "allocate B in the plan's order".to_owned(),
                source: Box::new(error),
            }
        })
    }

    fn put_back(&self, workspace: Buffer<T>) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
    }

    /// Hands `run` panel by panel of B's columns, its rows in the plan's order, with the columns of C.
    fn by_panels(
        &self,
        b: DenseView<'_>,
        mut c: DenseViewMut<'_>,
        run: impl FnMut(Range<usize>, DenseView<'_>, DenseViewMut<'_>) -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        let Some(b) = T::view(b) else { unreachable!("the operands' types were checked") };
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut workspace = match idle {
            Some(workspace) => workspace,
            None => self.allocate()?,
        };
        let done = self.permuted(&b, &mut c, &mut workspace, run);
        self.put_back(workspace);
        done
    }

    /// [`by_panels`](Self::by_panels), with a workspace.
    fn permuted(
        &self,
        b: &ArrayView2<'_, T>,
        c: &mut DenseViewMut<'_>,
        workspace: &mut Buffer<T>,
        mut run: impl FnMut(Range<usize>, DenseView<'_>, DenseViewMut<'_>) -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        let (k, n) = b.dim();
        for start in (0..n).step_by(self.cols) {
            let panel = start..n.min(start + self.cols);
            let width = panel.len();
            let rows = &mut workspace.make_mut()[..k * width];
            let from = b.slice_axis(Axis(1), Slice::from(panel.clone()));
            let tasks = rows.par_chunks_mut(width).zip(&self.order);
            tasks.with_min_len(TASK_ELEMENTS.div_ceil(width)).for_each(|(to, &row)| {
                let from = from.row(row as usize);
                match from.as_slice() {
                    Some(from) => to.copy_from_slice(from),
                    None => to.iter_mut().zip(&from).for_each(|(to, &x)| *to = x),
                }
            });
            let Ok(permuted) = ArrayView2::from_shape((k, width), &*rows) else {
                unreachable!("the workspace has a row for every column of A");
            };
            run(panel.clone(), T::erase(permuted), c.columns_mut(panel))?;
        }
        Ok(())
    }
}

impl<T: DenseScalar> PreparedSpmm for PermutingB<T> {
    fn execute(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        self.execute_with(alpha, b, beta, c, &Epilogue::new())
    }

    fn execute_with(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
        epilogue: &Epilogue<'_>,
    ) -> Result<(), BackendError> {
        let n = self.shape.check_rounded(&b, &c)?;
        epilogue.check(&self.shape, n)?;
        if alpha == 0.0 || n == 0 {
            // B is not read.
            return self.inner.execute_with(alpha, b, beta, c, epilogue);
        }
        self.by_panels(b, c, |panel, b, c| {
            self.inner.execute_with(alpha, b, beta, c, &epilogue.columns(panel))
        })
    }

    fn execute_complex(
        &self,
        alpha: Complex<f64>,
        b: DenseView<'_>,
        beta: Complex<f64>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        let n = self.shape.check_operands(&b, &c)?;
        if alpha == Complex::ZERO || n == 0 {
            // B is not read.
            return self.inner.execute_complex(alpha, b, beta, c);
        }
        self.by_panels(b, c, |_, b, c| self.inner.execute_complex(alpha, b, beta, c))
    }

    fn aggregate(
        &self,
        aggregation: Aggregation,
        b: DenseView<'_>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        self.shape.check_operands(&b, &c)?;
        self.by_panels(b, c, |_, b, c| self.inner.aggregate(aggregation, b, c))
    }

    fn refresh(&mut self, values: DenseView<'_>) -> Result<(), BackendError> {
        self.inner.refresh(values)
    }

    fn lowering(&self, n: usize) -> Lowering {
        add_b_permutation(self.cols.min(n.max(1)), |cols| self.inner.lowering(cols))
    }
}

impl<T: Scalar> fmt::Debug for PermutingB<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermutingB")
            .field("shape", &self.shape)
            .field("cols", &self.cols)
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
