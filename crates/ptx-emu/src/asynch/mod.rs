//! Asynchronous operations: what is pending, on which bytes, and the objects that tell of it.

pub mod footprint;
pub mod mbarrier;
pub mod pending;
pub(crate) mod reduce;
