//! What a caller asks of a plan.

use girih_formats::{Csr, FormatSpec, Scalar};
use serde::{Deserialize, Serialize};

use crate::device::DeviceSpec;
use crate::error::PlanError;
use crate::kernels::Kernels;
use crate::ordering::{Reorder, Space};
use crate::precision::Precision;

/// Which format a plan is to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FormatChoice {
    /// The candidate with the least estimated time.
    #[default]
    Auto,
    /// This one, or an error.
    Fixed(FormatSpec),
}

impl From<FormatSpec> for FormatChoice {
    fn from(spec: FormatSpec) -> Self {
        Self::Fixed(spec)
    }
}

/// Which matrix a plan multiplies: the one that the planner is given, or its transpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// The matrix: `A·B`.
    #[default]
    None,
    /// Its transpose: `Aᵀ·B`. A matrix that equals its transpose is not copied.
    Transpose,
}

impl Op {
    /// The matrix that is multiplied. Shares the arrays of `a` if it is `a`, or equal to it; otherwise as
    /// [`Csr::transpose`].
    #[must_use]
    pub fn apply<T: Scalar>(self, a: &Csr<T>) -> Csr<T> {
        match self {
            Self::Transpose if !a.is_symmetric() => a.transpose(),
            _ => a.clone(),
        }
    }
}

/// What a caller asks of a plan. The same matrix and options, the target included, give the same plan
/// file, byte for byte, on any machine and any number of threads. The default target is the machine at
/// hand: name one for plans that are to be the same everywhere.
///
/// ```
/// use girih_formats::{Csr, FormatSpec, Scalar};
/// use girih_planner::{FormatChoice, PlanOptions};
///
/// let blocks = FormatSpec::Bcsr { block_rows: 16, block_cols: 16 };
/// let options = PlanOptions::new(64).format(blocks).memory_limit(1 << 30);
/// assert_eq!((options.n, options.format), (64, FormatChoice::Fixed(blocks)));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlanOptions {
    /// Columns of B (n) the plan is made for. It multiplies any other number too; only the choice
    /// of format and the size of tasks are tuned to this one.
    pub n: usize,
    /// Whether the plan is one of the matrix or of its transpose. Whatever a plan says of its matrix, and
    /// takes with it, is then about the transpose; only new values come in the order of the matrix that was
    /// planned.
    #[serde(default)]
    pub op: Op,
    /// Which format.
    pub format: FormatChoice,
    /// In which order the tiles hold the rows.
    pub reorder: Reorder,
    /// In which order products take B and give C.
    pub space: Space,
    /// Demand that a NaN or Inf in B reaches exactly the rows of C that CSR would let it reach:
    /// formats whose tiles hold fill-in zeros for this matrix are then excluded.
    pub exact_nonfinite: bool,
    /// How far products in f32 may round their operands: kernels that round more are no candidates.
    #[serde(default)]
    pub precision: Precision,
    /// The most bytes the tiles' arrays may take.
    pub memory_limit: Option<u64>,
    /// Keep the map from CSR value slots to tile slots, so that new values on the old pattern cost
    /// one scatter. It takes 8 bytes per nonzero.
    pub keep_slot_map: bool,
    /// Whether C must be the same to the last bit however often it is computed: windows that several
    /// tasks share are then added up in order, never atomically. A backend that adds in order anyway is
    /// as fast without.
    pub deterministic: bool,
    /// The most seconds that the choice of an order, a format and a schedule may take in all. They are
    /// estimated for one core, so that plans do not depend on a clock. Bounding, sampling, computing and
    /// pricing orders, counting formats and replaying schedules count. What would exceed it is not considered, and the
    /// [explanation](crate::Explanation) says so. Necessary work is done in any case and
    /// counts too: pricing CSR, and a requested order or format. Laying out the tiles does not count.
    pub planning_seconds: Option<f64>,
    /// Whether the plan is for a single product: A stays in CSR, with its rows as they are. Nothing is counted or
    /// estimated, and a backend that multiplies CSR as it is stored copies nothing.
    #[serde(default)]
    pub once: bool,
    /// The machine the estimate is for.
    pub target: DeviceSpec,
    /// The kernels it has there: those of the backend that is to multiply. Not stored in plan files.
    #[serde(skip)]
    pub kernels: Kernels,
}

