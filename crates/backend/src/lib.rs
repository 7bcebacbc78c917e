//! The [`SpmmBackend`] trait: what multiplies a plan. Run-time selection, and the reference
//! backend that says what is right.

#![forbid(unsafe_code)]

mod backend;
mod dense;
mod error;

pub use backend::{Capabilities, PreparedSpmm, SpmmBackend};
pub use dense::{DenseView, DenseViewMut};
pub use error::{BackendError, Unsupported};
