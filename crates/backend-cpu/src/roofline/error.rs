//! Why a roofline was not measured.

use girih_formats::FormatError;
use thiserror::Error;

use crate::Isa;

/// Why a roofline was not measured.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RooflineError {
    /// This machine lacks the instruction set.
    #[error("this machine has no {isa}")]
    Unavailable {
        /// The instruction set that was named.
        isa: Isa,
    },
    /// An option is out of range.
    #[error("{option} is {found}, and must be {expected}")]
    Option {
        /// The field of [`RooflineOptions`](super::RooflineOptions).
        option: &'static str,
        /// Its value.
        found: String,
        /// What it must be.
        expected: &'static str,
    },
    /// The working sets don't fit in memory.
    #[error("the working sets do not fit in memory; allow fewer bytes")]
    Memory(#[from] FormatError),
}
