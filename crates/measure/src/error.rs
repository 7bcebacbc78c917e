//! Why a measurement failed.

use std::error::Error;
use std::fmt::{self, Display};
use std::sync::Arc;

use girih::PlanError;
use girih::backend::{BackendError, Verification};
use girih::cpu::roofline::RooflineError;
use girih::cuda::CudaError;
use girih::formats::FormatError;
use rayon::ThreadPoolBuildError;

use crate::units;

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// What was requested does not go together.
    #[error("{0}")]
    Request(String),
    /// This machine lacks the instruction set.
    #[error("{0}")]
    Unavailable(String),
    /// A backend refused or failed.
    #[error("the product was not computed")]
    Backend(#[from] BackendError),
    /// There is no CUDA device to describe.
    #[error("no CUDA device")]
    Device(#[source] Arc<CudaError>),
    /// A product has an element outside its error bound.
    #[error("{what}")]
    Wrong {
        /// The format, and who multiplied.
        what: String,
        /// The element that is furthest off.
        source: Box<WrongProduct>,
    },
    /// The planner failed, other than for an unsupported combination.
    #[error("cannot plan {what}")]
    Plan {
        /// The matrix and how it was to be planned.
        what: String,
        /// The planner's reason.
        source: PlanError,
    },
    /// A matrix could not be generated.
    #[error("cannot generate {name}")]
    Generate {
        /// The name of the matrix.
        name: String,
        /// The generator's reason.
        source: FormatError,
    },
    /// The statistics of a matrix could not be counted.
    #[error("cannot compute the statistics of a matrix")]
    Statistics(#[source] FormatError),
    /// The machine's limits could not be measured.
    #[error("cannot measure the machine{}", roofline_hint(.0))]
    Roofline(#[source] RooflineError),
    /// This CPU could not be described by measuring.
    #[error("cannot measure this CPU; --device this needs no measurement")]
    MeasuredCpu(#[source] RooflineError),
    /// The system refuses to start the threads.
    #[error("cannot start {threads} threads; give fewer --threads")]
    Threads {
        /// How many were wanted.
        threads: usize,
        /// The system's reason.
        source: ThreadPoolBuildError,
    },
    /// The system refuses the memory of a dense operand.
    #[error("{}", operand_refused(what, *.dim, *.bytes))]
    Operand {
        /// `B` or `C`.
        what: String,
        /// Rows and columns.
        dim: (usize, usize),
        /// What it would take.
        bytes: u64,
    },
}

fn roofline_hint(error: &RooflineError) -> &'static str {
    match error {
        RooflineError::Option { .. } => "; raise --memory-limit or give --roofline off",
        RooflineError::Memory(_) => "; --roofline quick or off needs less",
        _ => "",
    }
}

fn operand_refused(what: &str, (rows, cols): (usize, usize), bytes: u64) -> String {
    let size = units::bytes(bytes);
    format!(
        "{what} is {rows}×{cols} and needs {size}, which the system refuses; give fewer columns"
    )
}

/// A product with an element outside its error bound.
#[derive(Clone, Copy, Debug)]
pub struct WrongProduct(Verification);

impl WrongProduct {
    /// What is wrong with a product, by its verification; `None` if every element is right.
    pub fn find(verification: Verification) -> Option<Self> {
        (verification.max_error_over_bound > 1.0).then_some(Self(verification))
    }
}

/// The largest error in units of its bound, and the element.
impl Display for WrongProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.0.max_error_over_bound;
        write!(f, "the product is wrong, {error:.3} times the error bound")?;
        let Some(worst) = self.0.worst else { return Ok(()) };
        write!(
            f,
            ": C[{}, {}] is {:e} and should be {:e} within {:e}",
            worst.row, worst.col, worst.found, worst.expected, worst.bound
        )
    }
}

impl Error for WrongProduct {}
