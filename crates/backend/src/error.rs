//! Why a backend can't, or didn't.

use girih_formats::DType;
use thiserror::Error;

use crate::Rejection;

/// Why a backend can't run a plan: one sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{backend} can't run this plan: {reason}")]
pub struct Unsupported {
    /// The backend's name.
    pub backend: String,
    /// What it lacks.
    pub reason: String,
}

/// A product that was not computed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BackendError {
    /// The backend can't run the plan.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
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
        /// `B` or `C`.
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
        /// `B` or `C`.
        operand: &'static str,
        /// Its value type.
        found: DType,
        /// The value type it must have.
        expected: DType,
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
