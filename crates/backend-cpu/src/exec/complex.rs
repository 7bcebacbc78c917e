//! Products of complex values, of two real products each.
//!
//! A row-major B of n complex columns is a real matrix of 2n columns, its real and imaginary parts side by side. With
//! A's real parts in one tiling and its imaginary parts in another,
//!
//! ```text
//! P = Re(A)·B    Q = Im(A)·B    C = α·(P + i·Q) + β·C
//! ```
//!
//! where P and Q are real products by the kernels there are. They are computed a [block](BlockSizes) at a time, into
//! scratch that each thread keeps: Q's product then finds its rows of B in the caches, and P and Q are there when C is stored.

use std::ops::Range;

use bytemuck::cast_slice;
use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, Epilogue, Lowering, PreparedSpmm,
    ProductShape, Unsupported, put_new_values,
};
use girih_formats::{Buffer, Complex, ComplexScalar, FormatError, RealAccumulator, Scalar, Tiling};
use girih_planner::schedule::Columns;
use girih_planner::{NewValues, Plan};
use girih_simd::{Input, Output, RowMap};
use ndarray::{ArrayView2, ArrayViewMut2};

use super::formats::{Multiply, Panel};
use super::team::Team;
use crate::kernels::{BPanel, CpuScalar, Kernels, store_products};
use crate::lowering::complex::{BlockSizes, ComplexLowering};
use crate::thresholds::COMPLEX_SUMS;
use crate::{Isa, NAME};

/// A plan of complex values, ready.
#[derive(Debug)]
pub(crate) struct PreparedComplex<R: CpuScalar>
where
    Complex<R>: Scalar,
{
    lowering: ComplexLowering,
    kernels: Kernels<R>,
    team: Team,
    /// The plan's own, into which new values go.
    tiling: Tiling<Complex<R>>,
    /// Its real parts, and its imaginary parts.
    parts: [Tiling<R>; 2],
    /// Slots of each task. A window that the schedule splits is one task: its rows are summed in one piece.
    tasks: Vec<Range<usize>>,
    /// The columns of C that each task is for, if not for all.
    columns: Option<Columns>,
    new_values: NewValues,
}

impl<R> PreparedComplex<R>
where
    R: CpuScalar<Acc = R> + RealAccumulator,
    Complex<R>: ComplexScalar<Part = R> + DenseScalar,
{
    /// Takes the parts of the values apart: O(stored values), in parallel. The tiling is in CSR or BCSR, and the
    /// schedule valid for it.
    pub(crate) fn new(isa: Isa, team: Team, tiling: &Tiling<Complex<R>>, plan: &Plan) -> Self {
        let rows = tiling.layout().window_rows();
        let schedule = plan.schedule();
        let mut tasks: Vec<Range<usize>> = Vec::with_capacity(schedule.tasks().len());
        for task in &schedule.tasks()[..] {
            let slots = task.windows().start * rows..task.windows().end * rows;
            // Parts of one window follow one another, each with the window as a whole.
            if schedule.columns().is_some() || tasks.last() != Some(&slots) {
                tasks.push(slots);
            }
        }
        Self {
            lowering: ComplexLowering::new(tiling, plan.options().n, team.threads(), isa),
            kernels: Kernels::new(isa),
            team,
            parts: parts(tiling),
            tiling: tiling.clone(),
            tasks,
            columns: schedule.columns().cloned(),
            new_values: plan.new_values(),
        }
    }

    /// Computes a product of operands that were checked.
    fn multiply(
        &self,
        alpha: Complex<R>,
        b: &ArrayView2<'_, Complex<R>>,
        beta: Complex<R>,
        mut c: ArrayViewMut2<'_, Complex<R>>,
    ) -> Result<(), FormatError> {
        let (m, n) = c.dim();
        if m == 0 || n == 0 {
            return Ok(());
        }
        if alpha.is_zero() {
            // The same arithmetic as with a product, without reading A and B.
            match beta.is_zero() {
                true => c.fill(<Complex<R> as Scalar>::ZERO),
                false if beta.im().is_zero() => {
                    c.mapv_inplace(|x| Complex::new(beta.re() * x.re(), beta.re() * x.im()));
                }
                false => c.mapv_inplace(|x| beta * x),
            }
            return Ok(());
        }
        let out = Output::new(&mut c, alpha, beta);
        let copy;
        // A single column has none next to it.
        let (ptr, row_stride) = if n == 1 || b.strides()[1] == 1 {
            (b.as_ptr(), b.strides()[0])
        } else {
            copy = self.row_major(b)?;
            (copy.as_ptr(), n as isize)
        };
        let b = Input::new(ptr.cast::<R>(), 2 * row_stride, 2 * n);
        let sizes = self.lowering.blocks(n);
        let run = |i: usize| {
            let cols = self.columns.as_ref().map_or(0..n, |columns| columns.of_task(i, n));
            let mut scratch = R::thread_scratch().take();
            let (p, q) = scratch.split(2 * COMPLEX_SUMS, 2 * COMPLEX_SUMS);
            for first in cols.clone().step_by(sizes.cols) {
                let cols = first..cols.end.min(first + sizes.cols);
                let (b, out) = (b.at_col(2 * first), out.at_col(first));
                self.task(&self.tasks[i], b, &out, cols.len(), sizes, [&mut *p, &mut *q]);
            }
            R::thread_scratch().set(scratch);
        };
        match self.lowering.grain(self.tasks.len(), n) {
            Some(grain) => self.team.for_each(self.tasks.len(), grain, run),
            None => (0..self.tasks.len()).for_each(run),
        }
        Ok(())
    }

    /// Computes some columns of the rows in `slots`, block by block.
    fn task(
        &self,
        slots: &Range<usize>,
        b: Input<R>,
        out: &Output<Complex<R>>,
        width: usize,
        sizes: BlockSizes,
        [p, q]: [&mut [R]; 2],
    ) {
        let layout = self.tiling.layout();
        // Beyond a natural layout's last row there are slots, but no rows.
        let end = slots.start + RowMap::for_slots(layout, slots.start, slots.len()).len();
        let mut first = slots.start;
        while first < end {
            let slots = first..self.block_end(first, end, sizes);
            let map = RowMap::for_slots(layout, slots.start, slots.len());
            for (tiling, sums) in self.parts.iter().zip([&mut *p, &mut *q]) {
                let panel = Panel {
                    kernels: &self.kernels,
                    b: BPanel::Given(b),
                    out: Output::sums(sums, 2 * width, false),
                    width: 2 * width,
                    csr_layout: None,
                    slab: None,
                    share: None,
                    packs_strips: false,
                };
                let rows = RowMap::Consecutive { first: 0, len: slots.len() };
                tiling.multiply(slots.clone(), 0..u64::MAX, rows, &panel);
            }
            let (p, q): (&[Complex<R>], &[Complex<R>]) = (cast_slice(p), cast_slice(q));
            store_products(p, q, out, map, width);
            first = slots.end;
        }
    }

    /// Where the block that begins with slot `first` ends: some whole windows, or a part of one.
    fn block_end(&self, first: usize, end: usize, sizes: BlockSizes) -> usize {
        let rows = self.tiling.layout().window_rows();
        let window_end = (first / rows + 1) * rows;
        if first + sizes.rows < window_end || !first.is_multiple_of(rows) {
            return end.min(window_end).min(first + sizes.rows);
        }
        let tile = self.tiling.spec().tile().values.unwrap_or(1) as u64;
        let tiles = |window: usize| self.tiling.tile_ptr(window) * tile;
        let (start, most) = (tiles(first / rows), (first + sizes.rows) / rows);
        let mut window = first / rows + 1;
        while window < most
            && (window + 1) * rows <= end.next_multiple_of(rows)
            && tiles(window + 1) - start <= sizes.values as u64
        {
            window += 1;
        }
        end.min(window * rows)
    }

    /// A copy of B with its rows one after the other: O(k·n) time and memory.
    fn row_major(&self, b: &ArrayView2<'_, Complex<R>>) -> Result<Buffer<Complex<R>>, FormatError> {
        let mut copy = Buffer::zeroed(b.len())?;
        let n = b.ncols();
        self.team.for_each_chunk(copy.make_mut(), n, |i, to| {
            to.iter_mut().zip(b.row(i)).for_each(|(to, x)| *to = *x);
        });
        Ok(copy)
    }
}

