//! The executable specification: naive, single-threaded, summed in f64, straight from the stored
//! arrays of every format.

mod complex;

use girih_formats::{
    AnyTiling, Complex, DType, FormatKind, Real, RealNumber, Tiling, for_any_tiling,
    for_real_tiling,
};
use girih_planner::{NewValues, Plan};
use girih_reorder::Permutation;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, Slice};

use crate::aggregation::Aggregation;
use crate::backend::{Capabilities, PreparedSpmm, SpmmBackend, real_scaling};
use crate::dense::{DenseScalar, DenseView, DenseViewMut};
use crate::epilogue::Epilogue;
use crate::error::{BackendError, Unsupported};
use crate::lowering::Lowering;
use crate::shape::{ProductShape, put_new_values};

/// The reference backend: every format and value type, one thread, no cleverness.
///
/// It says what a product is. C's element is summed in f64 over the row's stored values in the
/// order of the tiles, scaled, added to `β·C` in f64, put through the epilogue, and rounded once.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceBackend;

/// The name of the reference backend.
pub const NAME: &str = "reference";

impl SpmmBackend for ReferenceBackend {
    fn name(&self) -> &str {
        NAME
    }

    fn capabilities(&self) -> Result<Capabilities, BackendError> {
        Ok(Capabilities::new(FormatKind::ALL, DType::ALL, "one thread, f64 accumulation"))
    }

    fn supports(&self, _plan: &Plan) -> Result<(), Unsupported> {
        Ok(())
    }

    /// Every one, of real values.
    fn supports_epilogue(&self, plan: &Plan, epilogue: &Epilogue<'_>) -> Result<(), Unsupported> {
        if plan.dtype().is_complex() { complex::no_epilogue(epilogue) } else { Ok(()) }
    }

    /// The accumulation type, and f16 and bf16 where that is f32.
    fn supports_output(&self, plan: &Plan, dtype: DType) -> Result<(), Unsupported> {
        ProductShape::of(plan).check_output(dtype)
    }

    /// For CSR and BMat, which hold the entries and nothing else, in real values.
    fn supports_aggregation(&self, plan: &Plan, _: Aggregation) -> Result<(), Unsupported> {
        complex::no_aggregation(plan.dtype())?;
        holds_entries_alone(plan.tiling().kind())
    }

    fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
        Ok(Box::new(Prepared {
            tiling: plan.tiling().clone(),
            shape: ProductShape::of(plan),
            row_of_b: plan.b_permutation().map(Permutation::order),
            new_values: plan.new_values(),
        }))
    }
}

/// The tiling, shared with the plan.
#[derive(Debug)]
struct Prepared {
    tiling: AnyTiling,
    shape: ProductShape,
    /// The row of B that stands at each column of the tiles; `None` where they are the same.
    row_of_b: Option<Vec<u32>>,
    new_values: NewValues,
}

impl PreparedSpmm for Prepared {
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
        let row_of_b = self.row_of_b.as_deref();
        for_real_tiling!(
            &self.tiling,
            t => multiply_any(t, row_of_b, alpha, b, beta, c, epilogue),
            complex => {
                complex::no_epilogue(epilogue).map_err(|unsupported| unsupported.by(NAME))?;
                complex::multiply_any(&self.tiling, row_of_b, alpha.into(), b, beta.into(), c);
            },
        );
        Ok(())
    }

    fn execute_complex(
        &self,
        alpha: Complex<f64>,
        b: DenseView<'_>,
        beta: Complex<f64>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        if !self.tiling.dtype().is_complex() {
            let (alpha, beta) = real_scaling(alpha, beta).map_err(|one| one.by(NAME))?;
            return self.execute(alpha, b, beta, c);
        }
        self.shape.check_operands(&b, &c)?;
        complex::multiply_any(&self.tiling, self.row_of_b.as_deref(), alpha, b, beta, c);
        Ok(())
    }

    fn aggregate(
        &self,
        aggregation: Aggregation,
        b: DenseView<'_>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        self.shape.check_operands(&b, &c)?;
        holds_entries_alone(self.tiling.kind()).map_err(|unsupported| unsupported.by(NAME))?;
        let row_of_b = self.row_of_b.as_deref();
        for_real_tiling!(
            &self.tiling,
            t => aggregate_any(t, row_of_b, aggregation, b, c),
            complex => complex::no_aggregation(self.tiling.dtype()).map_err(|one| one.by(NAME))?,
        );
        Ok(())
    }

    fn refresh(&mut self, values: DenseView<'_>) -> Result<(), BackendError> {
        let order = &mut self.new_values;
        for_any_tiling!(&mut self.tiling, t => put_new_values(NAME, order, t, values))
    }

    fn lowering(&self, n: usize) -> Lowering {
        let stored =
            format!("every value that {} stores, in order, summed in f64", self.tiling.spec());
        Lowering::new(NAME, "one thread", n).with("kernel", stored, "")
    }
}

