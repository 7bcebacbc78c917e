//! B in the order of a plan's columns, for backends that have no kernel for it.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use girih_formats::{Buffer, DType, Scalar};
use girih_planner::Plan;
use half::{bf16, f16};
use ndarray::{ArrayView2, Axis, Slice};
use rayon::prelude::*;

use crate::{
    BackendError, DenseScalar, DenseView, DenseViewMut, Lowering, PreparedSpmm, ProductShape,
};

/// The most columns of B that are gathered at a time: wide enough for every kernel's registers, and
/// no more memory than a few columns need.
const PANEL_COLS: usize = 256;

/// Elements that one task gathers at least.
const TASK_ELEMENTS: usize = 1 << 14;

/// What a backend prepared for the tiles of `plan`, made to take B in the caller's order.
///
/// Where the plan [gathers](Plan::gathers) B, its rows are copied in the order of the tiles' columns, in
/// parallel, up to 256 columns at a time: twice the time of reading B, and room for `k` times the
/// plan's n, or 256, elements. Elsewhere `prepared` is given back as it is. A backend calls this last
/// in [`prepare`](crate::SpmmBackend::prepare), unless its kernels gather themselves.
///
/// The room is allocated here; products that run at the same time share nothing, so each beyond the
/// first allocates room of its own, once.
///
/// # Errors
/// [`BackendError::Failed`] if there is no memory for the room.
pub fn gathering(
    backend: &str,
    plan: &Plan,
    prepared: Box<dyn PreparedSpmm>,
) -> Result<Box<dyn PreparedSpmm>, BackendError> {
    let Some(columns) = plan.gathers() else { return Ok(prepared) };
    let order = columns.order();
    Ok(match plan.dtype() {
        DType::F16 => Gathered::<f16>::boxed(backend, plan, order, prepared)?,
        DType::Bf16 => Gathered::<bf16>::boxed(backend, plan, order, prepared)?,
        DType::F32 => Gathered::<f32>::boxed(backend, plan, order, prepared)?,
        DType::F64 => Gathered::<f64>::boxed(backend, plan, order, prepared)?,
    })
}

/// What [`gathering`] makes of a lowering, for a backend that lowers a plan without preparing it: `inner`
/// says what is executed for a number of columns.
pub fn gathering_lowering(
    plan: &Plan,
    n: usize,
    inner: impl FnOnce(usize) -> Lowering,
) -> Lowering {
    match plan.gathers() {
        None => inner(n),
        Some(_) => gathered(panel_cols(plan).min(n.max(1)), inner),
    }
}

/// Columns that are gathered at a time.
fn panel_cols(plan: &Plan) -> usize {
    plan.options().n.clamp(1, PANEL_COLS)
}

fn gathered(cols: usize, inner: impl FnOnce(usize) -> Lowering) -> Lowering {
    inner(cols).with(
        "rows of B",
        format!("copied into the order of the plan's columns, {cols} columns at a time"),
        "the tiles hold blocks of columns in another order than B",
    )
}

struct Gathered<T: Scalar> {
    backend: String,
    shape: ProductShape,
    /// The row of B that stands at each column of the tiles.
    order: Vec<u32>,
    /// Columns of a room.
    cols: usize,
    idle: Mutex<Vec<Buffer<T>>>,
    inner: Box<dyn PreparedSpmm>,
}

impl<T: DenseScalar> Gathered<T> {
    fn boxed(
        backend: &str,
        plan: &Plan,
        order: Vec<u32>,
        inner: Box<dyn PreparedSpmm>,
    ) -> Result<Box<dyn PreparedSpmm>, BackendError> {
        let cols = panel_cols(plan);
        let (backend, shape) = (backend.to_owned(), ProductShape::of(plan));
        let this = Self { backend, shape, order, cols, idle: Mutex::default(), inner };
        let room = this.allocate()?;
        this.put_back(room);
        Ok(Box::new(this))
    }

    fn allocate(&self) -> Result<Buffer<T>, BackendError> {
        Buffer::zeroed(self.order.len().saturating_mul(self.cols)).map_err(|error| {
            BackendError::Failed {
                backend: self.backend.clone(),
                operation: "make room for B in the plan's order".to_owned(),
                source: Box::new(error),
            }
        })
    }

    fn put_back(&self, room: Buffer<T>) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(room);
    }

    /// The product, panel by panel of B's columns.
    fn multiply(
        &self,
        alpha: f64,
        b: &ArrayView2<'_, T>,
        beta: f64,
        mut c: DenseViewMut<'_>,
        room: &mut Buffer<T>,
    ) -> Result<(), BackendError> {
        let (k, n) = b.dim();
        for start in (0..n).step_by(self.cols) {
            let panel = start..n.min(start + self.cols);
            let width = panel.len();
            let rows = &mut room.make_mut()[..k * width];
            let from = b.slice_axis(Axis(1), Slice::from(panel.clone()));
            let tasks = rows.par_chunks_mut(width).zip(&self.order);
            tasks.with_min_len(TASK_ELEMENTS.div_ceil(width)).for_each(|(to, &row)| {
                let from = from.row(row as usize);
                match from.as_slice() {
                    Some(from) => to.copy_from_slice(from),
                    None => to.iter_mut().zip(&from).for_each(|(to, &x)| *to = x),
                }
            });
            let Ok(gathered) = ArrayView2::from_shape((k, width), &*rows) else {
                unreachable!("the room has a row for every column of A");
            };
            self.inner.execute(alpha, T::erase(gathered), beta, c.columns_mut(panel))?;
        }
        Ok(())
    }
}

impl<T: DenseScalar> PreparedSpmm for Gathered<T> {
    fn execute(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        self.shape.check_operands(&b, &c)?;
        if alpha == 0.0 {
            // B is not read.
            return self.inner.execute(alpha, b, beta, c);
        }
        let Some(b) = T::view(b) else { unreachable!("the operands' types were checked") };
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut room = match idle {
            Some(room) => room,
            None => self.allocate()?,
        };
        let done = self.multiply(alpha, &b, beta, c, &mut room);
        self.put_back(room);
        done
    }

    fn lowering(&self, n: usize) -> Lowering {
        gathered(self.cols.min(n.max(1)), |cols| self.inner.lowering(cols))
    }
}

impl<T: Scalar> fmt::Debug for Gathered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gathered")
            .field("shape", &self.shape)
            .field("cols", &self.cols)
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
