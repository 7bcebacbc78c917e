//! The order of a plan's rows and columns: what is asked for, what it would cost, how tiles hold it.

mod asked;
mod bound;
mod choose;
mod considered;
mod effort;
mod expected;
mod placement;
mod search;

pub use asked::{Reorder, Space};
pub(crate) use choose::{Chosen, choose};
pub use considered::Considered;
pub(crate) use placement::Placement;
