//! The trait every backend implements.

use std::fmt::Debug;

use girih_formats::{Complex, DType, FormatKind};
use girih_planner::Plan;
use girih_planner::file::Attachment;

use crate::aggregation::{Aggregation, no_aggregation};
use crate::dense::{DenseView, DenseViewMut};
use crate::epilogue::Epilogue;
use crate::error::{BackendError, Unsupported};
use crate::lowering::Lowering;
use crate::verify::Rounding;

/// What a backend can do on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Formats it multiplies directly.
    pub formats: Vec<FormatKind>,
    /// Value types of A and B it takes.
    pub dtypes: Vec<DType>,
    /// What it runs on, for people: instruction set, threads, device.
    pub device: String,
}

impl Capabilities {
    /// Of a backend that multiplies these formats and value types, on what `device` says.
    #[must_use]
    pub fn new(
        formats: impl Into<Vec<FormatKind>>,
        dtypes: impl Into<Vec<DType>>,
        device: impl Into<String>,
    ) -> Self {
        Self { formats: formats.into(), dtypes: dtypes.into(), device: device.into() }
    }
}

/// Something that multiplies plans: `C = α·A·B + β·C`.
///
/// Object-safe, so that the best backend can be chosen at run time; see [`select`](crate::select).
/// Implementations may live outside this workspace and must pass the conformance suite of
/// `girih-testkit`.
pub trait SpmmBackend: Debug + Send + Sync {
    /// The name, as used on the command line.
    fn name(&self) -> &str;

    /// What this backend can do on this machine.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`] if it can't run here at all, saying what is missing.
    fn capabilities(&self) -> Result<Capabilities, BackendError>;

    /// Whether this backend can run `plan`. The default looks for its format and value type among the
    /// [capabilities](Self::capabilities).
    ///
    /// # Errors
    /// What of the plan it can't run.
    fn supports(&self, plan: &Plan) -> Result<(), Unsupported> {
        by_capabilities(self.capabilities(), plan)
    }

    /// Whether prepared plans of `plan` execute this epilogue: see
    /// [`execute_with`](PreparedSpmm::execute_with). The default refuses every epilogue but none.
    ///
    /// # Errors
    /// What of the epilogue it can't execute.
    fn supports_epilogue(&self, _: &Plan, epilogue: &Epilogue<'_>) -> Result<(), Unsupported> {
        no_epilogue(epilogue)
    }

    /// Whether [products](PreparedSpmm::execute) of `plan` may have a C of this value type. The default takes what
    /// every backend does: the plan's accumulation type.
    ///
    /// # Errors
    /// Why C can't have it.
    fn supports_output(&self, plan: &Plan, dtype: DType) -> Result<(), Unsupported> {
        accumulated_output(plan, dtype)
    }

    /// Whether prepared plans of `plan` compute this [aggregation](PreparedSpmm::aggregate). The default refuses
    /// every one.
    ///
    /// # Errors
    /// Why it can't.
    fn supports_aggregation(&self, _: &Plan, _: Aggregation) -> Result<(), Unsupported> {
        Err(no_aggregation())
    }

    /// How this backend rounds while it multiplies `plan`: what its results are verified against.
    ///
    /// The default is what a backend without reduced precision does: inputs taken as they are, sums
    /// in the accumulation type.
    fn rounding(&self, plan: &Plan) -> Rounding {
        Rounding::exact_inputs(plan.tiling().dtype())
    }

    /// Does once what all products of `plan` share: lays A out, uploads it, compiles kernels and allocates
    /// workspace. A product may still allocate: [`execute`](PreparedSpmm::execute) says for what.
    ///
    /// Rows of C go where the row layout says. A plan may also need rows of B in another order: see
    /// [`Plan::b_permutation`] and [`with_b_permutation`](crate::with_b_permutation), which copies them.
    ///
    /// # Errors
    /// If the backend is not available or can't run the plan.
    fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError>;

