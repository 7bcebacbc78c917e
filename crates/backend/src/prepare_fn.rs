//! A prepared plan whose products are one function.

use std::fmt;

use girih_formats::Tiling;
use girih_planner::{NewValues, Plan};
use ndarray::{ArrayView2, ArrayViewMut2};

use crate::b_permutation::with_b_permutation;
use crate::backend::{PreparedSpmm, SpmmBackend};
use crate::dense::{DenseScalar, DenseView, DenseViewMut};
use crate::error::BackendError;
use crate::lowering::Lowering;
use crate::shape::{ProductShape, put_new_values};

/// The operands of a product, `C = α·A·B + β·C`, whose shapes and value types were checked.
#[derive(Debug)]
pub struct Operands<'a, T: DenseScalar> {
    /// What the product is scaled by. With 0, B is not to be read.
    pub alpha: f64,
    /// B, k×n.
    pub b: ArrayView2<'a, T>,
    /// What C is scaled by. With 0, C is not to be read.
    pub beta: f64,
    /// C, m×n.
    pub c: ArrayViewMut2<'a, T::Acc>,
}

/// Prepares a plan for a backend whose products in `T` are the function `multiply`: what is left of
/// [`SpmmBackend::prepare`] for one that multiplies tiles as the plan holds them.
///
/// A plan that the backend does not [support](SpmmBackend::supports) is refused. Operands are checked before each
/// product, rows of B are copied where the plan asks for it ([`with_b_permutation`]), and new values are put into the
/// tiles ([`PreparedSpmm::refresh`]). The function gets the tiles, which the plan shares, and writes row
/// [`layout().row(slot)`](girih_formats::RowLayout::row) of C for each slot that holds one. A backend that lays A out
/// in its own way implements [`PreparedSpmm`].
///
/// ```
/// use girih_backend::{
///     BackendError, Capabilities, Operands, PreparedSpmm, SpmmBackend, prepare_fn,
/// };
/// use girih_formats::{DType, FormatKind, Tiling};
/// use girih_planner::Plan;
///
/// #[derive(Debug)]
/// struct RowByRow;
///
/// impl SpmmBackend for RowByRow {
///     fn name(&self) -> &str {
///         "row-by-row"
///     }
///
///     fn capabilities(&self) -> Result<Capabilities, BackendError> {
///         Ok(Capabilities::new([FormatKind::Csr], [DType::F64], "one thread"))
///     }
///
///     fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
///         prepare_fn(self, plan, |a: &Tiling<f64>, product: Operands<'_, f64>| {
///             let Operands { alpha, b, beta, mut c } = product;
///             for slot in 0..a.layout().n_slots() {
///                 let Some(row) = a.layout().row(slot) else { continue };
///                 let mut c = c.row_mut(row);
///                 c.mapv_inplace(|x| if beta == 0.0 { 0.0 } else { beta * x });
///                 if alpha != 0.0 {
///                     a.visit_stored(slot, |col, a| c.scaled_add(alpha * a, &b.row(col)));
///                 }
///             }
///         })
///     }
/// }
/// # let a = girih_formats::Csr::<f64>::identity(2)?;
/// # let plan = girih_planner::Planner::new(girih_planner::PlanOptions::new(1)).plan(&a)?;
/// # let (b, mut c) = (ndarray::array![[1.0], [2.0]], ndarray::array![[f64::NAN], [f64::NAN]]);
/// # RowByRow.prepare(&plan)?.execute(3.0, b.view().into(), 0.0, c.view_mut().into())?;
/// # assert_eq!(c, ndarray::array![[3.0], [6.0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`BackendError::Unsupported`] for what [`supports`](SpmmBackend::supports) says, [`BackendError::DType`] if the plan
/// is not in `T`, and otherwise as [`SpmmBackend::capabilities`] and [`with_b_permutation`].
pub fn prepare_fn<T: DenseScalar>(
    backend: &dyn SpmmBackend,
    plan: &Plan,
    multiply: impl Fn(&Tiling<T>, Operands<'_, T>) + Send + Sync + 'static,
) -> Result<Box<dyn PreparedSpmm>, BackendError> {
    let name = backend.name();
    backend.supports(plan).map_err(|unsupported| unsupported.by(name))?;
    let Some(tiling) = plan.tiling().as_typed::<T>() else {
        let (found, expected) = (plan.dtype(), T::DTYPE);
        return Err(BackendError::DType { operand: "A", found, expected });
    };
    let prepared = ByFunction {
        backend: name.to_owned(),
        device: backend.capabilities()?.device,
        tiling: tiling.clone(),
        shape: ProductShape::of(plan),
        new_values: plan.new_values(),
        multiply,
    };
    with_b_permutation(name, plan, Box::new(prepared))
}

/// The tiles, shared with the plan, and what multiplies them.
struct ByFunction<T: DenseScalar, F> {
    backend: String,
    device: String,
    tiling: Tiling<T>,
    shape: ProductShape,
    new_values: NewValues,
    multiply: F,
}

impl<T: DenseScalar, F> fmt::Debug for ByFunction<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { backend, shape, .. } = self;
        f.debug_struct("ByFunction")
            .field("backend", backend)
            .field("shape", shape)
            .finish_non_exhaustive()
    }
}

impl<T: DenseScalar, F> PreparedSpmm for ByFunction<T, F>
where
    F: Fn(&Tiling<T>, Operands<'_, T>) + Send + Sync,
{
    fn execute(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        self.shape.check_operands(&b, &c)?;
        let (Some(b), Some(c)) = (T::view(b), T::acc_view_mut(c)) else {
            unreachable!("the value types were checked")
        };
        (self.multiply)(&self.tiling, Operands { alpha, b, beta, c });
        Ok(())
    }

    fn refresh(&mut self, values: DenseView<'_>) -> Result<(), BackendError> {
        put_new_values(&self.backend, &mut self.new_values, &mut self.tiling, values)
    }

    fn lowering(&self, n: usize) -> Lowering {
        let tiles = format!("{}, as the plan holds them", self.tiling.spec());
        Lowering::new(&self.backend, &*self.device, n).with("tiles", tiles, "")
    }
}