/// The tilings of real and of imaginary parts.
fn parts<R>(tiling: &Tiling<Complex<R>>) -> [Tiling<R>; 2]
where
    R: CpuScalar<Acc = R> + RealAccumulator,
    Complex<R>: ComplexScalar<Part = R>,
{
    let (Some(re), Some(im)) = (tiling.re(), tiling.im()) else {
        unreachable!("the format was checked");
    };
    [re, im]
}

impl<R> PreparedSpmm for PreparedComplex<R>
where
    R: CpuScalar<Acc = R> + RealAccumulator,
    Complex<R>: ComplexScalar<Part = R> + DenseScalar,
{
    fn execute(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        self.execute_complex(alpha.into(), b, beta.into(), c)
    }

    fn execute_with(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
        epilogue: &Epilogue<'_>,
    ) -> Result<(), BackendError> {
        complex_epilogue(epilogue).map_err(|unsupported| unsupported.by(NAME))?;
        self.execute(alpha, b, beta, c)
    }

    /// A B whose columns are not next to each other is copied.
    fn execute_complex(
        &self,
        alpha: Complex<f64>,
        b: DenseView<'_>,
        beta: Complex<f64>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        let (m, k, dtype) = (self.tiling.nrows(), self.tiling.ncols(), Complex::<R>::DTYPE);
        ProductShape { m, k, dtype }.check_operands(&b, &c)?;
        let (Some(b), Some(c)) = (Complex::<R>::view(b), Complex::<R>::acc_view_mut(c)) else {
            unreachable!("the operands' types were checked");
        };
        let (alpha, beta) = (Complex::<R>::from_c64(alpha), Complex::<R>::from_c64(beta));
        self.multiply(alpha, &b, beta, c).map_err(|source| BackendError::Failed {
            backend: NAME.to_owned(),
            operation: "copy a B whose columns are not next to each other".to_owned(),
            source: Box::new(source),
        })
    }

    /// One pass over the values on the threads of a product, and one more that takes their parts apart.
    fn refresh(&mut self, values: DenseView<'_>) -> Result<(), BackendError> {
        self.team.clone().run(|| {
            put_new_values(NAME, &mut self.new_values, &mut self.tiling, values)?;
            self.parts = parts(&self.tiling);
            Ok(())
        })
    }

    fn lowering(&self, n: usize) -> Lowering {
        self.lowering.describe(n, self.tasks.len(), self.team.threads())
    }
}

/// Refuses every epilogue but none: activations are functions of real numbers.
pub(crate) fn complex_epilogue(epilogue: &Epilogue<'_>) -> Result<(), Unsupported> {
    match epilogue.is_none() {
        true => Ok(()),
        false => Err(Unsupported::Epilogue {
            reason: "products of complex values are stored without bias and activation".to_owned(),
        }),
    }
}
