//! What a product would cost, from counts alone: pure functions from statistics to a breakdown.
//!
//! Nothing is built to be priced, and nothing is measured here: a [`Workload`] holds what is known of
//! the matrix and the product, [`FormatStats`](girih_formats::stats::FormatStats) what a format makes
//! of it, a [`DeviceSpec`](crate::DeviceSpec) the machine; [`price`] puts them together. So an ordering
//! can be priced by the statistics that it would give.

mod breakdown;
mod footprint;
mod linear;
mod parts;
mod price;
mod rerate;
mod reuse;
mod terms;
mod workload;

pub use breakdown::{Cost, Resource};
pub use footprint::Footprint;
pub use linear::LinearCost;
pub(crate) use parts::{Part, parts};
pub use price::{linear_cost, price};
pub use rerate::{seconds_on, transfer_seconds};
pub use terms::terms;
pub use workload::Workload;
pub(crate) use workload::multiplied;
