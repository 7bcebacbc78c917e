//! The short way to a product: operands of other crates, batches, pairs.

mod batches;
mod common;
#[cfg(any(feature = "faer", feature = "nalgebra"))]
mod foreign;
mod many;
mod pairs;
