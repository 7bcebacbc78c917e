//! To and from the types of other crates.
//!
//! Each of the crates is a feature of its name, on by default, and is re-exported here: a caller who names
//! its types through this module has the version that the conversions are of.
//!
//! | crate and feature | to `Csr` | from `Csr` |
//! |---|---|---|
//! | sprs | `TryFrom<CsMatI<T, I, Iptr>>` | `From<Csr<T>>`, [`Csr::to_sprs`], [`Csr::as_sprs`] |
//! | ndarray | [`Csr::from_dense`] | [`Csr::to_dense`] |
//! | petgraph | [`Csr::from_graph`] | [`Csr::to_graph`], [`Csr::to_undirected_graph`], [`Csr::to_graph_csr`] |
//!
//! Vectors are moved, not copied, where the index types are ours (`u32` indices, `u64` offsets).
//!
//! [`Csr::to_sprs`]: crate::Csr::to_sprs
//! [`Csr::as_sprs`]: crate::Csr::as_sprs
//! [`Csr::from_dense`]: crate::Csr::from_dense
//! [`Csr::to_dense`]: crate::Csr::to_dense
//! [`Csr::from_graph`]: crate::Csr::from_graph
//! [`Csr::to_graph`]: crate::Csr::to_graph
//! [`Csr::to_undirected_graph`]: crate::Csr::to_undirected_graph
//! [`Csr::to_graph_csr`]: crate::Csr::to_graph_csr

#[cfg(feature = "sprs")]
mod cs_mat;
#[cfg(feature = "ndarray")]
mod dense;
#[cfg(feature = "petgraph")]
mod graph;

#[cfg(feature = "ndarray")]
pub use ::ndarray;
#[cfg(feature = "petgraph")]
pub use ::petgraph;
#[cfg(feature = "sprs")]
pub use ::sprs;