impl Default for PlanOptions {
    /// n = 256, the matrix itself, any format, rows as they are, f32 as TF32 on tensor cores, no limits, no
    /// slot map, deterministic, the [CPU at hand](DeviceSpec::this_cpu).
    fn default() -> Self {
        Self {
            n: 256,
            op: Op::None,
            format: FormatChoice::Auto,
            reorder: Reorder::None,
            space: Space::Caller,
            exact_nonfinite: false,
            precision: Precision::default(),
            memory_limit: None,
            keep_slot_map: false,
            deterministic: true,
            planning_seconds: None,
            once: false,
            target: DeviceSpec::this_cpu(),
            kernels: Kernels::default(),
        }
    }
}

/// The [defaults](PlanOptions::default) for products with as many columns.
impl From<usize> for PlanOptions {
    fn from(n: usize) -> Self {
        Self::new(n)
    }
}

impl PlanOptions {
    /// The [defaults](Self::default) for products with `n` columns.
    #[must_use]
    pub fn new(n: usize) -> Self {
        Self { n, ..Self::default() }
    }

    /// For products with another number of columns.
    #[must_use]
    pub fn n(self, n: usize) -> Self {
        Self { n, ..self }
    }

    /// For the matrix or its transpose.
    #[must_use]
    pub fn op(self, op: Op) -> Self {
        Self { op, ..self }
    }

    /// In a format of the caller's choice.
    #[must_use]
    pub fn format(self, format: impl Into<FormatChoice>) -> Self {
        Self { format: format.into(), ..self }
    }

    /// With rows in another order.
    #[must_use]
    pub fn reorder(self, reorder: impl Into<Reorder>) -> Self {
        Self { reorder: reorder.into(), ..self }
    }

    /// With B and C in another order.
    #[must_use]
    pub fn space(self, space: Space) -> Self {
        Self { space, ..self }
    }

    /// With or without fill-in that NaN and Inf can reach.
    #[must_use]
    pub fn exact_nonfinite(self, exact_nonfinite: bool) -> Self {
        Self { exact_nonfinite, ..self }
    }

    /// With products that round f32 no further.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// With tiles of at most this many bytes.
    #[must_use]
    pub fn memory_limit(self, memory_limit: impl Into<Option<u64>>) -> Self {
        Self { memory_limit: memory_limit.into(), ..self }
    }

    /// With or without the map that new values need.
    #[must_use]
    pub fn keep_slot_map(self, keep_slot_map: bool) -> Self {
        Self { keep_slot_map, ..self }
    }

    /// With sums in one order only, or in any.
    #[must_use]
    pub fn deterministic(self, deterministic: bool) -> Self {
        Self { deterministic, ..self }
    }

    /// With this many seconds to choose in.
    #[must_use]
    pub fn planning_seconds(self, planning_seconds: impl Into<Option<f64>>) -> Self {
        Self { planning_seconds: planning_seconds.into(), ..self }
    }

    /// For a single product, or for many.
    #[must_use]
    pub fn once(self, once: bool) -> Self {
        Self { once, ..self }
    }

    /// For another machine.
    #[must_use]
    pub fn target(self, target: DeviceSpec) -> Self {
        Self { target, ..self }
    }

    /// For the kernels of a backend.
    #[must_use]
    pub fn kernels(self, kernels: Kernels) -> Self {
        Self { kernels, ..self }
    }

    /// The same with only those of the kernels that honour the precision.
    #[must_use]
    pub(crate) fn with_honouring_kernels(self) -> Self {
        let kernels = self.kernels.in_precision(self.precision);
        Self { kernels, ..self }
    }

    fn may_be_csr(&self) -> bool {
        matches!(self.format, FormatChoice::Auto | FormatChoice::Fixed(FormatSpec::Csr))
    }

    /// Checks what the types alone do not say.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        if self.planning_seconds.is_some_and(|s| s.is_nan() || s < 0.0) {
            let reason = "it must be a number of seconds, 0 or more".to_owned();
            return Err(PlanError::Options { option: "planning_seconds", reason });
        }
        if self.once && (!self.may_be_csr() || self.reorder != Reorder::None || self.keep_slot_map)
        {
            let reason =
                "a plan for a single product is in csr, with rows as they are and without a slot map".to_owned();
            return Err(PlanError::Options { option: "once", reason });
        }
        self.target
            .check()
            .map_err(|reason| PlanError::Options { option: "target", reason: reason.to_owned() })
    }
}
