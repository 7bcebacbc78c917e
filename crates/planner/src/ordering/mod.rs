//! The order of a plan's rows and columns: what a caller requests, what it would cost, how tiles hold it.

mod bound;
mod choose;
mod considered;
mod effort;
mod expected;
mod fixed;
mod options;
mod placement;
mod search;

pub(crate) use choose::{Chosen, choose};
pub use considered::Considered;
pub use fixed::FixedOrder;
pub use options::{Reorder, Space};
pub(crate) use placement::Placement;
