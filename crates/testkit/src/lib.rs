//! What every girih backend is tested with: small matrices of every awkward shape, dense operands of
//! every legal layout, and the conformance suite.
//!
//! A backend, in this workspace or outside, proves itself in a test file of its own:
//!
//! ```
//! use girih_backend::ReferenceBackend;
//! use girih_testkit::{Coverage, conformance_tests};
//!
//! // One test per format and value type, named `csr_f32`, `wcsr_bf16`, …, and `refuses_the_rest`.
//! conformance_tests!(ReferenceBackend, Coverage::EverySpec);
//! # fn main() {}
//! ```

#![forbid(unsafe_code)]

pub mod conformance;
pub mod machine;
pub mod matrices;
pub mod operands;
mod precision;
mod random;

pub use conformance::{Coverage, Report};
pub use precision::InPrecision;