    /// What this backend stores with the plan, so that a process that loads the plan
    /// [prepares](Self::prepare) it faster: see [`Plan::attach`]. `None`, the default, if it stores
    /// nothing. Other backends ignore it, and so does this one on another machine.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    fn layout(&self, _: &Plan) -> Result<Option<Attachment>, BackendError> {
        Ok(None)
    }

    /// Estimates the seconds of a product with the plan's number of columns and operands in the host's
    /// memory, copies of operands included. Run-time selection compares these. `None`, the default, if the
    /// backend has no estimate.
    fn estimate(&self, _: &Plan) -> Option<f64> {
        None
    }

    /// What this backend would execute for products of the plan's number of columns.
    ///
    /// The default prepares the plan and takes the [lowering](PreparedSpmm::lowering) of that. A backend
    /// that can lower a plan without its device does so.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    fn lower(&self, plan: &Plan) -> Result<Lowering, BackendError> {
        Ok(self.prepare(plan)?.lowering(plan.options().n))
    }
}

/// A plan made ready on a backend, to be executed as often as wanted.
pub trait PreparedSpmm: Debug + Send + Sync {
    /// Computes `C = α·A·B + β·C`.
    ///
    /// B is k×n in the plan's value type, C m×n in its accumulation type; both may have any strides. If the backend
    /// [supports](SpmmBackend::supports_output) it, C may also be of f16 or bf16, so that it can be the next product's B:
    /// what is computed in f32 is rounded once, to nearest even, as it is stored.
    /// With `β = 0`, C is written without being read; with `α = 0`, neither A nor B is read (as in
    /// BLAS). Several threads may execute at once.
    ///
    /// Nothing is compiled. A call may allocate memory for a copy of an operand, such as a B whose rows are
    /// not contiguous, or one in the memory of a device. It may also allocate workspace that the prepared
    /// plan keeps for later calls: for a wider product, or for one more product at the same time.
    ///
    /// The result is the same, bit by bit, however often the product is computed and on any number of
    /// threads.
    ///
    /// # Non-finite values
    /// A NaN or Inf in row `j` of B reaches row `i` of C through every stored entry `(i, j)`, zeros
    /// included, exactly as in the sum. Where tiles hold dense values (BCSR, WCSR, Blocked-ELL, 2:4)
    /// a zero that fills a tile up may count as stored too, and turn a non-finite value of B into NaN. Padding
    /// never does: no backend reads B for a padded column, for an empty slot, or past column k.
    ///
    /// # Errors
    /// If a shape or a value type does not fit; C is then unchanged.
    fn execute(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError>;

    /// [`execute`](Self::execute) with complex α and β. A product is scaled part by part where a factor's imaginary
    /// part is 0, so that no `0 · NaN` comes of it.
    ///
    /// # Errors
    /// [`Unsupported::Scaling`] if α or β has an imaginary part and the plan's values have none, or the backend
    /// can't, which is what the default says. Otherwise as [`execute`](Self::execute).
    fn execute_complex(
        &self,
        alpha: Complex<f64>,
        b: DenseView<'_>,
        beta: Complex<f64>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        match real_scaling(alpha, beta) {
            Ok((alpha, beta)) => self.execute(alpha, b, beta, c),
            Err(unsupported) => Err(unsupported.by(self.lowering(1).backend)),
        }
    }

    /// Computes `C = act(α·A·B + β·C + bias)`: [`execute`](Self::execute), with an [`Epilogue`] in the
    /// kernels' store, where an element of C is in a register anyway.
    ///
    /// The bias has the accumulation type. With `α = 0` and `β = 0`, C is `act(bias)`. Everything that
    /// [`execute`](Self::execute) says of strides, bits and non-finite values holds here too; what a bias of
    /// NaN or Inf makes of an element goes through the activation like any other.
    ///
    /// # Errors
    /// [`Unsupported::Epilogue`] if the backend can't execute it, which is what the default gives for every
    /// epilogue but none: no backend passes over C twice instead. Otherwise as [`execute`](Self::execute),
    /// for the bias too.
    fn execute_with(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
        epilogue: &Epilogue<'_>,
    ) -> Result<(), BackendError> {
        match no_epilogue(epilogue) {
            Ok(()) => self.execute(alpha, b, beta, c),
            Err(unsupported) => Err(unsupported.by(self.lowering(1).backend)),
        }
    }

    /// Computes in C what the products of each row's entries come to: their maximum, minimum or mean; 0 in a
    /// row without entries. C is written without being read.
    ///
    /// Everything that [`execute`](Self::execute) says of operands, strides and bits holds here too. A NaN in
    /// row `j` of B reaches row `i` of C through every entry `(i, j)`, and through nothing else.
    ///
    /// # Errors
    /// [`Unsupported::Aggregation`] if the backend can't, which is what the default gives. If a shape or a value
    /// type does not fit; C is then unchanged.
    fn aggregate(
        &self,
        aggregation: Aggregation,
        b: DenseView<'_>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        let _ = (aggregation, b, c);
        Err(no_aggregation().by(self.lowering(1).backend))
    }

    /// Puts new values on the pattern: `values` is one column, in the order of the entries of the
    /// [`Csr`](girih_formats::Csr) that was planned, in the plan's value type.
    ///
    /// Products then have the same bits as those of a new plan of the new matrix, if that is planned and prepared as this
    /// one was. The plan itself keeps its values. The first call may find out where values go, and take
    /// memory for that; later ones move values and no more.
    ///
    /// # Errors
    /// [`BackendError::NewValues`] if the backend can't, which is what the default gives, or if the plan does not say where
    /// values go. [`BackendError::Shape`] or [`BackendError::DType`] if there are not as many values as entries, or of
    /// another type. The prepared plan is then as it was.
    fn refresh(&mut self, values: DenseView<'_>) -> Result<(), BackendError> {
        let _ = values;
        Err(BackendError::NewValues {
            backend: self.lowering(1).backend,
            reason: "its prepared plans keep their values; prepare a plan of the new matrix"
                .to_owned(),
        })
    }

    /// What [`execute`](Self::execute) does for row-major operands with `n` columns, β = 0.
    fn lowering(&self, n: usize) -> Lowering;
}

/// α and β as real numbers, which is all that products of real values are scaled by.
///
/// # Errors
/// [`Unsupported::Scaling`] if one of them has an imaginary part.
pub fn real_scaling(alpha: Complex<f64>, beta: Complex<f64>) -> Result<(f64, f64), Unsupported> {
    match alpha.im == 0.0 && beta.im == 0.0 {
        true => Ok((alpha.re, beta.re)),
        false => Err(Unsupported::Scaling {
            reason: "α or β has an imaginary part, and its kernels scale by real numbers"
                .to_owned(),
        }),
    }
}

/// Whether a backend of these capabilities takes a plan's format and value type.
fn by_capabilities(
    capabilities: Result<Capabilities, BackendError>,
    plan: &Plan,
) -> Result<(), Unsupported> {
    let can = capabilities.map_err(|error| Unsupported::Device { reason: error.to_string() })?;
    let (format, dtype) = (plan.spec().kind(), plan.dtype());
    if !can.formats.contains(&format) {
        let reason = format!("it multiplies {}, not {format}", list(&can.formats));
        return Err(Unsupported::Format { format, reason });
    }
    if !can.dtypes.contains(&dtype) {
        let reason = format!("it takes values in {}, not in {dtype}", list(&can.dtypes));
        return Err(Unsupported::ValueType { dtype, reason });
    }
    Ok(())
}

fn list(names: &[impl ToString]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Refuses every value type of C but the plan's accumulation type.
pub(crate) fn accumulated_output(plan: &Plan, dtype: DType) -> Result<(), Unsupported> {
    let accumulator = plan.dtype().accumulator();
    match dtype == accumulator {
        true => Ok(()),
        false => Err(Unsupported::Output {
            dtype,
            reason: format!("its kernels store products in {accumulator}, not in {dtype}"),
        }),
    }
}

/// Refuses every epilogue but none.
pub(crate) fn no_epilogue(epilogue: &Epilogue<'_>) -> Result<(), Unsupported> {
    match epilogue.is_none() {
        true => Ok(()),
        false => Err(Unsupported::Epilogue {
            reason: "its kernels store products without bias and activation".to_owned(),
        }),
    }
}
