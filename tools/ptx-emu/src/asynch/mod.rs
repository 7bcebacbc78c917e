//! Asynchronous operations: what is pending, on which bytes, and the objects that tell of it.

pub(crate) mod access;
pub(crate) mod copy;
pub(crate) mod exit;
pub mod footprint;
pub(crate) mod fragments;
pub(crate) mod groups;
pub(crate) mod issue;
pub mod mbarrier;
pub(crate) mod objects;
pub mod pending;
pub(crate) mod pool;
pub(crate) mod reduce;
pub(crate) mod state;
pub(crate) mod transfer;
pub(crate) mod warpgroup;