/// [`multiply`] on operands that were checked to be of the tiling's value type.
fn multiply_any<T: DenseScalar + Real>(
    tiling: &Tiling<T>,
    row_of_b: Option<&[u32]>,
    alpha: f64,
    b: DenseView<'_>,
    beta: f64,
    c: DenseViewMut<'_>,
    epilogue: &Epilogue<'_>,
) {
    let Some(b) = T::view(b) else { unreachable!("B's type was checked") };
    match c {
        DenseViewMut::F16(c) => multiply(tiling, row_of_b, alpha, &b, beta, c, epilogue),
        DenseViewMut::Bf16(c) => multiply(tiling, row_of_b, alpha, &b, beta, c, epilogue),
        DenseViewMut::F32(c) => multiply(tiling, row_of_b, alpha, &b, beta, c, epilogue),
        DenseViewMut::F64(c) => multiply(tiling, row_of_b, alpha, &b, beta, c, epilogue),
        DenseViewMut::C32(_) | DenseViewMut::C64(_) => unreachable!("C's type was checked"),
    }
}

/// Columns of C summed at once: the sums live on the stack.
const PANEL: usize = 64;

fn multiply<T: DenseScalar + Real, C: RealNumber>(
    tiling: &Tiling<T>,
    row_of_b: Option<&[u32]>,
    alpha: f64,
    b: &ArrayView2<'_, T>,
    beta: f64,
    mut c: ArrayViewMut2<'_, C>,
    epilogue: &Epilogue<'_>,
) {
    let n = c.ncols();
    for slot in 0..tiling.layout().n_slots() {
        let Some(row) = tiling.layout().row(slot) else { continue };
        for start in (0..n).step_by(PANEL) {
            let panel = Slice::from(start..n.min(start + PANEL));
            let b = b.slice_axis(Axis(1), panel);
            let mut sums = [0.0; PANEL];
            if alpha != 0.0 {
                let add = |col: usize, a: f64| {
                    let col = row_of_b.map_or(col, |rows| rows[col] as usize);
                    for (sum, x) in sums.iter_mut().zip(b.row(col)) {
                        *sum += a * x.to_f64();
                    }
                };
                visit_exact(tiling, slot, add);
            }
            let mut stored = c.slice_axis_mut(Axis(1), panel);
            for ((col, out), sum) in (start..).zip(stored.row_mut(row)).zip(sums) {
                let product = if alpha == 0.0 { 0.0 } else { alpha * sum };
                let before = if beta == 0.0 { 0.0 } else { beta * out.to_f64() };
                *out = C::from_f64(epilogue.apply(row, col, product + before));
            }
        }
    }
}

/// Visits every stored value of a slot, exactly: in e4m3 it has more digits than T.
fn visit_exact<T: DenseScalar + Real>(
    tiling: &Tiling<T>,
    slot: usize,
    mut visit: impl FnMut(usize, f64),
) {
    match tiling {
        Tiling::TwoFour(narrow) if narrow.e4m3().is_some() => narrow.visit_exact(slot, visit),
        _ => tiling.visit_stored(slot, |col, a| visit(col, a.to_f64())),
    }
}

/// [`aggregate`] on operands that were checked to be of the tiling's value type.
fn aggregate_any<T: DenseScalar + Real>(
    tiling: &Tiling<T>,
    row_of_b: Option<&[u32]>,
    aggregation: Aggregation,
    b: DenseView<'_>,
    c: DenseViewMut<'_>,
) {
    let views = (T::view(b), T::acc_view_mut(c));
    let (Some(b), Some(c)) = views else { unreachable!("the operands' types were checked") };
    aggregate(tiling, row_of_b, aggregation, &b, c);
}

fn aggregate<T: DenseScalar + Real>(
    tiling: &Tiling<T>,
    row_of_b: Option<&[u32]>,
    aggregation: Aggregation,
    b: &ArrayView2<'_, T>,
    mut c: ArrayViewMut2<'_, T::Acc>,
) {
    for slot in 0..tiling.layout().n_slots() {
        let Some(row) = tiling.layout().row(slot) else { continue };
        for (b, out) in b.columns().into_iter().zip(c.row_mut(row)) {
            let (mut total, mut entries) = (None, 0);
            tiling.visit_stored(slot, |col, a| {
                let col = row_of_b.map_or(col, |rows| rows[col] as usize);
                total = Some(aggregation.add(total, a.to_f64() * b[col].to_f64()));
                entries += 1;
            });
            *out = T::Acc::from_f64(aggregation.finish(total, entries));
        }
    }
}

/// Refuses formats whose tiles also hold zeros that are no entries: a maximum would count them.
fn holds_entries_alone(format: FormatKind) -> Result<(), Unsupported> {
    match format {
        FormatKind::Csr | FormatKind::BMat => Ok(()),
        other => Err(Unsupported::Aggregation {
            reason: format!("tiles of {other} do not tell entries from zeros that fill them up"),
        }),
    }
}

#[cfg(test)]
mod tests;
