//! What every girih backend is tested with: small matrices of every awkward shape, dense operands of
//! every legal layout, and the conformance suite.
//!
//! A backend, in this workspace or outside, proves itself in a test file of its own:
//!
//! ```
//! use girih_backend::ReferenceBackend;
//! use girih_testkit::{Coverage, conformance_tests};
//!
//! // One test per format and value type, named `csr::f32`, `wcsr::bf16`, …, and `refuses_the_rest`.
//! conformance_tests!(ReferenceBackend, Coverage::EverySpec);
//! # fn main() {}
//! ```
//!
//! | to test | there is |
//! |---|---|
//! | products, of a format and value type | [`conformance_tests!`], [`conformance::run`] |
//! | sampled products | [`conformance::run_sddmm`] |
//! | a slow backend | [`conformance::run_in_turns`] |
//! | kernels that round more, in a [`Precision`](girih_planner::Precision) | [`InPrecision`] |
//! | cases of one's own | [`matrices::cases`], [`operands::Placed`] |

#![forbid(unsafe_code)]

pub mod conformance;
/// Of girih's own tests: where they find CUDA, and what they say where it is missing.
#[doc(hidden)]
pub mod machine;
pub mod matrices;
pub mod operands;
mod precision;
mod random;

pub use conformance::{Coverage, Report};
pub use precision::InPrecision;

/// The README's test of a backend, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
