//! Why a backend can't, or didn't.

use girih_formats::{DType, FormatKind, FormatSpec};
use girih_planner::Precision;
use thiserror::Error;

use crate::slice_strides::SliceStrides;

/// A backend that can't run a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Its name.
    pub backend: String,
    /// Why not, in one sentence.
    pub reason: String,
}

/// What of a plan a backend can't run.
///
/// The variant is for programs: a caller who can plan again learns what to change. The text is for people: what
/// the backend lacks, in one sentence without its name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// The format, in any value type and size.
    #[error("{reason}")]
    Format {
        /// The plan's format.
        format: FormatKind,
        /// What the backend lacks.
        reason: String,
    },
    /// The value type, in this format.
    #[error("{reason}")]
    ValueType {
        /// The plan's value type.
        dtype: DType,
        /// What the backend lacks.
        reason: String,
    },
    /// The precision, in this format.
    #[error("{reason}")]
    Precision {
        /// The plan's precision.
        precision: Precision,
        /// What the backend lacks.
        reason: String,
    },
    /// The sizes of the format: of blocks or windows.
    #[error("{reason}")]
    Sizes {
        /// The plan's format with its sizes.
        spec: FormatSpec,
        /// What the backend lacks.
        reason: String,
    },
    /// The order of rows.
    #[error("{reason}")]
    RowLayout {
        /// What the backend lacks.
        reason: String,
    },
    /// The order into which rows of B are copied ([`Plan::b_permutation`](girih_planner::Plan::b_permutation)).
    #[error("{reason}")]
    BPermutation {
        /// What the backend lacks.
        reason: String,
    },
    /// The schedule: how it cuts windows, or how it adds up their parts.
    #[error("{reason}")]
    Schedule {
        /// What the backend lacks.
        reason: String,
    },
    /// What is to be done to products before they are [stored](crate::Epilogue).
    #[error("{reason}")]
    Epilogue {
        /// What the backend lacks.
        reason: String,
    },
    /// The value type of C: see [`supports_output`](crate::SpmmBackend::supports_output).
    #[error("{reason}")]
    Output {
        /// The value type that C has.
        dtype: DType,
        /// What the backend lacks.
        reason: String,
    },
    /// What products are [scaled by](crate::PreparedSpmm::execute_complex): an imaginary part.
    #[error("{reason}")]
    Scaling {
        /// What the backend lacks.
        reason: String,
    },
    /// What a row's products are to [come to](crate::Aggregation).
    #[error("{reason}")]
    Aggregation {
        /// What the backend lacks.
        reason: String,
    },
    /// The plan needs another device than there is.
    #[error("{reason}")]
    Device {
        /// What the backend lacks.
        reason: String,
    },
    /// The plan needs more memory than there is.
    #[error("{reason}")]
    Memory {
        /// What the backend lacks.
        reason: String,
    },
}

impl Unsupported {
    /// The error of a backend that was to run the plan anyway.
    #[must_use]
    pub fn by(self, backend: impl Into<String>) -> BackendError {
        BackendError::Unsupported { backend: backend.into(), reason: self }
    }
}

/// A product that was not computed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BackendError {
    /// The backend can't run the plan.
    #[error("{backend} can't run this plan: {reason}")]
    Unsupported {
        /// The backend's name.
        backend: String,
        /// What of the plan.
        reason: Unsupported,
    },
    /// The backend can't run at all on this machine.
    #[error("{backend} is not available: {reason}")]
    Unavailable {
        /// The backend's name.
        backend: String,
        /// What is missing, and where it was looked for.
        reason: String,
    },
    /// An operand's shape does not fit the plan.
    #[error("{operand} is {found_rows}×{found_cols} where the product needs {rows}×{cols}")]
    Shape {
        /// `B`, `C` or `bias`.
        operand: &'static str,
        /// Its rows.
        found_rows: usize,
        /// Its columns.
        found_cols: usize,
        /// The rows it must have.
        rows: usize,
        /// The columns it must have.
        cols: usize,
    },
    /// An operand's value type does not fit the plan.
    #[error("{operand} is {found} where the plan needs {expected}")]
    DType {
        /// `B`, `C` or `bias`.
        operand: &'static str,
        /// Its value type.
        found: DType,
        /// The value type it must have.
        expected: DType,
    },
    /// The system has no memory for what a product is to be written to.
    #[error(
        "there is no memory for {operand}, which takes {bytes} bytes: multiply fewer columns at a time, or into memory of your own"
    )]
    OutOfMemory {
        /// `C` or `S`.
        operand: &'static str,
        /// What it takes.
        bytes: u128,
    },
    /// A matrix does not lie in the slice that it is to be seen in.
    #[error(
        "{rows}×{cols} with strides {}, {} do not lie in {len} elements: {reason}", strides.rows, strides.cols
    )]
    Slice {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
        /// Its strides.
        strides: SliceStrides,
        /// Elements of the slice.
        len: usize,
        /// What is wrong.
        reason: String,
    },
    /// A prepared plan can't take new values, or not these.
    #[error("{backend} can't put new values on this plan: {reason}")]
    NewValues {
        /// The backend's name.
        backend: String,
        /// What stands against it, and what to do.
        reason: String,
    },
    /// No backend of that name is registered.
    #[error("there is no backend {name:?}; there are: {}", known.join(", "))]
    UnknownBackend {
        /// The requested name.
        name: String,
        /// The names there are, in order of preference.
        known: Vec<String>,
    },
    /// None of the registered backends can run the plan.
    #[error("no backend can run this plan{}", list(rejected))]
    NoBackend {
        /// Every backend with its reason, in order of preference.
        rejected: Vec<Rejection>,
    },
    /// A device or a library that the backend stands on failed.
    #[error("{backend} failed to {operation}")]
    Failed {
        /// The backend's name.
        backend: String,
        /// What it was about to do.
        operation: String,
        /// What the device or library said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

fn list(rejected: &[Rejection]) -> String {
    if rejected.is_empty() {
        return ": none is registered".to_owned();
    }
    rejected.iter().map(|r| format!("\n  {}: {}", r.backend, r.reason)).collect()
}
